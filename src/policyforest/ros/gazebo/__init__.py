"""Gazebo 11 in a Debian 11 of its own: set up, started, stopped, removed; and the swing-up over it."""
