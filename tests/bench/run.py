#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the benchmarks and print ratios.

Usage: run.py [--json] [--report FILE] [NAME]...      (throws, listing, registering, load, isolate, symdump, executor, templates, arrays, interrupts,
record, memory, cluster; default: all). --report writes what load, executor, templates, memory or cluster came to as FILE.md; load's has
plots beside it.

A ratio compares things that were measured in turn within one run: the machine may be
busy with something else, and then is so for both. Times are of the processor, not of
the wall; but those of symdump, which has nothing to be compared with."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import cluster  # noqa: E402
import executor  # noqa: E402
import harness  # noqa: E402
import load  # noqa: E402
import memory  # noqa: E402
import record  # noqa: E402
import templates  # noqa: E402

BUILD = os.environ["BUILD"]
MODULE = os.path.join(BUILD, "bench", "libthrow.so")
GORGON = os.path.join(BUILD, "gorgon")
SYMDUMP = os.path.join(BUILD, "gorgon-symdump")
LIBGORGON = os.path.join(BUILD, "libgorgon.so.0")
COUNTS = (1, 100, 1000)
ROUNDS = 21
THROWS = 500
LISTED = 18000  # 1,000 interpreters with numpy
LIBPYTHON = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"
REGISTERED = 1000
# Interpreters to dump: 1,000 with numpy are 18 GB.
DUMPED = (("bare", "", 1000), ("numpy", "import numpy; ", int(os.environ.get("NUMPY", "200"))))
DUMPS = ("", "--json", "--check", "--stacks", "--stacks --json")
PACKED = 20  # libraries of each of as many namespaces
ISOLATED = 6  # interpreters
ISOLATE_ROUNDS = 5
INTERRUPTS = 200  # of each way of blocking
CALL_ROUNDS = 5
STRATEGIES = ("loader", "copy")


def progress(text):
    """A line that overwrites itself on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


class Process:
    """One tests/bench/throws.c. @preload: libgorgon stands before the system's unwinder."""

    def __init__(self, count=None, preload=False):
        command = [os.path.join(BUILD, "bench", "throws"), MODULE]
        command += [LIBGORGON, str(count)] if count else []
        env = dict(os.environ, LD_PRELOAD=LIBGORGON) if preload else os.environ
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        finder = self.read()
        if preload != ("libgorgon" in finder):
            raise SystemExit(f"bench: _dl_find_object is that of {finder}, preload is {preload}")

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: a process ended with status {self.process.wait()}")
        return line.strip()

    def time(self, who):
        """Nanoseconds of one throw."""
        self.process.stdin.write(f"{who} {THROWS}\n")
        self.process.stdin.flush()
        return int(self.read()) / THROWS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def throws_with(count):
    """A row for each way and thrower: ratios to a process without Gorgon, round by round."""
    rows = {}
    with Process() as peer, Process(count, preload=True) as table, Process(count) as frames:
        for i in range(ROUNDS):
            progress(f"throws, {count} namespaces: {i}/{ROUNDS}")
            base = peer.time("host")
            rows.setdefault(("dlopen", "host"), []).append((base, 1.0))
            for way, process in (("table", table), ("__register_frame", frames)):
                for who in ("host", "private"):
                    took = process.time(who)
                    rows.setdefault((way, who), []).append((took, took / base))
    progress("")
    return [{"benchmark": "throws", "namespaces": count, "way": way, "thrower": who,
             "ns": round(statistics.median(took for took, _ in values)),
             "ratio": round(statistics.median(ratio for _, ratio in values), 3)}
            for (way, who), values in rows.items()]


def throws():
    return [row for count in COUNTS for row in throws_with(count)]


def print_throws(rows):
    cells = {(row["way"], row["thrower"], row["namespaces"]): row for row in rows}
    peers = " ".join(str(cells["dlopen", "host", count]["ns"]) for count in COUNTS)
    print("A throw that is caught in the library that throws, as a multiple of the same in a process\n"
          f"without Gorgon, where the system loaded the library ({peers} ns)\n")
    print(f"{'frames found by':20}{'thrown in':12}" + "".join(f"{count:>8}" for count in COUNTS) + "  namespaces")
    for way in ("table", "__register_frame"):
        for who, text in (("host", "the host"), ("private", "a copy")):
            print(f"{way:20}{text:12}" + "".join(f"{cells[way, who, count]['ratio']:8.2f}" for count in COUNTS))


