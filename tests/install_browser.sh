#!/bin/sh
# Chromium, in which pages are tested, from Debian's packages; does nothing where it is installed.
set -eu
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" > /dev/null 2>&1; then exit 0; fi
done
command -v apt-get > /dev/null 2>&1 || { echo "install Chromium and try again" >&2; exit 1; }
root=""
[ "$(id -u)" = 0 ] || root=sudo
$root apt-get update -q
DEBIAN_FRONTEND=noninteractive $root apt-get install -q -y --no-install-recommends chromium
