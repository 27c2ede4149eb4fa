# SPDX-License-Identifier: MIT
# For the tests beside this file: a folder of its own with host.c, and what the host is to print.
sources=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# block LANGUAGE: the first block of docs/embedding.md in that language.
block() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$sources/docs/embedding.md" | sed '1d; /^```$/,$d'
}

check() {
	"$@" | sort > seen
	printf 'interpreter %s: 3.0\n' 0 1 2 | diff - seen
}

block c > host.c
