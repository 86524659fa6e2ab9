#!/bin/sh
# Cross compilers and emulators, all from Debian's packages; does nothing where they are installed.
set -eu
packages=""
want() { command -v "$1" > /dev/null 2>&1 || packages="$packages $2"; }
want arm-none-eabi-gcc "gcc-arm-none-eabi libnewlib-arm-none-eabi"
want qemu-system-arm qemu-system-arm
want avr-gcc "gcc-avr avr-libc"
want simavr simavr
want aarch64-linux-gnu-gcc "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
want aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
want qemu-aarch64 qemu-user
want clang clang
[ -d /usr/share/arduino/hardware/arduino/avr/cores ] || packages="$packages arduino-core-avr"
[ -z "$packages" ] && exit 0
command -v apt-get > /dev/null 2>&1 || { echo "install these and try again:$packages" >&2; exit 1; }
root=""
[ "$(id -u)" = 0 ] || root=sudo
$root apt-get update -q
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $root apt-get install -q -y --no-install-recommends $packages
