#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a debugger pays for N interpreters, beside an ordinary host.

Usage: debug.py [--json] [--counts N,N...] [--rounds R] [--timeout S] [--add FILE] [--report FILE] [gdb] [lldb] [attach] [start] [feel]

--json prints figures to work with; --add takes such from a file, too (with --counts '' nothing else). --report writes the tables with
date and versions (FILE.md) and a plot (FILE.svg) beside printing them.

attach: the host runs N interpreters, each with numpy and a thread that waits; the ordinary host
has one Python with numpy and as many threads. The debugger attaches, sets a breakpoint on
PyList_Append, continues, stops there and prints a backtrace: without scripts of ours, and gdb with
them, which then show lines and variables in the copy that has stopped, too: the first time, and again, when
an index of libpython is kept. Sessions with the two hosts
alternate. Times are of the debugger's processor time, step by step, without its own start-up;
`whole` is the process with it.

start: the host is started by the debugger and creates N interpreters, without a breakpoint, with
that one, and with that one and the scripts: how long each takes among the first tenth of them, and among the last.
Times are of the wall, between the hosts' lines about the first and last interpreter of a tenth: they
compare within one run only.

feel: each command of a session by itself (feel.py), with 1, 3 and 20 interpreters, plain and with the scripts, which keep
what they have looked up."""

import argparse
import json
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import feel  # noqa: E402
import harness  # noqa: E402
import panels  # noqa: E402

SCRIPTS = {"gdb": harness.GDB_SCRIPT}
ORDINARY = os.path.join(harness.BUILD, "bench", "ordinary")
STEPS = ("attach", "break", "stop", "backtrace")

# A byte in the pipe makes one thread list a folder, and CPython calls PyList_Append for that. Each thread has listed the folder before,
# until CPython has specialised the code: so all stacks are alike, whichever thread and interpreter gets the byte.
PROGRAM = """
import os, sys, threading
import numpy
go, ready = (os.open(path, os.O_RDWR) for path in {pipes!r})
def wait():
    for _ in range(50):
        os.listdir({folder!r})
    os.write(ready, b'x')
    while os.read(go, 1):
        os.listdir({folder!r})
for _ in range({threads} - 1):
    threading.Thread(target=wait).start()
wait()
"""

# The processor time of child processes counts, too: the scripts have another gdb make an index.
MARK = ("import time, resource; own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)); "
        "print('\\nMARK {} %f %f %d' % (time.monotonic(), sum((own.ru_utime, own.ru_stime, others.ru_utime, "
        "others.ru_stime)), own.ru_maxrss), flush=True)")

SETTINGS = {"gdb": ["set pagination off", "set width 0", "set confirm off", "set debuginfod enabled off",
                    "set breakpoint pending on", "set print thread-events off"],
            "lldb": ["settings set auto-confirm true", "settings set use-color false"]}


def progress(text):
    """A line that overwrites itself on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


class Slow(Exception):
    """A session took longer than it may."""


# Who has set the breakpoint: the debugger alone, or our scripts, which keep what they have looked up.
PLAIN, FIRST, AGAIN = "", ", scripts, first time", ", scripts, again"


class Debugger:
    """A session in batch mode, in a process group of its own."""

    def __init__(self, kind, commands, folder):
        script = os.path.join(folder, "session")
        with open(script, "w") as file:
            file.write("\n".join(SETTINGS[kind] + commands) + "\n")
        arguments = {"gdb": [harness.GDB, "-nx", "-q", "-batch", "-x", script],
                     "lldb": [harness.LLDB, "--no-lldbinit", "--batch", "-s", script]}[kind]
        self.output = open(os.path.join(folder, "output"), "w+")
        environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
                                        start_new_session=True, env=environment)

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.output.close()


def mark(kind, name):
    return {"gdb": "python ", "lldb": "script "}[kind] + MARK.format(name)


