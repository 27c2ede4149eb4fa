#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Try the habits of gdb_habits.py, lldb_habits.py and dap_habits.py in Gorgon's host as in the ordinary one.

Usage: parity.py [--no-home] [--variants V,V...] [--jobs N] [--findings FILE] [--write] [--show] [DEBUGGER] [WORD]...

DEBUGGER is gdb, lldb, lldb-dap or gdb-dap (gdb 14 and newer), a variant scripts-3 or plain-20; words select habits whose names contain them. Prints what is
not the same; --show prints answers that are, too. With --no-home neither HOME nor XDG_CACHE_HOME is set. --findings writes each difference with both answers. --write writes
results.json, where what was not tried stays as it was. The exit status is 1 where a row is worse than results.json has it."""

import argparse
import concurrent.futures
import datetime
import difflib
import functools
import json
import os
import re
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(1, HERE)
sys.dont_write_bytecode = True

import harness  # noqa: E402
import dap_habits  # noqa: E402
import gdb_habits  # noqa: E402
import lldb_habits  # noqa: E402
from excuses import EXCUSES, GENERAL  # noqa: E402
from known import why  # noqa: E402
from normal import normal  # noqa: E402
from dap_sessions import GdbDap, LldbDap  # noqa: E402
from sessions import TYPED, VARIANTS, Bench, progress  # noqa: E402

DEBUGGERS = {**TYPED, "lldb-dap": LldbDap, "gdb-dap": GdbDap}

HABITS = {"gdb": gdb_habits.HABITS, "lldb": lldb_habits.HABITS, "lldb-dap": dap_habits.HABITS, "gdb-dap": dap_habits.HABITS}
RESULTS = os.path.join(HERE, "results.json")
ORDER = ("same", "different", "broken")


def answer(debugger, habit, found):
    """What is compared: the lines typed with their answers, normal, or the lines that the habit keeps."""
    text = "\n".join(f"> {typed}\n{normal(debugger, said)}" for typed, said in found)
    if not habit.keep:
        return text
    return "\n".join(line for line in text.splitlines() if re.match("> ", line) or re.search(habit.keep, line))


# What Bench says of a session that was lost.
LOST = "> (the debugger does not answer)"


def excused(names, expected, seen):
    """Both answers after these excuses."""
    for name in names:
        expected, seen = EXCUSES[name].of(expected, seen)
    return expected, seen


def outcome(debugger, habit, variant, expected, seen):
    """(one of ORDER, the names of the excuses that were needed)"""
    if LOST in expected:  # nothing was learnt
        return "broken", ()
    if expected == seen:
        return "same", ()
    names = [name for name in (*habit.excuses, *GENERAL) if EXCUSES[name].applies(debugger, variant)]

    def enough(some):
        left, right = excused(some, expected, seen)
        return left == right

    if not enough(names):
        return "broken", ()
    for name in list(names):
        fewer = [other for other in names if other != name]
        if enough(fewer):
            names = fewer
    return "different", tuple(names)


class Trial:
    """One habit in one variant: both answers and what they come to."""

    def __init__(self, debugger, habit, variant, expected, seen):
        self.debugger, self.habit, self.variant = debugger, habit, variant
        self.expected, self.seen = answer(debugger, habit, expected), answer(debugger, habit, seen)
        self.outcome, self.excuses = outcome(debugger, habit, variant, self.expected, self.seen)

    @property
    def difference(self):
        return "\n".join(difflib.unified_diff(self.expected.splitlines(), self.seen.splitlines(), "ordinary host",
                                              f"Gorgon, {self.variant}", lineterm="", n=2))


def answers(debugger, variant, habits, say):
    """{habit's name: [(typed, answer)]}, in as few sessions as can be; those that need their own come last."""
    found = {}
    with Bench(DEBUGGERS[debugger], variant) as bench:
        for number, habit in enumerate(sorted(habits, key=lambda habit: habit.alone)):
            say(debugger, variant, number, len(habits), habit.name)
            found[habit.name] = bench.try_habit(habit)
    return found


def run(wanted, jobs=2):
    """Trials of {(debugger, variant): [habit]}; each variant's peer tries what any of those does."""
    tasks = {}
    for (debugger, variant), habits in wanted.items():
        tasks[debugger, variant] = list(habits)
        peer = tasks.setdefault((debugger, variant.peer), [])
        peer += [habit for habit in habits if habit not in peer]
    lock, states = threading.Lock(), {}

    def say(debugger, variant, number, count, name):
        with lock:
            states[debugger, variant] = f"{debugger} {variant} {number + 1}/{count} {name}"
            progress("   ".join(list(states.values())[-jobs:])[:150])

    def work(key):
        try:
            return answers(*key, tasks[key], say)
        finally:
            states.pop(key, None)

    # Variants with more interpreters take longer, so they begin.
    order = sorted(tasks, key=lambda key: (-len(tasks[key]) * (1 + key[1].count / 10), str(key)))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(order, pool.map(work, order)))
    progress("")
    return [Trial(debugger, habit, variant, found[debugger, variant.peer][habit.name], found[debugger, variant][habit.name])
            for (debugger, variant), habits in wanted.items() for habit in habits]


