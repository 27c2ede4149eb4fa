#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The main job on aarch64, shown: numpy in three interpreters, in the root of `make check-arm`; gdb-multiarch, which stops in each
by name and by line through QEMU's stub, and lldb, which stops in each by name. `make demo-arm` runs this.

Usage: arm_demo.py"""

import os
import re
import sys

import arm
import arm_debug
from arm_debug import COUNT
from report import Report
from root import SOURCES, Unavailable

# The interpreters come one after the other, because QEMU stops one thread and lets others go on: numpy calls a static C
# function of decimal back, then the interpreter sleeps, and does not end before the last has come.
PROGRAM = f"""{arm_debug.TURN}
import decimal, gorgon, numpy, time
one = decimal.Decimal(1)
add = numpy.frompyfunc(lambda x: decimal.Decimal(x) + one, 1, 1)
wait_for_turn(gorgon.interpreter)
print("interpreter", gorgon.interpreter, "has", add(numpy.arange(1)), flush=True)
time.sleep(0.1)
threading.Event().wait(600)
"""
STOP = ["echo \\n(gdb) gorgon whose $pc\\n", "gorgon whose $pc", "echo (gdb) bt 3\\n", "bt 3"]
LLDB_STOP = ["gorgon whose $pc", "gorgon tls tls_value", "bt 3"]


def title(text):
    print(f"\n==== {text}\n", flush=True)


def main():
    report = Report("the demonstration on aarch64")
    try:
        root = arm_debug.prepare()
    except Unavailable as error:
        report.skip("a root for aarch64", error)
        return report.finish()
    title("1. gorgon run, numpy in three interpreters")
    result = root.run(os.path.join(arm.BUILD, "gorgon"), "run", "-n", str(COUNT), "-c", arm.LINALG, cwd=SOURCES, folder=SOURCES)
    print(result.stdout, end="", flush=True)
    title("2. gdb on a host with three interpreters: a breakpoint on a static function that numpy calls back, and one by line")
    with arm_debug.temporary() as folder:
        stops = [command for i in range(COUNT) for command in (arm_debug.next_turn(folder, i), *["continue", *STOP] * 2)]
        text = arm_debug.gdb(root, PROGRAM.replace("FOLDER", folder), ["break nm_mpd_qadd", "break timemodule.c:376", *stops, "gorgon list"],
                             show=True)
    title("3. lldb on a host with three interpreters: a breakpoint by name, a thread-local variable of each")
    lldb = arm_debug.lldb(root, LLDB_STOP, ["gorgon list"], show=True)
    title("what was shown")
    lines = result.stdout.splitlines()
    report.check("numpy in each interpreter", len(lines) == COUNT and len(set(lines)) == 1, f"{COUNT} equal lines", f"{len(lines)} lines",
                 result.stdout + result.stderr)
    numbers = [str(i) for i in range(COUNT)]
    for what, name in ("name", "nm_mpd_qadd"), ("line", "time_sleep"):
        found = re.findall(rf"^0x\w+: interpreter (\d), [^,]+, {name}\+", text, re.M)
        report.check(f"gdb, a stop by {what} in each", found == numbers, numbers, found, text[-3000:])
    found = re.findall(r"^0x\w+: interpreter (\d), [^,]+, PyThread_get_stacksize\+", lldb, re.M)
    report.check("lldb, a stop by name in each", found == numbers, numbers, found, lldb[-3000:])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