class Target:
    """A host that waits, with N threads in all."""

    def __init__(self, command, interpreters, threads):
        self.folder = tempfile.TemporaryDirectory()
        self.pipes = [os.path.join(self.folder.name, name) for name in ("go", "ready")]
        for pipe in self.pipes:
            os.mkfifo(pipe)
        program = PROGRAM.format(pipes=self.pipes, folder=self.folder.name, threads=threads)
        ready = os.open(self.pipes[1], os.O_RDWR | os.O_NONBLOCK)
        self.process = subprocess.Popen([*command, program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        start_new_session=True)
        waiting = 0
        while waiting < interpreters * threads:
            if self.process.poll() is not None:
                raise SystemExit(f"bench-debug: {command[0]} ended with status {self.process.returncode}")
            if select.select([ready], [], [], 1)[0]:
                waiting += len(os.read(ready, 65536))
        os.close(ready)

    def session(self, kind, scripts, timeout):
        """{step: processor seconds}, `whole` and `memory` (MiB at most) of one debugger session; without
        the steps that it did not come to in time. @scripts: PLAIN, FIRST or AGAIN."""
        attach, stop = {"gdb": (f"attach {self.process.pid}", "break PyList_Append"),
                        "lldb": (f"process attach -p {self.process.pid}", "breakpoint set -n PyList_Append")}[kind]
        wake = {"gdb": "python ", "lldb": "script "}[kind] + f"open('{self.pipes[0]}', 'w').write('x')"
        load = [f"source {SCRIPTS[kind]}"] if scripts else []
        commands = [*load, mark(kind, "start"), attach, mark(kind, "attach"), stop, mark(kind, "break"), wake, "continue",
                    mark(kind, "stop"), "bt", mark(kind, "backtrace"),
                    {"gdb": "delete", "lldb": "breakpoint delete --force"}[kind], "detach", mark(kind, "end")]
        if scripts == FIRST:  # the host's part of the cache stays
            shutil.rmtree(os.path.join(os.environ["XDG_CACHE_HOME"], "gorgon", "gdb"), ignore_errors=True)
        debugger = Debugger(kind, commands, self.folder.name)
        try:
            debugger.process.wait(timeout)
            slow = False
        except subprocess.TimeoutExpired:
            slow = True
        text = debugger.text()
        debugger.stop()
        marks = {name: (float(cpu), int(peak)) for name, cpu, peak in
                 re.findall(r"^MARK (\w+) [\d.]+ ([\d.]+) (\d+)$", text, re.M)}
        # Without a stop in the function and a backtrace nothing was measured: of a thread or of main(). (lldb 19 does not get to
        # the evaluation loop of a libpython that the system has loaded.)
        last = {"gdb": r"clone3|in main \(", "lldb": "os_listdir"}[kind]
        frame = r"#0:?[ \w]* .*PyList_Append" + (r".* at \S+:\d+$" if scripts else "")
        if not slow and ("end" not in marks or not re.search(frame, text, re.M) or not re.search(last, text)):
            raise SystemExit(f"bench-debug: the {kind} session went wrong:\n{text[-3000:]}")
        row = {step: marks[step][0] - marks[before][0] for before, step in zip(["start", *STEPS], STEPS) if step in marks}
        if not slow:
            row.update(use=sum(row[step] for step in STEPS[1:]), work=sum(row.values()), whole=marks["backtrace"][0], memory=marks["backtrace"][1] / 1024)
        return row

    def feel(self, kind, lines, of_gorgon, timeout):
        """{column: processor seconds} of one session of feel.py. @lines: what reads scripts of ours, or none."""
        wake = {"gdb": "python ", "lldb": "script "}[kind] + f"open('{self.pipes[0]}', 'w').write('x')"
        session = feel.commands(kind, of_gorgon, lines, self.process.pid, wake, lambda name: mark(kind, name))
        debugger = Debugger(kind, session, self.folder.name)
        try:
            debugger.process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass  # the session has failed, and has no figures
        text = debugger.text()
        debugger.stop()
        if not feel.went_well(kind, of_gorgon, lines, text):
            raise SystemExit(f"bench-debug: the {kind} session went wrong:\n{text[-6000:]}")
        return feel.row({name: float(used) for name, used in re.findall(r"^MARK (\w+) [\d.]+ ([\d.]+) \d+$", text, re.M)}, text)

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.folder.cleanup()


def attach_to(kind, scripts, count, rounds, timeout):
    """A row: medians, for both hosts, of the steps that every session has reached. The ordinary host never needs
    scripts."""
    sessions = {"ordinary": [], "gorgon": []}
    targets = {"ordinary": Target([ORDINARY, harness.PYTHON3], 1, count),
               "gorgon": Target([harness.HOST, "-p", harness.PYTHON3, "-n", str(count)], count, 1)}
    try:
        if scripts == AGAIN:
            targets["gorgon"].session(kind, FIRST, timeout)
        for i in range(rounds):
            for name, found in sessions.items():
                progress(f"{kind}, attach, {count} interpreters: {name} {i + 1}/{rounds}")
                if not found or "whole" in found[-1]:  # a killed session may leave the target stopped
                    found.append(targets[name].session(kind, scripts if name == "gorgon" else PLAIN, timeout))
    finally:
        progress("")
        for target in targets.values():
            target.end()
    row = {"benchmark": "attach", "debugger": kind + scripts, "interpreters": count,
           "timeout": timeout}
    row.update({name: medians(found) for name, found in sessions.items()})
    return row


def feels(kind, count, rounds, timeout):
    """Rows, plain and with the scripts. The first sessions do not count, because caches fill in them."""
    rows = []
    for scripts in (False, True):
        load = {"gdb": [f"source {harness.GDB_SCRIPT}"],
                "lldb": [f"command script import {harness.LLDB_SCRIPT}", "gorgon symbols auto"]}[kind] if scripts else []
        targets = {"ordinary": Target([ORDINARY, harness.PYTHON3], 1, count),
                   "gorgon": Target([harness.HOST, "-p", harness.PYTHON3, "-n", str(count)], count, 1)}
        found = {name: [] for name in targets}
        try:
            for i in range(rounds + 1):
                for name, target in targets.items():
                    progress(f"{kind}, feel, {count} interpreters: {name} {i}/{rounds}")
                    feel.prepare(target)
                    of_gorgon = name == "gorgon"
                    found[name].append(target.feel(kind, load if of_gorgon else [], of_gorgon, timeout))
        finally:
            progress("")
            for target in targets.values():
                target.end()
        rows.append({"benchmark": "feel", "debugger": kind + (", scripts" if scripts else ""), "interpreters": count,
                     "scripts": scripts, **{name: sessions[1:] for name, sessions in found.items()}})
    return rows


def kill_programs(folder):
    """End programs with this folder in their command line: programs that lldb has started outlive it when it is killed."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if folder.encode() in file.read():
                    os.kill(int(pid), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass  # the program has ended meanwhile


WAYS = {"gdb": {"no breakpoint": [], "break PyList_Append": ["break PyList_Append"],
                "break PyList_Append, scripts": [f"source {SCRIPTS['gdb']}", "break PyList_Append"]},
        "lldb": {"no breakpoint": [], "break PyList_Append": ["breakpoint set -n PyList_Append"]}}


def start(kind, count, way, timeout):
    """Seconds when each interpreter was there, as the host has told."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "lines")
        os.mkfifo(pipe)
        stops = WAYS[kind][way]
        # Interpreters are created but run no program, so nothing calls the function.
        code = f"'pass # {folder}'"
        run = {"gdb": [f"run -n {count} {code} > {pipe}"],
               "lldb": [f"process launch -o {pipe} -- -n {count} {code}"]}[kind]
        file = {"gdb": f"file {harness.HOST}", "lldb": f"target create {harness.HOST}"}[kind]
        debugger = Debugger(kind, [file, *stops, *run], folder)
        times = []

        def read():
            with open(pipe) as lines:
                for line in lines:
                    times.append((time.monotonic(), line))
                    if len(times) == count:
                        return

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(timeout)
        slow = reader.is_alive()
        text = debugger.text()
        debugger.stop()
        kill_programs(folder)
        if slow:
            # The reader waits for a first writer, or, when all writers have gone, reads to the end.
            os.close(os.open(pipe, os.O_RDWR))
            reader.join(10)
            raise Slow
    if len(times) != count:
        raise SystemExit(f"bench-debug: {kind} ended after {len(times)} interpreters:\n{text[-3000:]}")
    return [when for when, _ in times]


def alone(count):
    """The same without a debugger."""
    times = []
    with subprocess.Popen([harness.HOST, "-n", str(count), "pass"], stdout=subprocess.PIPE, text=True) as process:
        for _ in range(count):
            process.stdout.readline()
            times.append(time.monotonic())
        process.stdout.read()
    return times


def started(kind, count, rounds, timeout):
    """A row for each way, medians: milliseconds for an interpreter in the first and in the last tenth."""
    sessions = {way: [] for way in ("no debugger", *WAYS[kind])}
    tenth = count // 10
    for i in range(rounds):
        for way, found in sessions.items():
            progress(f"{kind}, start, {count} interpreters: {way} {i + 1}/{rounds}")
            if found and found[-1]["all"] is None:
                continue
            try:
                times = alone(count) if way == "no debugger" else start(kind, count, way, timeout)
            except Slow:
                found.append({"all": None})
                continue
            found.append({"all": times[-1] - times[0]})
            if tenth > 1:  # a tenth of 10 interpreters says nothing
                found[-1].update(first=(times[tenth - 1] - times[0]) * 1000 / (tenth - 1),
                                 last=(times[-1] - times[-tenth]) * 1000 / (tenth - 1))
    progress("")
    return [{"benchmark": "start", "debugger": kind, "interpreters": count, "way": way, "timeout": timeout,
             **medians(found)} for way, found in sessions.items()]


def medians(found):
    """Medians of the figures that the last session has."""
    return {key: None if value is None else statistics.median(one[key] for one in found)
            for key, value in found[-1].items()}


def attach_table(rows):
    lines = ["Attached: multiples of an ordinary host with one Python and as many threads; in brackets seconds of the",
             "debugger's processor time, or MiB, with the ordinary host and with Gorgon.", "",
             "| debugger | interpreters | attach | break PyList_Append | to the stop | backtrace | break to backtrace"
             " | work in all | whole process | peak memory |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = []
        for key in (*STEPS, "use", "work", "whole", "memory"):
            a, b = row["ordinary"].get(key), row["gorgon"].get(key)
            cells.append(f"over {row['timeout']} s" if a is None or b is None else f"{b / a:.2f} ({a:.2f}, {b:.2f})")
        lines.append(f"| {row['debugger']} | {row['interpreters']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def start_table(rows):
    lines = ["Started by the debugger: what creating an interpreter takes, in milliseconds of the wall.", "",
             "| debugger | interpreters | breakpoint | first tenth | last tenth | last to first | all, s |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        tenths = f"{row['first']:.1f} | {row['last']:.1f} | {row['last'] / row['first']:.2f}" if "first" in row else "| |"
        total = f"over {row['timeout']} s" if row["all"] is None else f"{row['all']:.2f}"
        lines.append(f"| {row['debugger']} | {row['interpreters']} | {row['way']} | {tenths} | {total} |")
    return "\n".join(lines) + "\n"


def tables(results):
    text = ""
    for name, table in (("attach", attach_table), ("start", start_table), ("feel", feel.table)):
        rows = [row for row in results if row["benchmark"] == name]
        text += table(rows) + "\n" if rows else ""
    return text


def version(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0]


def report(name, results):
    """FILE.md and FILE.svg."""
    tools = [version(tool, "--version") for tool in (harness.GDB, harness.LLDB, harness.PYTHON3) if tool]
    attached, felt = ([row for row in results if row["benchmark"] == benchmark] for benchmark in ("attach", "feel"))
    feels_name = f"{name}-feel" if attached else name
    images = "\n".join(f"![ratios]({os.path.basename(plot)}.svg)" for plot, rows in ((name, attached), (feels_name, felt)) if rows)
    with open(f"{name}.md", "w") as file:
        file.write(f"# What debuggers pay\n\n{time.strftime('%Y-%m-%d')}; {'; '.join(tools)}; {os.cpu_count()} processors. Made by "
                   f"`make bench-debug`.\n\n{images}\n\n{tables(results)}".rstrip("\n") + "\n")
    for plot, rows in (name, attached), (feels_name, felt):
        if rows:
            panels.main(f"{name}.md", f"{plot}.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--counts", default="1,10,100")
    parser.add_argument("--feel-counts", default="1,3,20", help="the same for feel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one session")
    parser.add_argument("--add", action="append", default=[], metavar="FILE", help="results of --json")
    parser.add_argument("--report", metavar="FILE", help="write FILE.md and FILE.svg")
    parser.add_argument("words", nargs="*", metavar="WORD")
    args = parser.parse_args()
    unknown = set(args.words) - {"gdb", "lldb", "attach", "start", "feel"}
    if unknown:
        parser.error(f"no such benchmark: {' '.join(sorted(unknown))} (there are: gdb lldb attach start feel)")
    there = [kind for kind, tool in (("gdb", harness.GDB), ("lldb", harness.LLDB)) if tool]
    kinds = [kind for kind in there if kind in args.words] or [kind for kind in there if not {"gdb", "lldb"} & set(args.words)]
    if not kinds:
        parser.error("the debugger is not installed")
    counts = [int(word) for word in args.counts.split(",") if word]
    every = not {"attach", "start", "feel"} & set(args.words)
    results = []
    for name in args.add:
        with open(name) as file:
            results += json.load(file)
    for measure, wanted in (
            (lambda kind, count: [attach_to(kind, scripts, count, args.rounds, args.timeout)
                                  for scripts in (PLAIN, FIRST, AGAIN) if kind in SCRIPTS or not scripts], "attach"),
            (lambda kind, count: started(kind, count, args.rounds, args.timeout), "start")):
        if not every and wanted not in args.words:
            continue
        results += [row for kind in kinds for count in counts for row in measure(kind, count)]
    if every or "feel" in args.words:
        results += [row for kind in kinds for count in [int(word) for word in args.feel_counts.split(",") if word]
                    for row in feels(kind, count, args.rounds, args.timeout)]
    results.sort(key=lambda row: (row["debugger"].split(",")[0], row["interpreters"]))  # with what was added in its place
    if args.json:
        print(json.dumps(results, indent=1))
    else:
        print(tables(results), end="")
    if args.report:
        report(args.report, results)


if __name__ == "__main__":
    main()
