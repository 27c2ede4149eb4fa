#!/usr/bin/env bash
# Install what building and testing need on Debian 12. Prints what it does, asks
# nothing, and does nothing when everything is there.
#
# usage: tools/setup.sh [yes|no] [long]
#	no	only name what is missing, and fail if so
#	long	what `make check-long` needs, too
set -eu

packages="
	gcc g++ make pkg-config git
	libelf-dev libdwarf-dev libdw-dev libcmocka-dev libjson-c-dev
	libpython3.11 libpython3.11-dev libpython3.11-dbg python3.11-dbg
	python3 python3-pip python3-setuptools python3-wheel python3-numpy python3-venv python3-cffi python3-pytest python3-hypothesis
	gdb gdbserver libc6-dbg lldb-19 python3-lldb-19 elfutils valgrind linux-perf
"
[ "${2:-}" != long ] || packages="$packages
	python3-torch python3-scipy python3-pandas python3-lxml python3-pil python3-matplotlib
	python3-cryptography python3-greenlet debootstrap
	libpython3.11-testsuite python3-cryptography-vectors python3-pretend python3-iso8601 python3-tz
	python3-pytest-subtests python3-cssselect python3-bs4 python3-html5lib
	clang-16 libclang-rt-16-dev
"

missing=""
for package in $packages; do
	status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
	[ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "${1:-yes}" = no ]; then
	echo "setup: missing packages:$missing" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	echo "setup: no apt-get; install what corresponds to:$missing" >&2
	exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: neither root nor sudo; install:$missing" >&2
		exit 1
	fi
	sudo="sudo"
fi
echo "setup: installing$missing"
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
