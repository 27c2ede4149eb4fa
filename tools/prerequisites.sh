#!/usr/bin/env bash
# Before the first file is compiled: name in one line all that a build needs and that is not there.
#
# usage: tools/prerequisites.sh COMPILER FLAGS
# COMPILER and FLAGS as make has them, each several words perhaps.
set -eu

fail() {
	echo "build: $1" >&2
	exit 1
}

missing=""
# What stands before the first option is programs: "ccache gcc", "aarch64-linux-gnu-gcc --sysroot=X".
for word in $1; do
	case $word in -*) break ;; esac
	command -v "$word" >/dev/null || missing+=" $word"
done
if [ -z "$missing" ]; then
	for header in gelf.h elfutils/libdwfl.h zlib.h json.h Python.h; do
		echo "#include <$header>" | $1 $2 -E -o /dev/null - 2>/dev/null || missing+=" ${header}"
	done
fi
[ -z "$missing" ] || fail "not found:$missing; 'make setup' installs on Debian what a build needs"
