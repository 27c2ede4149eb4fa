#!/usr/bin/env bash
# Install the packages that a purpose needs, under the names that this release of Debian has for them; Debian 12, 13
# and sid are tested. Says what it installs and how much that is before it begins, asks nothing, and does nothing when
# everything is there.
#
# usage: tools/setup.sh yes|no PURPOSE
#	no	only name what is missing, and fail if so
# purposes, each with what the purposes in brackets need:
#	build			libraries and tools
#	demo (build)		`make demo`
#	check (demo)		`make check`
#	long, arm (check)	`make check-long`, `make check-arm`
#	analyze, lint (check)	`make analyze`, `make lint`
#	release (build)		`make release`
set -eu

mode=$1 purpose=$2

fail() {
	echo "setup: $1" >&2
	exit 1
}

sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"

# Read the lists of packages, at most once.
updated=""
update() {
	[ -z "$updated" ] || return 0
	updated=yes
	[ -z "$sudo" ] || command -v sudo >/dev/null || fail "neither root nor sudo; install what is missing: $1"
	echo "setup: reading the lists of packages"
	$sudo apt-get update -qq
}

# The upstream version of a package: of the one that is installed, otherwise of the one that would be.
version() {
	local found
	found=$(dpkg-query -W -f '${Status} ${Version}' "$1" 2>/dev/null | sed -n 's/^install ok installed //p')
	[ -n "$found" ] || found=$(apt-cache show --no-all-versions "$1" 2>/dev/null | sed -n 's/^Version: //p')
	echo "$found" | sed 's/^[0-9]*://'
}

for tool in dpkg-query apt-cache apt-get; do
	command -v $tool >/dev/null || fail "no $tool: this is not Debian; install what tools/setup.sh names"
done
# Without lists of packages, as in a container's image, no version is known.
[ -n "$(version python3)" ] || [ "$mode" = no ] || update python3

python=python$(version python3 | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')
[ "$python" != python ] || fail "no package python3 is known; apt-get update may help"
# The release's own lldb if it is 19 or newer: an older lldb finds no private code.
lldb=$(version lldb | sed 's/\..*//')
[ "${lldb:-0}" -ge 19 ] || lldb=19
# gold, a linker that was a part of binutils until Debian 12.
gold=""
[ -z "$(version binutils-gold)" ] || gold=binutils-gold
# The tests of numpy 2 build their extensions with meson.
meson=""
case $(version python3-numpy) in 1.*) ;; *) meson=meson ;; esac
# On aarch64 the compiler itself has the cross compiler's name, and there is no package of that name.
cross=""
[ "$(dpkg --print-architecture)" = arm64 ] || cross="gcc-aarch64-linux-gnu g++-aarch64-linux-gnu"

build="gcc make pkg-config libelf-dev zlib1g-dev libdw-dev libjson-c-dev python3 lib$python lib$python-dev libpython3-dev"
demo="$build python3-numpy gdb lldb-$lldb python3-lldb-$lldb lib$python-dbg $python-dbg"
check="$demo
	g++ gfortran $gold git $cross libcmocka-dev
	python3-pip python3-setuptools python3-wheel $meson python3-venv python3-cffi python3-pytest python3-pytest-xdist python3-hypothesis
	lib$python-testsuite python3-joblib libucx0 manpages-dev python3-gdbm python3-lmdb netbase
	gdbserver libc6-dbg elfutils valgrind linux-perf
	groff zsh fish abigail-tools doxygen
"
case $purpose in
build | demo | check) packages=${!purpose} ;;
long) packages="$check
	python3-torch python3-scipy python3-pandas python3-lxml python3-pil python3-matplotlib
	python3-cryptography python3-greenlet debootstrap dejagnu
	python3-cryptography-vectors python3-pretend python3-iso8601 python3-tz
	python3-pytest-subtests python3-cssselect python3-bs4 python3-html5lib
	clang-$lldb libclang-rt-$lldb-dev llvm-$lldb zzuf
	golang-go default-jdk-headless rustc
" ;;
arm) packages="$check libc6-dev-arm64-cross qemu-user-static qemu-system-arm debootstrap gdb-multiarch" ;;
analyze) packages="$check clang-tidy-$lldb" ;;
lint) packages="$check clang-format-$lldb" ;;
release) packages="$build git $cross debhelper dpkg-dev python3-pip python3-setuptools python3-venv python3-wheel" ;;
*) fail "no purpose is called $purpose" ;;
esac

missing=""
for package in $packages; do
	status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
	[ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

[ "$mode" != no ] || fail "missing packages:$missing"
update "$missing"
# apt-get says how much it is before it asks whether to begin, which is answered with no here.
amount=$(LC_ALL=C $sudo apt-get install --assume-no --no-install-recommends $missing 2>&1 | sed -nE '
	s/.* ([0-9]+) newly installed.*/\1 packages with what they depend on/p
	s/^Need to get ([^/]*\/)?(.*) of archives.*/\2 to download/p
	s/^After this operation, (.*) of additional.*/\1 on disk/p' | paste -sd ';' | sed 's/;/, /g')
echo "setup: installing what $purpose needs${amount:+ ($amount)}:$missing"

# Print the progress that apt-get reports: a line for each quarter, or on a terminal a line that is overwritten. What
# apt-get prints itself is shown only when it fails.
progress() {
	local kind percent step=25 end='\n' verb last=""
	[ ! -t 1 ] || { step=1 end='\r'; }
	while IFS=: read -r kind _ percent _; do
		case $kind in dlstatus) verb=downloaded ;; pmstatus) verb=installed ;; *) continue ;; esac
		percent=$((${percent%%.*} / step * step))
		[ "$percent" = 0 ] || [ "$verb $percent" = "$last" ] || printf "setup: $verb %s%%$end" "$percent"
		last="$verb $percent"
	done
	[ "$end" = '\n' ] || printf '\033[K'
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# sudo passes on only descriptors 0 to 2: stdout gets the progress, stderr all else.
$sudo env DEBIAN_FRONTEND=noninteractive sh -c 'exec apt-get install -y -q --no-install-recommends -o APT::Status-Fd=3 "$@" 3>&1 >&2' \
	sh $missing 2>"$log" | progress
[ "${PIPESTATUS[0]}" = 0 ] || {
	cat "$log" >&2
	fail "apt-get has not installed all of it"
}
echo "setup: done"