def listing():
    rows = []
    for i in range(5):
        progress(f"listing: {i}/5")
        output = subprocess.run([os.path.join(BUILD, "bench", "listing"), MODULE, str(LISTED)], check=True,
                                capture_output=True, text=True).stdout
        rows.append([float(word) for word in output.split()])
    progress("")
    load, listed, unlisted = (statistics.median(column) for column in zip(*rows))
    return [{"benchmark": "listing", "objects": LISTED, "load_ns": load, "list_ns": listed, "unlist_ns": unlisted,
             "ratio": statistics.median(row[1] / row[0] for row in rows)}]


def print_listing(rows):
    row = rows[0]
    print(f"Making each of {row['objects']} objects known to the unwinder, as a part of loading a small library\n"
          f"({row['load_ns'] / 1000:.0f} us): {row['ratio']:.2%}; taking it out again: {row['unlist_ns']:.0f} ns")


def registering_row(library, pack):
    options = ["--pack", str(pack)] if pack else []
    runs = []
    for i in range(5):
        progress(f"registering {' '.join([*options, os.path.basename(library)])}: {i}/5")
        output = subprocess.run([os.path.join(BUILD, "bench", "registering"), *options, library, str(REGISTERED)],
                                check=True, capture_output=True, text=True).stdout
        runs.append([float(word) for word in output.split()])
    progress("")
    load, register, unregister, memory = (statistics.median(column) for column in zip(*runs))
    return {"benchmark": "registering", "library": os.path.basename(library), "packed": pack,
            "copies": REGISTERED * (pack or 1), "load_ns": load, "register_ns": register,
            "unregister_ns": unregister, "bytes": memory, "ratio": statistics.median(run[1] / run[0] for run in runs)}


def registering():
    return [registering_row(library, pack) for pack in (0, PACKED) for library in (MODULE, LIBPYTHON)]


def print_registering(rows):
    print(f"Telling debuggers about each of {REGISTERED} copies, or of the copies in {REGISTERED} namespaces that are\n"
          f"packed with {PACKED} copies each; nobody attached (aim: 20 us, 4 KiB); and that as a part of loading\n"
          "the copy\n")
    print(f"{'library':28}{'register':>12}{'unregister':>12}{'memory':>12}{'of loading':>12}")
    for row in rows:
        name = f"{PACKED} x {row['library']}" if row["packed"] else row["library"]
        print(f"{name:28}{row['register_ns'] / 1000:9.1f} us{row['unregister_ns'] / 1000:9.1f} us"
              f"{row['bytes'] / 1024:8.1f} KiB{row['ratio']:12.1%}")


class Interpreters:
    """A process with @count interpreters that have run @prologue and wait."""

    def __init__(self, count, prologue):
        program = prologue + "import time; print('ready', flush=True); time.sleep(3600)"
        self.process = subprocess.Popen([GORGON, "run", "-n", str(count), "-c", program], stdout=subprocess.PIPE,
                                        text=True)
        for i in range(count):
            progress(f"symdump: {i}/{count} interpreters")
            if self.process.stdout.readline() != "ready\n":
                raise SystemExit(f"bench: interpreter {i} of {count} did not get ready")

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def dump(pid, *options):
    """Seconds of the wall, and MB, of one gorgon-symdump; its output is thrown away."""
    started = time.monotonic()
    process = subprocess.Popen([SYMDUMP, str(pid), *options], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"bench: gorgon-symdump {' '.join(options)} ended with {status}")
    return time.monotonic() - started, usage.ru_maxrss / 1024


def symdump():
    rows = []
    for kind, prologue, count in DUMPED:
        with Interpreters(count, prologue) as pid:
            for option in DUMPS:
                progress(f"symdump {option}, {count} interpreters, {kind}")
                runs = [dump(pid, *option.split()) for _ in range(3)]
                rows.append({"benchmark": "symdump", "interpreters": count, "kind": kind, "option": option,
                             "seconds": statistics.median(took for took, _ in runs),
                             "megabytes": max(memory for _, memory in runs)})
    progress("")
    return rows


def print_symdump(rows):
    print("gorgon-symdump on a process with many interpreters (aim for 1000: 1 s, 100 MB)\n")
    print(f"{'interpreters':>12}  {'with':8}{'option':17}{'time':>10}{'memory':>10}")
    for row in rows:
        print(f"{row['interpreters']:12}  {row['kind']:8}{row['option'] or 'table':17}{row['seconds']:8.2f} s"
              f"{row['megabytes']:7.0f} MB")


