#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What gdb pays for breakpoints in extensions in C++, with 20 interpreters.

Usage: extensions.py [--json] [--rounds R] [--interpreters N] [--report FILE]

Three extensions (extensions.cc) have 3.7 MB of debug information each. A session sets a breakpoint by name in two of them and by line
in the third before the program runs, and each interpreter loads all three and calls their functions again and again. Sessions with
an ordinary host of one Python and as many threads, of gdb without scripts, and of gdb with ours alternate, and the first of each does
not count, because caches fill in it. Commands come from standard input, as if somebody typed them. A figure is gdb's
processor time, its children's included: `first stop` from its start to the prompt after the first stop, `bt` that at this stop,
`later stop` the median of `continue` after that.

--json prints figures to work with; --report writes the table with date and versions to FILE.md."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import debug  # noqa: E402
import harness  # noqa: E402

MODULES = os.path.join(harness.BUILD, "bench", "extensions")
NAMES = ("first", "second", "third")
LATER = 8  # stops after the first one
COLUMNS = ("first stop", "bt", "later stop")
TIMEOUT = 600

PROGRAM = """
import sys, threading
sys.path.insert(0, {modules!r})
import first, second, third
def work():
    for count in range(1000):
        for module in (first, second, third):
            module.run(count)
for _ in range({threads} - 1):
    threading.Thread(target=work).start()
work()
"""


def session(command, scripts, threads):
    """{column: processor seconds} of one session."""
    source = os.path.join(MODULES, "third.cc")
    line = harness.source_line(source, "// a breakpoint by line")
    program = PROGRAM.format(modules=MODULES, threads=threads)
    lines = [*debug.SETTINGS["gdb"], *([f"source {harness.GDB_SCRIPT}"] if scripts else []),
             *(f"break {name}::price" for name in NAMES[:2]), f"break third.cc:{line}", "run", debug.mark("gdb", "stop0"), "bt",
             debug.mark("gdb", "bt")]
    for number in range(1, 1 + LATER):
        lines += ["continue", debug.mark("gdb", f"stop{number}")]
    lines.append("kill")
    environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    result = subprocess.run([harness.GDB, "-nx", "-q", "--args", *command, program], input="\n".join(lines) + "\n", text=True,
                            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    marks = {name: float(used) for name, used in re.findall(r"MARK (\w+) [\d.]+ ([\d.]+) \d+$", result.stdout, re.M)}
    hits = len(re.findall(r"(?:hit |^)Breakpoint \d[\d.]*, (?:first::price|second::price|third::price)", result.stdout, re.M))
    if f"stop{LATER}" not in marks or hits < 1 + LATER:
        raise SystemExit(f"bench-extensions: {hits} stops, the session went wrong:\n{result.stdout[-6000:]}")
    at_stops = [marks["bt"], *(marks[f"stop{number}"] for number in range(1, 1 + LATER))]
    return {"first stop": marks["stop0"], "bt": marks["bt"] - marks["stop0"],
            "later stop": statistics.median(after - before for before, after in zip(at_stops, at_stops[1:]))}


def measure(interpreters, rounds):
    """{who: sessions}, of which the first of each does not count."""
    hosts = {"ordinary": ([debug.ORDINARY, harness.PYTHON3], False, interpreters),
             "plain": ([harness.GORGON, "run", f"--python={harness.PYTHON}", "-n", str(interpreters), "-c"], False, 1)}
    hosts["scripts"] = (hosts["plain"][0], True, 1)
    found = {who: [] for who in hosts}
    for number in range(rounds + 1):
        for who, host in hosts.items():
            debug.progress(f"{who} {number}/{rounds}")
            found[who].append(session(*host))
    debug.progress("")
    return {who: sessions[1:] for who, sessions in found.items()}


def table(found, interpreters):
    def cells(who, beside):
        for column in COLUMNS:
            ratios = [a[column] / b[column] for a, b in zip(found[who], found[beside])]
            least = [min(one[column] for one in found[host]) for host in (who, beside)]
            yield f"{least[0] / least[1]:.2f}; {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}"

    def seconds(who):
        for column in COLUMNS:
            yield f"{statistics.median(one[column] for one in found[who]):.3f} s"

    rows = [("ordinary host", seconds("ordinary")), (f"{interpreters} interpreters, plain", seconds("plain")),
            (f"{interpreters} interpreters, scripts", seconds("scripts")), ("scripts to plain", cells("scripts", "plain")),
            ("plain to the ordinary host", cells("plain", "ordinary")), ("scripts to the ordinary host", cells("scripts", "ordinary"))]
    return "\n".join([f"| gdb | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|",
                      *(f"| {name} | {' | '.join(values)} |" for name, values in rows)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--interpreters", type=int, default=20)
    parser.add_argument("--report", metavar="FILE", help="write FILE.md")
    args = parser.parse_args()
    found = measure(args.interpreters, args.rounds)
    text = table(found, args.interpreters)
    print(json.dumps(found, indent=1) if args.json else text)
    if args.report:
        versions = "; ".join(debug.version(tool, "--version") for tool in (harness.GDB, harness.PYTHON3))
        with open(f"{args.report}.md", "w") as file:
            file.write("# What gdb pays for breakpoints in extensions in C++\n\n"
                       f"{time.strftime('%Y-%m-%d')}; {versions}; {os.cpu_count()} processors; {args.rounds} rounds. "
                       "Made by `make bench-extensions`.\n\n"
                       "Three extensions have 3.7 MB of debug information each; two breakpoints are by name, one is by line. Figures are\n"
                       "gdb's processor time: from its start to the first stop, for `bt` there, and from a stop to the next (the median).\n"
                       "Of ratios there is that of the least times, and the median over rounds with the least and the greatest.\n\n" + text)


if __name__ == "__main__":
    main()