@functools.cache
def version(debugger):
    tool = harness.GDB if debugger.startswith("gdb") else harness.LLDB
    text = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]
    return re.search(r"[\d.]+$", text.strip())[0]


def is_there(debugger):
    if not (harness.GDB if debugger.startswith("gdb") else harness.LLDB):
        return False
    return debugger != "gdb-dap" or int(version("gdb").split(".")[0]) >= 14


def recorded():
    if not os.path.exists(RESULTS):
        return {}
    with open(RESULTS) as file:
        return json.load(file)


def write(trials):
    """results.json with these in it."""
    results = recorded()
    for trial in trials:
        part = results.setdefault(trial.debugger, {"rows": {}})
        part.update(version=version(trial.debugger), python=harness.VERSION,
                    date=datetime.date.today().isoformat())
        cell = [trial.outcome, *trial.excuses]
        part["rows"].setdefault(trial.habit.name, {})[str(trial.variant)] = cell
    for debugger, part in results.items():
        names = [habit.name for habit in HABITS[debugger]]
        part["rows"] = {name: dict(sorted(part["rows"][name].items())) for name in names if name in part["rows"]}
    with open(RESULTS, "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


def worse(trials):
    """Trials that are worse than the record, and trials with a difference for which there is no reason."""
    results = recorded()
    found = []
    for trial in trials:
        row = results.get(trial.debugger, {}).get("rows", {}).get(trial.habit.name, {})
        known = row.get(str(trial.variant), ["same"])[0]
        if ORDER.index(trial.outcome) > ORDER.index(known) or trial.outcome == "broken" and not why(trial.debugger, trial.habit.name, trial.variant):
            found.append(trial)
    return found


def finding(trial):
    return (f"## {trial.debugger}, {trial.variant}: {trial.habit.name}\n\n{trial.outcome} {' '.join(trial.excuses)}\n\n"
            f"```diff\n{trial.difference}\n```\n\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", default=",".join(map(str, VARIANTS)))
    parser.add_argument("--no-home", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--findings", metavar="FILE")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("words", nargs="*", metavar="WORD")
    args = parser.parse_intermixed_args()
    variants = [variant for variant in VARIANTS if str(variant) in args.variants.split(",") and variant.home != args.no_home]
    if args.no_home:
        for name in ("HOME", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
    debuggers = [word for word in args.words if word in DEBUGGERS] or [name for name in DEBUGGERS if is_there(name)]
    words = [word for word in args.words if word not in DEBUGGERS]
    wanted = {}
    for debugger in debuggers:
        habits = [habit for habit in HABITS[debugger] if not words or any(word in habit.name for word in words)]
        wanted.update({(debugger, variant): habits for variant in variants if habits})
    trials = run(wanted, args.jobs)
    text = ""
    for trial in trials:
        if args.show:
            print(f"== {trial.debugger} {trial.variant} {trial.habit.name}: {trial.outcome} {' '.join(trial.excuses)}\n{trial.seen}\n")
        if trial.outcome != "same":
            print(f"{trial.outcome} {trial.debugger} {trial.variant} {trial.habit.name}: {' '.join(trial.excuses)}\n{trial.difference}\n")
            text += finding(trial)
    for debugger in debuggers:
        for variant in variants:
            found = [trial.outcome for trial in trials if (trial.debugger, trial.variant) == (debugger, variant)]
            print(f"{debugger} {variant}: " + ", ".join(f"{found.count(word)} {word}" for word in ORDER))
    if args.findings:
        with open(args.findings, "w") as file:
            file.write(text)
    bad = worse(trials)
    for trial in bad:
        print(f"worse than recorded, or without a reason: {trial.debugger} {trial.variant} {trial.habit.name}")
    if args.write:
        write(trials)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
