#!/bin/sh
# ROS 1 from Debian's packages (4 MB); does nothing where it is installed.
set -eu
[ -d /usr/lib/python3/dist-packages/rospy ] && [ -d /usr/lib/python3/dist-packages/std_srvs ] \
  && [ -d /usr/lib/python3/dist-packages/nav_msgs ] && [ -d /usr/lib/python3/dist-packages/trajectory_msgs ] \
  && command -v roscore > /dev/null 2>&1 && exit 0
packages="python3-rospy python3-roslaunch python3-rosbag python3-rostopic python3-std-msgs python3-sensor-msgs python3-std-srvs"
packages="$packages python3-geometry-msgs python3-nav-msgs python3-trajectory-msgs"
command -v apt-get > /dev/null 2>&1 || { echo "install these and try again: $packages" >&2; exit 1; }
root=""
[ "$(id -u)" = 0 ] || root=sudo
$root apt-get update -q
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $root apt-get -o DPkg::Lock::Timeout=120 install -q -y --no-install-recommends $packages