class Isolated:
    """What a process with interpreters of one strategy has used when all programs have reached the same point."""

    def __init__(self, strategy, count, prologue):
        code = f"{prologue}import os, time; os.write(1, b'ready\\n'); time.sleep(3600)"
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            process = subprocess.Popen([GORGON, "run", "--isolate", strategy, "-n", str(count), "-c", code],
                                       stdout=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=folder))
            lines = [process.stdout.readline() for _ in range(count)]
            self.wall = time.monotonic() - started
            if lines != ["ready\n"] * count:
                raise SystemExit(f"bench: {strategy}: {lines}")
            with open(f"/proc/{process.pid}/stat") as file:
                self.cpu = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
            with open(f"/proc/{process.pid}/smaps_rollup") as file:
                sizes = dict(re.findall(r"^(\w+): +(\d+) kB", file.read(), re.M))
            self.memory = (int(sizes["Private_Dirty"]) + int(sizes["Private_Clean"])) / 1024
            with open(f"/proc/{process.pid}/maps") as file:
                self.mappings = len(file.readlines())
            paths = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
            self.disk = sum(os.stat(path).st_blocks for path in paths) / 2048
            process.kill()
            process.wait()
            process.stdout.close()


ISOLATE_COLUMNS = {"cpu": "processor", "wall": "wall", "memory": "memory", "mappings": "mappings", "disk": "disk"}


def isolate():
    """What each further interpreter takes, by strategy: the difference of several interpreters and one. The strategies
    take turns."""
    rows = []
    for kind, prologue in (("bare", ""), ("numpy", "import numpy; ")):
        found = {strategy: [] for strategy in STRATEGIES}
        for i in range(ISOLATE_ROUNDS):
            for strategy in STRATEGIES:
                progress(f"isolate, {kind}, {strategy}, round {i + 1} of {ISOLATE_ROUNDS}")
                one, several = Isolated(strategy, 1, prologue), Isolated(strategy, ISOLATED, prologue)
                found[strategy].append({name: (getattr(several, name) - getattr(one, name)) / (ISOLATED - 1)
                                        for name in ISOLATE_COLUMNS})
        for strategy, rounds in found.items():
            rows.append({"benchmark": "isolate", "kind": kind, "strategy": strategy,
                         **{name: statistics.median(values[name] for values in rounds) for name in ISOLATE_COLUMNS}})
    progress("")
    return rows


def print_isolate(rows):
    print(f"each further interpreter, from 1 to {ISOLATED}, by strategy; in brackets the multiple of the loader's\n")
    print(f"{'with':6} {'strategy':9}{'processor':>18}{'wall':>18}{'private memory':>20}{'mappings':>14}{'disk':>10}")
    for row in rows:
        peer = next(peer for peer in rows if peer["kind"] == row["kind"] and peer["strategy"] == "loader")

        def cell(name, unit, factor=1, digits=1):
            return f"{row[name] * factor:.{digits}f}{unit} ({row[name] / peer[name]:.2f})"

        print(f"{row['kind']:6} {row['strategy']:9}{cell('cpu', ' ms', 1000, 0):>18}{cell('wall', ' ms', 1000, 0):>18}"
              f"{cell('memory', ' MiB'):>20}{cell('mappings', '', 1, 0):>14}{row['disk']:>6.1f} MiB")


def measure_executor():
    progress("executor")
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        output = subprocess.run([harness.PYTHON3, os.path.join(HERE, "executor.py"), f"{harness.BUILD}/bench/linked"], check=True, stdout=subprocess.PIPE,
                                text=True, env=dict(os.environ, PYTHONPATH=site)).stdout
    progress("")
    return json.loads(output)


def measure_templates():
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        rows = templates.run(harness.PYTHON3, {**os.environ, "PYTHONPATH": site}, progress)
    progress("")
    return rows


def measure_cluster():
    progress("cluster")
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        rows = cluster.measure(harness, site)
    progress("")
    return rows


def arrays():
    progress("arrays")
    output = subprocess.run([GORGON, "run", os.path.join(HERE, "arrays.py")], check=True, stdout=subprocess.PIPE,
                            text=True).stdout
    progress("")
    return json.loads(output)


def print_arrays(rows):
    cells = {(row["handler"], row["work"]): row for row in rows}
    works = list(dict.fromkeys(row["work"] for row in rows))
    print("numpy with gorgon's data handler: processor time as a multiple of that with numpy's own; 20,000 products of ten\n"
          "doubles, 200 times 1 MiB of zeros, the first writes to 64 MiB, a million reads all over 256 MiB\n")
    print(f"{'use_data_handler()':20}" + "".join(f"{work:>9}" for work in works))
    for handler in dict.fromkeys(row["handler"] for row in rows):
        print(f"{handler:20}" + "".join(f"{cells[handler, work]['ratio']:9.2f}" for work in works))


