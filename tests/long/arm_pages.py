#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 with pages of 16 KiB: QEMU emulates a machine with the kernel that Debian has for such pages, and the root of
`make check-arm` is its system. Programs, the unit tests of what depends on the size of a page, and gdb, which runs there itself.

Usage: arm_pages.py [UNIT]...

Nothing of the root and of the sources is written to: the machine writes to memory over them. It is a whole kernel, so tests run
here, too, that need what QEMU's emulation of programs has not: /proc as it is, seccomp filters, advice of madvise()."""

import glob
import lzma
import os
import re
import shlex
import subprocess
import sys
import tempfile

import arm
import arm_debug
from report import Report
from root import SOURCES, Root, Unavailable

PAGE_BYTES = 16384
KERNEL = "linux-image-arm64-16k"  # of Debian 12's backports: it has the name of the package with the kernel
MODULES = ["netfs", "9pnet", "9pnet_virtio", "9p", "overlay", "virtio-rng"]  # in the order of loading
TIMEOUT = 3600
UNIT_TIMEOUT = 600
UNITS = ["test_altstack", "test_array", "test_faults", "test_heap", "test_image", "test_jitreg_group",
         "test_jitreg_symfile", "test_lines", "test_load", "test_map", "test_memory", "test_trampoline_file", "test_patch", "test_zones", "test_plan", "test_reloc",
         "test_rewrite", "test_secure", "test_stats", "test_timers", "test_tls", "test_unwind", "test_zone"]
# The machine's first program: the root and the sources are folders of this machine, which it reads through 9p.
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
for module in {modules}; do insmod /$module.ko; done
mount -t tmpfs tmpfs /over; mkdir /over/upper /over/work
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /root
mount -t overlay -o lowerdir=/root,upperdir=/over/upper,workdir=/over/work overlay /new
mount -t tmpfs tmpfs /new/tmp; mkdir -p /new{sources}
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro sources /new{sources}
mount -t proc proc /new/proc; mount -t sysfs sysfs /new/sys; mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/shm; mount -t tmpfs -o mode=1777 tmpfs /new/dev/shm
ip link set lo up
cp /tests /new/tests
chroot /new /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 BUILD={build} TEST_EVERY={every} bash /tests
poweroff -f
"""
# Each command's output is between two lines with its number.
TESTS = """cd {sources}
tell() {{ echo "<<$1>>"; timeout {timeout} "${{@:2}}" </dev/null 2>&1; echo "<</$1 $?>>"; }}
tell 0 getconf PAGESIZE
"""


def fetch(root):
    """A folder with the kernel and the machine's first programs."""
    return root.unpack("kernel", "arm64", lambda apt: ["busybox-static", re.search(r"Depends: (linux-image-\S+)", apt("apt-cache", "depends", KERNEL))[1]])


def archive(files):
    """A file system in memory, as cpio calls it "newc". @files: {name: (mode, content)}."""
    parts = bytearray()
    for name, (mode, content) in [*files.items(), ("TRAILER!!!", (0, b""))]:
        word = name.encode() + b"\0"
        fields = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(word), 0]
        parts += b"070701" + b"".join(b"%08x" % field for field in fields) + word
        parts += bytes(-len(parts) % 4) + content
        parts += bytes(-len(parts) % 4)
    return bytes(parts)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make_system(folder, commands):
    """What the machine has before it sees any folder."""
    tests = TESTS.format(sources=SOURCES, timeout=UNIT_TIMEOUT)
    tests += "".join(f"tell {number} {shlex.join(command)}\n" for number, command in enumerate(commands, 1))
    init = INIT.format(modules=" ".join(MODULES), sources=SOURCES, build=arm.BUILD, every=arm.EVERY)
    files = {name: (0o40755, b"") for name in ("bin", "proc", "dev", "root", "over", "new")}
    files |= {"init": (0o100755, init.encode()), "tests": (0o100644, tests.encode()),
              "bin/busybox": (0o100755, read(glob.glob(f"{folder}/**/bin/busybox", recursive=True)[0]))}
    for name in MODULES:
        path = glob.glob(f"{folder}/**/{name}.ko*", recursive=True)[0]
        files[f"{name}.ko"] = 0o100644, lzma.decompress(read(path)) if path.endswith(".xz") else read(path)
    return archive(files)


