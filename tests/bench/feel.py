# SPDX-License-Identifier: MIT
"""feel: what each command of a session costs with N interpreters, beside an ordinary host; of debug.py.

One thread lists a folder, for which CPython calls PyList_Append again and again. The debugger attaches, breaks there, and
at each of several stops prints a Python object and a backtrace, steps over a line and finishes the function. Sessions with
the two hosts alternate; what is compared is the debugger's processor time for each command: at the first stop, and at
later ones (their median). `symbols` is what the scripts take from a stop on until the copies in the stack have lines and
variables: the time within gdb's stop event."""

import os
import re
import statistics

# The command "bt" of lldb asks for eight frames: lldb before version 21 sees no more of this stack in the ordinary host, where it stops at
# the evaluation loop. The command "print" shows an object for which CPython (gdb) or our scripts (lldb) have a printer. lldb may stop in a
# function that was inlined there, whose argument has another name.
COMMANDS = {"gdb": {"print": "p newitem", "bt": "bt", "next": "next", "finish": "finish"},
            "lldb": {"print": "frame variable", "bt": "bt 8", "next": "next", "finish": "finish"}}
STEPS = ("hit", "print", "bt", "next", "finish")
COLUMNS = ("attach", "break", "attach, break", *(f"first {step}" for step in STEPS), *(f"later {step}" for step in STEPS), "symbols")
LATER = 6  # stops after the first one
ENTRIES = 40  # in the folder

# Two handlers of gdb's stop event, one connected before those of our scripts and one after them.
BEFORE = """python
import resource
def _used():
    own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
_begun = []
gdb.events.stop.connect(lambda event: _begun.append(_used()))
end"""
AFTER = """python gdb.events.stop.connect(lambda event: print("SYMBOLS %f" % (_used() - _begun[-1])))"""


def prints(kind, of_gorgon, scripts):
    """Whether Python objects are printed. Without scripts only CPython's printers do that, with gdb and the ordinary
    host."""
    return bool(scripts) or (kind == "gdb" and not of_gorgon)


def commands(kind, of_gorgon, scripts, pid, wake, mark):
    """A session's lines. @scripts: those that read ours. @mark(name): the line that tells what was used so far."""
    attach, stop = {"gdb": (f"attach {pid}", "break PyList_Append"),
                    "lldb": (f"process attach -p {pid}", "breakpoint set -n PyList_Append")}[kind]
    lines = ([BEFORE] if kind == "gdb" else []) + scripts + ([AFTER] if kind == "gdb" else [])
    lines += [mark("start"), attach, mark("attach"), stop, mark("break"), wake]
    for number in range(1 + LATER):
        lines += [mark(f"stop{number}"), "continue", mark(f"hit{number}")]
        for step, command in COMMANDS[kind].items():
            lines += [command] if step != "print" or prints(kind, of_gorgon, scripts) else []
            lines += [mark(f"{step}{number}")]
    return lines + [{"gdb": "delete", "lldb": "breakpoint delete --force"}[kind], "detach", mark("end")]


def went_well(kind, of_gorgon, scripts, text):
    """Whether the session did what is to be measured: each stop in the function with a backtrace and, where Python
    objects are printed, with lines and objects."""
    printed = prints(kind, of_gorgon, scripts)
    stops = re.findall(r"#0:?[ \w]* .*PyList_Append" + (r".* at \S+:\d+" if printed else ""), text)
    objects = re.findall(r"^\$\d+ = '\w+'$|^\(PyObject \*\) \w+ = .*['\"\[]\w+['\"\]]", text, re.M) if printed else stops
    return "MARK end" in text and min(len(stops), len(objects)) >= 1 + LATER


def row(marks, text):
    """{column: seconds} out of {mark: seconds}."""
    def took(step, number):
        before = ("stop", *STEPS)[STEPS.index(step)]
        return marks[f"{step}{number}"] - marks[f"{before}{number}"]

    symbols = [float(value) for value in re.findall(r"^SYMBOLS ([\d.]+)", text, re.M)]
    found = {"attach": marks["attach"] - marks["start"], "break": marks["break"] - marks["attach"]}
    found["attach, break"] = found["attach"] + found["break"]
    found.update({f"first {step}": took(step, 0) for step in STEPS})
    found.update({f"later {step}": statistics.median(took(step, n) for n in range(1, 1 + LATER)) for step in STEPS})
    return found | ({"symbols": max(symbols)} if symbols else {})


def prepare(target):
    """More to list for a host that waits."""
    for number in range(ENTRIES):
        with open(os.path.join(target.folder.name, f"entry{number}"), "w"):
            pass


def table(rows):
    lines = ["Command by command: multiples of an ordinary host with one Python and as many threads, the median of sessions that alternate,",
             "with the least and the greatest; in brackets milliseconds of the debugger's processor time. `symbols`: milliseconds that the",
             "scripts take at the slowest stop until the copies in the stack have lines and variables.", "",
             "`break PyList_Append` is gdb's own here: up to eight interpreters it reads units of each copy, and of a libpython that was",
             "built with link-time optimisation all 205, because they refer to each other. With the scripts it has an index of units that",
             "have the function's code, and reads one of them. Of more interpreters gdb knows names and lines: the first stop in a copy",
             "pays for what `break` pays otherwise, since gdb looks the breakpoint up again in what the scripts add.",
             "In lldb the scripts are those of `gorgon symbols auto`, and `bt` is of eight frames, as lldb 19 sees no",
             "more of the ordinary host's stack. lldb reads indexes of private code when it needs them, with `break`, and those of the system's",
             "libraries when it attaches. With 20 interpreters it has 135 modules, and 33 in the ordinary host. At `attach` half of the difference goes into adding modules and giving them addresses;",
             "the rest goes into abbreviations and names of the 20 libpythons, which are in the threads' stacks. `break` looks the name up in",
             "each module's own table, and reads the units of each libpython in which the function is. Of a later `bt` labels of frames are a",
             "third, and values of Python objects another: lldb calls a function of Python for each.", "",
             f"| debugger | interpreters | {' | '.join(COLUMNS)} |", "|---" * (2 + len(COLUMNS)) + "|"]
    for one in rows:
        cells = []
        for column in COLUMNS:
            if "print" in column and not one["scripts"]:
                cells.append("")
                continue
            pairs = [(a[column], b[column]) for a, b in zip(one["ordinary"], one["gorgon"]) if column in a and column in b]
            if column == "symbols":
                cells.append(f"{1000 * statistics.median(b for _, b in pairs):.0f} ms" if pairs and one["scripts"] else "")
                continue
            ratios = [b / a for a, b in pairs]
            ordinary, gorgon = (1000 * statistics.median(values) for values in zip(*pairs))
            cells.append(f"{statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f} ({ordinary:.1f}, {gorgon:.1f})")
        lines.append(f"| {one['debugger']} | {one['interpreters']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
