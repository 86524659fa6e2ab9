"""Gazebo 11 in a separate Debian 11: set up, started, stopped, removed; and the swing-up over it."""
