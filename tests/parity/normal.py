# SPDX-License-Identifier: MIT
"""Answers without what differs between any two runs of a program, or between one copy of a library and several, and means
nothing to somebody who reads them: WHAT says so, for the page."""

import os
import re

import harness

WHAT = (
    ("addresses, process and thread ids, numbers of threads, values and breakpoints", ""),
    ("`(3 locations)` and `Breakpoint 1.2`", "a breakpoint has a location in each copy; rows of locations that say the same are one"),
    ("`libfoo.so [interp 1]`", "our scripts say whose a frame is"),
    ("`[New Thread ...]`, `[Switching to ...]`", "a debugger says so when it gets round to it"),
)

FOLDERS = ((os.path.join(harness.BUILD, "parity", "ordinary"), "HOST"), (os.path.join(harness.BUILD, "parity", "gorgon"), "HOST"),
           (os.path.join(harness.BUILD, "parity"), "PARITY"), (harness.ROOT, "ROOT"))

COMMON = (
    (r"0x[0-9a-f]{4,16}", "ADDR"),
    (r"\b(LWP|process|Process|pid|PID|tid) (= )?\d+", r"\1 N"),
    (r"/tmp/tmp\w+", "FOLDER"),
)

GDB = (
    (r"^\[(New Thread|Thread .* exited|Switching to|Thread debugging|New inferior|Inferior \d+ \(process).*\n", ""),
    (r"^Using host libthread_db.*\n", ""),
    (r" from \S+ \[interp \d+\]", ""),
    (r"\bThread (ADDR|\d+(\.\d+)?)", "Thread T"),
    (r"\$\d+\b", "$N"),
    (r"\b(Breakpoint|breakpoint|Watchpoint|watchpoint|Catchpoint|catchpoint|Dprintf) \d+(\.\d+)?", r"\1 N"),
    (r"^(Breakpoint|Temporary breakpoint|Hardware assisted breakpoint) N at ADDR.*", r"\1 N is set"),
    (r"\n\n+", "\n"),
)

LLDB = (
    (r" \[interp \d+\]", ""),
    (r"^\d+ locations? added to breakpoint \d+\n", ""),
    (r"\bthread #\d+", "thread #N"),
    (r"\b[Bb]reakpoint \d+(\.\d+)?", "breakpoint N"),
    (r"\b[Ww]atchpoint \d+", "watchpoint N"),
    (r"\$\d+\b", "$N"),
    (r"\n\n+", "\n"),
)


def collapsed(text):
    """Rows of "info breakpoints" about locations that say the same, as the one row that a breakpoint with one location has."""
    found, multiple = [], None
    for line in text.splitlines():
        row = re.match(r"(\d+)(\.\d+)? +(.*)", line)
        if not row or not re.match(r"(y|n|breakpoint|hw |catchpoint|dprintf|read |acc )", row[3]):
            found.append(line)
            continue
        shown = re.sub(r"\s+", " ", re.sub(r"\s+inf \d+$", "", row[3])).strip()
        if not row[2]:
            multiple = len(found)
            found.append("N " + shown)
        elif "<MULTIPLE>" in found[multiple]:
            found[multiple] = found[multiple].replace("<MULTIPLE>", shown.partition(" ")[2])
        elif not found[multiple].endswith(shown.partition(" ")[2]) or shown[0] == "n":
            found.append("N.N " + shown)
    return "\n".join(dict.fromkeys(found)) if multiple is not None else "\n".join(found)


def normal(debugger, text):
    for folder, word in FOLDERS:
        text = text.replace(folder, word)
    for pattern, word in COMMON + (GDB if debugger == "gdb" else LLDB):
        text = re.sub(pattern, word, text, flags=re.M)
    if debugger == "gdb":
        text = collapsed(text)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