def boot(root, kernel, system):
    """What the machine says until it is off."""
    command = ["qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on", "-smp", str(arm.WORKERS), "-m", "3G",
               "-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel, "-append", "console=ttyAMA0 quiet panic=-1"]
    for name, path in ("root", root.path), ("sources", SOURCES):
        command += ["-fsdev", f"local,id={name},path={path},security_model=none,readonly=on,multidevs=remap",
                    "-device", f"virtio-9p-pci,romfile=,fsdev={name},mount_tag={name}"]
    with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
        file.write(system)
        file.flush()
        command += ["-initrd", file.name, "-device", "virtio-rng-pci,romfile="]
        try:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired as error:
            return (error.stdout or b"").decode(errors="replace")
    return (result.stdout + result.stderr).decode(errors="replace").replace("\r", "")


def run(root, commands):
    """All that the machine says, and {number of a command, from 1 on: (output, status)}; 0 is the size of its pages."""
    folder = fetch(root)
    text = boot(root, glob.glob(f"{folder}/boot/vmlinuz-*")[0], make_system(folder, commands))
    return text, {int(number): (output, int(status))
                  for number, output, status in re.findall(r"^<<(\d+)>>\n(.*?)^<</\1 (\d+)>>$", text, re.M | re.S)}


def check(report, root, units):
    programs = [] if units else [row for row in arm.PROGRAMS if row[3] is not None]
    commands = [[f"{arm.BUILD}/gorgon", "run", *options, "-c", program] for _, options, program, _ in programs]
    commands += [[f"{arm.BUILD}/tests/{unit}"] for unit in units or UNITS]
    text, found = run(root, commands)
    size = found.get(0, ("", 1))[0].strip()
    report.check("the size of a page", size == str(PAGE_BYTES), PAGE_BYTES, size, text[-3000:])
    for number, (what, _, _, expected) in enumerate(programs, 1):
        output, status = found.get(number, ("did not run", -1))
        report.check(what, (output, status) == (expected, 0), repr(expected), repr(output[:60]) if not status else f"status {status}", output)
    for number, unit in enumerate(units or UNITS, len(programs) + 1):
        output, status = found.get(number, ("", -1))
        passed, total = output.count("[       OK ]"), re.search(r"Running (\d+) test", output)
        skipped = len(re.findall(r"^\[  SKIPPED \] \w+$", output, re.M))
        report.check(unit, status == 0 and total and passed, f"{total[1] if total else 'all'} cases pass",
                     f"{passed} pass, {skipped} are skipped" + ("" if not status else f", status {status}"), output[-3000:])


def check_lines(report, root):
    """gdb traces the command by the machine's own kernel."""
    with tempfile.TemporaryDirectory(dir=os.path.join(SOURCES, "build")) as folder:
        session = ["set pagination off", "set confirm off", "set breakpoint pending on", "starti", *arm_debug.lines_session(folder), "kill"]
        words = [word for command in session for word in ("-ex", command)]
        command = [f"{arm.BUILD}/gorgon", "run", "-n", "2", "--python-lines=on", "-c", arm_debug.write_lines(folder)]
        text, _ = run(root, [["gdb", "-nx", "-q", "-batch", *words, "--args", *command]])
        arm_debug.check_lines(report, "gdb there", text)


def main(units):
    report = Report("aarch64 with pages of 16 KiB")
    try:
        arm.emulate()
        root = Root("arm64", "bookworm", machine="arm64", path=os.environ.get("ROOT") or None)
        root.install([*arm.PACKAGES, "gdb"])
        arm.build(root)
        check(report, root, units)
        if not units:
            check_lines(report, root)
    except Unavailable as error:
        report.skip("a machine with such pages", error)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
