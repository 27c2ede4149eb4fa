# SPDX-License-Identifier: MIT
"""load: what a further copy of a library, and a further interpreter, cost beside what somebody would have instead.

Libraries (loading.c): the system's linker with a copy of the file, and with a link namespace; our strategy `copy`; our loader,
as it is by default and telling debuggers nothing. Lives (lives.c, peers.c): an interpreter that is created, runs a program and is
destroyed, with another one alive and without, and with the options for hosts that replace interpreters often; a process that is
started, and a forked one, with the same libpython; a subinterpreter. One after the other, and several at once.

The ways take turns within each round. A ratio is of the two in the same round; shown are its median and, as its spread, the
quarters that are below and above. Times are of the processor. ROUNDS=3 in the environment takes a third of the time."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time

import harness

BENCH = os.path.join(harness.BUILD, "bench")
COPIES = 8  # link namespaces at once; the C library has room for 11
ROUNDS = int(os.environ.get("ROUNDS", "9"))
NUMPY = f"/usr/lib/python3/dist-packages/numpy/{harness.NUMPY_CORE}/_multiarray_umath{harness.EXT_SUFFIX}"
LIBRARIES = {  # what is loaded, and what has to be there
    "libpython": (harness.LIBPYTHON, "-"),
    "numpy": (NUMPY, harness.LIBPYTHON),
    "libstdc++": ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "-"),
    "libcrypto": ("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "-"),
}
WAYS = ("dlopen", "dlmopen", "copy", "loader", "quiet")
LOAD_COLUMNS = ("cpu", "wall", "faults", "unload_cpu", "unload_wall", "unload_faults", "memory", "stays")
CODES = {"bare": "pass", "numpy": "import numpy"}
LIFE_COLUMNS = ("cpu", "wall", "faults")
# By number at once: how often in one process, of which the first time is not counted.
TIMES = {1: 6, 8: 3, 21: 2}
# A plain number of threads, as the machine's own differs from what an interpreter among many is told.
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1")


def lines_of(*command):
    """The numbers that a program prints."""
    output = subprocess.run([os.path.join(BENCH, command[0]), *map(str, command[1:])], check=True, capture_output=True,
                            text=True, env=ENVIRONMENT).stdout
    return [[float(word) for word in line.split()] for line in output.splitlines()]


def medians(lines, columns):
    return {name: statistics.median(values) for name, values in zip(columns, zip(*lines))}


def spread(values):
    """Median, lower and upper quarter."""
    values = sorted(values)
    return [round(value, 3) for value in (statistics.median(values), values[len(values) // 4], values[-1 - len(values) // 4])]


def row(found, way, peer, columns):
    """What a way came to: @found is {way: [figures of a round]}."""
    result = {name: statistics.median(figures[name] for figures in found[way]) for name in columns}
    ratios = [one["cpu"] / other["cpu"] for one, other in zip(found[way], found[peer])]
    return result | {"ratio": spread(ratios)}


def ways_of(first):
    """`copy` loads nothing into what is there."""
    return [way for way in WAYS if way != "copy" or first == "-"]


def load_round(name, folder):
    """{way: figures} of a library."""
    path, first = LIBRARIES[name]
    copies = [os.path.join(folder, f"{number}-{os.path.basename(path)}") for number in range(COPIES)]
    return {way: medians(lines_of("loading", way, path, first, *copies), LOAD_COLUMNS) for way in ways_of(first)}


def libraries(progress):
    rows = []
    for name, (path, first) in LIBRARIES.items():
        if not all(os.path.exists(file) for file in (path, first) if file != "-"):
            continue
        found = {way: [] for way in ways_of(first)}
        with tempfile.TemporaryDirectory() as folder:
            for number in range(COPIES):
                shutil.copy(path, os.path.join(folder, f"{number}-{os.path.basename(path)}"))
            os.sync()  # what is not on disk yet counts as dirty wherever it is mapped
            for number in range(ROUNDS):
                progress(f"load, {name}: {number}/{ROUNDS}")
                for way, figures in load_round(name, folder).items():
                    found[way].append(figures)
        rows += [{"benchmark": "load", "what": name, "way": way, **row(found, way, "dlopen", LOAD_COLUMNS)} for way in found]
    return rows


def life(way, at_once, code):
    """Figures of one process that has interpreters, or of one that starts processes."""
    times = TIMES[at_once]
    if way in ("alone", "kept", "quick"):
        lines = lines_of("lives", *(["-q"] if way == "quick" else []), int(way != "alone"), at_once, times, code)
    else:
        lines = lines_of("peers", way, at_once, times, harness.PYTHON3, code)
    return medians(lines[1:], LIFE_COLUMNS)


def lives(progress):
    rows = []
    for kind, code in CODES.items():
        for at_once in TIMES:
            ways = ["spawn", "fork", "kept", "quick", *(["alone"] if at_once == 1 else []),
                    *(["sub"] if (kind, at_once) == ("bare", 1) else [])]
            found = {way: [] for way in ways}
            for number in range(ROUNDS):
                progress(f"load, {kind}, {at_once} at once: {number}/{ROUNDS}")
                for way in ways:
                    found[way].append(life(way, at_once, code))
            rows += [{"benchmark": "load", "what": kind, "at_once": at_once, "way": way, **row(found, way, "spawn", LIFE_COLUMNS)}
                     for way in ways]
    return rows


def memory(progress):
    """Private dirty memory by further interpreter, from the 2nd to the 10th."""
    rows = []
    for kind, code in CODES.items():
        found = {"spawn": [], "kept": []}
        for number in range(5):
            progress(f"load, memory, {kind}: {number}/5")
            one, ten = (lines_of("lives", count, 1, 0, code)[0][0] for count in (1, 10))
            found["kept"].append((ten - one) / 9)
            found["spawn"].append(lines_of("peers", "spawn", 1, 0, harness.PYTHON3, code)[0][0])
        rows += [{"benchmark": "load", "what": f"{kind}, memory", "way": way, "memory": statistics.median(values),
                  "ratio": spread(one / other for one, other in zip(values, found["spawn"]))} for way, values in found.items()]
    return rows


def measure(progress):
    return libraries(progress) + lives(progress) + memory(progress)


# ---- what people read -----------------------------------------------------------------

NAMES = {"dlopen": "`dlopen` of a copy", "dlmopen": "`dlmopen`", "copy": "strategy `copy`", "loader": "our loader",
         "quiet": "our loader, debuggers off", "spawn": "a process", "fork": "a forked process", "sub": "a subinterpreter",
         "kept": "our interpreter", "alone": "ours, no other one alive", "quick": "ours, `GORGON_END_QUICK` and `large_arenas`"}


def ratio_cell(one):
    middle, low, high = one["ratio"]
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)])


def library_table(rows):
    head = ("library", "loaded by", "times `dlopen`", "ms", "ms of the wall", "faults", "unloading, ms", "private memory, KiB")
    return table(head, [(one["what"], NAMES[one["way"]], ratio_cell(one), f"{one['cpu'] / 1e6:.2f}", f"{one['wall'] / 1e6:.2f}",
                         f"{one['faults']:.0f}", "stays" if one["stays"] else f"{one['unload_cpu'] / 1e6:.2f}",
                         f"{one['memory'] / 1024:.0f}") for one in rows])


def life_table(rows):
    head = ("program", "at once", "who", "times a process", "ms", "ms of the wall", "faults")
    return table(head, [(one["what"], str(one["at_once"]), NAMES[one["way"]], ratio_cell(one), f"{one['cpu'] / 1e6:.1f}",
                         f"{one['wall'] / 1e6:.1f}", f"{one['faults']:.0f}") for one in rows])


def memory_table(rows):
    return table(("program", "who", "times a process", "MiB"),
                 [(one["what"].split(",")[0], NAMES[one["way"]], ratio_cell(one), f"{one['memory'] / 2**20:.2f}") for one in rows])


def tables(rows):
    """As in Markdown: the parts that were measured."""
    return "\n\n".join((
        "A further copy of a library, loaded and relocated while another one is there:",
        library_table([one for one in rows if "stays" in one]),
        "A further interpreter or process, from its creation to its end; times of the wall are divided by their number, too:",
        life_table([one for one in rows if "at_once" in one]),
        "Private dirty memory after the program, by interpreter from the 2nd to the 10th:",
        memory_table([one for one in rows if "memory" in one["what"]])))


def report(name, rows):
    """FILE.md."""
    told = subprocess.run([harness.PYTHON3, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    with open(f"{name}.md", "w") as file:
        file.write("# What copies and interpreters cost\n\n"
                   f"{time.strftime('%Y-%m-%d')}; {told}; {os.cpu_count()} processors. Made by `make bench TESTS=load "
                   "REPORT=tests/bench/LOAD`. Times are of the processor, ratios from one run in which the ways take turns: the median, "
                   f"and the quarters of the rounds.\n\n{tables(rows)}\n")