def measure_load():
    rows = load.measure(progress)
    progress("")
    return rows


def measure_memory():
    rows = memory.measure(progress)
    progress("")
    return rows


def measure_record():
    rows = record.measure(progress)
    progress("")
    return rows


def interrupts():
    progress("interrupts")
    output = subprocess.run([os.path.join(BUILD, "bench", "interrupts"), str(INTERRUPTS)], check=True, stdout=subprocess.PIPE,
                            text=True).stdout
    progress("")
    rows = [line.split("\t") for line in output.splitlines()]
    return [{"benchmark": "interrupts", "blocked in": kind, "thread": thread, "p50_us": int(median), "p99_us": int(late)}
            for kind, thread, median, late in rows]


def print_interrupts(rows):
    print(f"Milliseconds from gorgon_interp_interrupt() until the call has come back, of {INTERRUPTS}: on Python's main thread, as Ctrl-C\n"
          "in a python3, and on another thread")
    print(f"{'blocked in':12} {'main p50':>9} {'p99':>7} {'other p50':>10} {'p99':>7}")
    main, other = ({row["blocked in"]: row for row in rows if row["thread"] == thread} for thread in ("main", "other"))
    for kind in main:
        print(f"{kind:12} {main[kind]['p50_us'] / 1000:9.2f} {main[kind]['p99_us'] / 1000:7.2f} {other[kind]['p50_us'] / 1000:10.2f} "
              f"{other[kind]['p99_us'] / 1000:7.2f}")


CALL_NAMES = {"allocate": "malloc(), free()", "hold": "64 of each", "clear": "calloc(), free()", "resize": "realloc()",
              "lock": "mutex", "post": "semaphore"}


def calls():
    command = [os.path.join(HERE, "calls.py"), os.path.join(BUILD, "bench", "libcalls.so")]
    best = {}
    for i in range(CALL_ROUNDS):
        for mode, program in (("process", [sys.executable]), ("interpreter", [GORGON, "run", "-n", "1"])):
            progress(f"calls {i + 1}/{CALL_ROUNDS}")
            result = subprocess.run([*program, *command], check=True, stdout=subprocess.PIPE, text=True)
            for name, ns in json.loads(result.stdout).items():
                best[mode, name] = min(ns, best.get((mode, name), ns))
    progress("")
    return [{"benchmark": "calls", "call": CALL_NAMES[name.split()[0]], "bytes": int(name.split()[1]), "ns": ns,
             "ratio": ns / best["process", name]} for (mode, name), ns in best.items() if mode == "interpreter"]


def print_calls(rows):
    print("Calls of the C library from a library in an interpreter: processor time as a multiple of that in python3")
    for row in rows:
        print(f"{row['call']:18} {row['bytes'] or '':>8} {row['ratio']:6.2f}")


BENCHMARKS = {"throws": (throws, print_throws), "listing": (listing, print_listing),
              "registering": (registering, print_registering), "load": (measure_load, lambda rows: print(load.tables(rows))),
              "isolate": (isolate, print_isolate),
              "symdump": (symdump, print_symdump), "executor": (measure_executor, lambda rows: print(executor.tables(rows))),
              "templates": (measure_templates, lambda rows: print(templates.tables(rows))),
              "arrays": (arrays, print_arrays), "interrupts": (interrupts, print_interrupts),
              "calls": (calls, print_calls),
              "record": (measure_record, lambda rows: print(record.tables(rows))),
              "memory": (measure_memory, lambda rows: print(memory.tables(rows))),
              "cluster": (measure_cluster, lambda rows: print(cluster.tables(rows)))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--report", metavar="FILE", help="write what load, executor, templates, memory or cluster came to as FILE.md, with load's plots beside it")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    unknown = set(args.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {' '.join(sorted(unknown))} (there are: {' '.join(BENCHMARKS)})")
    reports = {"load": load, "executor": executor, "templates": templates, "memory": memory, "cluster": cluster}
    if args.report and (len(args.names) != 1 or args.names[0] not in reports):
        parser.error("--report is of load, of executor, of templates, of memory, or of cluster")
    results = []
    for name in args.names or BENCHMARKS:
        measure, show = BENCHMARKS[name]
        rows = measure()
        results += rows
        if not args.json:
            show(rows)
            print()
        if args.report:
            reports[name].report(args.report, rows)
    if args.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
