# SPDX-License-Identifier: MIT
"""load: what a further copy of a library, and a further interpreter, cost beside what somebody would have instead.

Libraries (loading.c): the system's linker with a copy of the file, and with a link namespace; our strategy `copy`; our loader,
as it is by default and telling debuggers nothing. A copy is unloaded before the next is loaded, and ours takes over pages of its
data; those that stay are measured as growth. Lives (lives.c, peers.c): an interpreter that is created, runs a program and is
destroyed, with another one alive and without, and with the options for hosts that replace interpreters often; a process that is
started, and a forked one, with the same libpython; a subinterpreter. One after the other, and several at once.

Work: what a program takes that computes, in one interpreter beside a process, and in two beside two. Growth: the 2nd to the
1,000th copy of libpython, and interpreter, that stays. System calls of a life are counted where strace is installed.

The ways take turns within each round. A ratio is of the two in the same round; shown are its median and, as its spread, the
quarters that are below and above. Times are of the processor. ROUNDS=3 in the environment takes a third of the time, GROWN=100
ends the growth there."""

import glob
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import curve
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
    "libpython, plug-ins between": (harness.LIBPYTHON, "-"),
}
# What the host opens before each copy is loaded, and closes before the next.
PLUGINS = {"libpython, plug-ins between": "libsqlite3.so.0"}
for torch in sorted(glob.glob("/usr/lib/x86_64-linux-gnu/libtorch_cpu.so*"))[:1]:
    LIBRARIES["libtorch"] = (torch, "-")
WAYS = ("dlopen", "dlmopen", "copy", "loader", "quiet")
LOAD_COLUMNS = ("cpu", "wall", "faults", "unload_cpu", "unload_wall", "unload_faults", "memory", "stays")
CODES = {"bare": "pass", "numpy": "import numpy"}
LIFE_COLUMNS = ("cpu", "wall", "faults")
MEMORY_KINDS = ("pages of libraries", "mapped, for arenas of CPython", "malloc() of CPython", "malloc() of extensions")
# By number at once: how often in one process, of which the first time is not counted.
TIMES = {1: 6, 8: 3, 21: 2}
# A fixed number of threads: an interpreter among many is told a smaller number than the machine's.
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1")
WORK = {"fib": "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\ndef work(): fib(29)",
        "numpy": "import numpy\na = numpy.arange(250000.0).reshape(500, 500) / 250000\nb = numpy.empty_like(a)\n"
                 "def work():\n for i in range(150):\n  numpy.sin(a, out=b); numpy.multiply(b, a, out=b); b.sort(axis=1)"}
TIMED = "{}\nimport sys, time\nwork()\nt, w = time.thread_time(), time.perf_counter()\nwork()\n" \
        "sys.stderr.write('%.0f %.0f\\n' % (1e9 * (time.thread_time() - t), 1e9 * (time.perf_counter() - w)))\n"
GROWN = int(os.environ.get("GROWN", "1000"))
STRETCHES = ((2, 10), (11, 30), (31, 100), (101, 300), (301, 1000))


def run(command, *before):
    return subprocess.run([*before, os.path.join(BENCH, command[0]), *map(str, command[1:])], check=True, capture_output=True,
                          text=True, env=ENVIRONMENT)


def numbers(output):
    return [[float(word) for word in line.split()] for line in output.splitlines()]


def lines_of(*command):
    """The numbers that a program prints."""
    return numbers(run(command).stdout)


def medians(lines, columns):
    return {name: statistics.median(values) for name, values in zip(columns, zip(*lines))}


def spread(values):
    """Median, lower and upper quarter."""
    values = sorted(values)
    return [round(value, 3) for value in (statistics.median(values), values[len(values) // 4], values[-1 - len(values) // 4])]


def row(found, way, peer, columns):
    """The figures of a way; @found is {way: [figures of a round]}."""
    result = {name: statistics.median(figures[name] for figures in found[way]) for name in columns}
    ratios = [one["cpu"] / other["cpu"] for one, other in zip(found[way], found[peer])]
    return result | {"ratio": spread(ratios)}


def ways_of(first):
    """The ways that are measured. `copy` cannot load a library beside another that has to be there first."""
    return [way for way in WAYS if way != "copy" or first == "-"]


def load_round(name, ways, folder):
    """{way: figures} of a library. A way that cannot load it several times is taken out of @ways, into {way: reason}."""
    path, first = LIBRARIES[name]
    copies = [os.path.join(folder, f"{number}-{os.path.basename(path)}") for number in range(COPIES)]
    figures, failed = {}, {}
    for way in list(ways):
        try:
            between = ["-o", PLUGINS[name]] if name in PLUGINS else []
            figures[way] = medians(lines_of("loading", *between, way, path, first, *copies), LOAD_COLUMNS)
        except subprocess.CalledProcessError as err:
            ways.remove(way)
            failed[way] = signal.Signals(-err.returncode).name if err.returncode < 0 else err.stderr.strip().rpartition("\n")[2] or f"status {err.returncode}"
    return figures, failed


def libraries(progress):
    rows = []
    for name, (path, first) in LIBRARIES.items():
        if not all(os.path.exists(file) for file in (path, first) if file != "-"):
            continue
        ways = ways_of(first)
        found, failed = {way: [] for way in ways}, {}
        rounds = min(ROUNDS, 3) if name == "libtorch" else ROUNDS  # its constructors take a second
        with tempfile.TemporaryDirectory() as folder:
            for number in range(COPIES):
                shutil.copy(path, os.path.join(folder, f"{number}-{os.path.basename(path)}"))
            os.sync()  # a page that is not on disk yet counts as dirty wherever it is mapped
            for number in range(rounds):
                progress(f"load, {name}: {number}/{rounds}")
                figures, newly_failed = load_round(name, ways, folder)
                failed |= newly_failed
                for way in figures:
                    found[way].append(figures[way])
        rows += [{"benchmark": "load", "what": name, "way": way, "failed": failed[way]} if way in failed else
                 {"benchmark": "load", "what": name, "way": way, **row(found, way, ways[0], LOAD_COLUMNS)} for way in found]
    return rows


def life(way, at_once, code):
    """Figures of a process that has interpreters, or of a process that starts processes."""
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
    """Private dirty memory by further interpreter, from the 2nd to the 10th. They have been started for calls, which imports
    threading: the process does so, too."""
    rows = []
    for kind, code in {**CODES, "bare": "import threading"}.items():
        found = {"spawn": [], "kept": []}
        lines = []
        for number in range(5):
            progress(f"load, memory, {kind}: {number}/5")
            one, ten = (lines_of("lives", count, 1, 0, code)[0] for count in (1, 10))
            found["kept"].append((ten[0] - one[0]) / 9)
            lines.append(ten[1:])
            found["spawn"].append(lines_of("peers", "spawn", 1, 0, harness.PYTHON3, code)[0][0])
        rows += [{"benchmark": "load", "what": f"{kind}, memory", "way": way, "memory": statistics.median(values),
                  "ratio": spread(one / other for one, other in zip(values, found["spawn"]))} for way, values in found.items()]
        rows.append({"benchmark": "load", "what": kind, "kinds": medians(lines, MEMORY_KINDS)})
    return rows


def calls_of(*command):
    """{name: how often} of the system calls of a program and its children."""
    with tempfile.NamedTemporaryFile("r") as counts:
        run(command, "strace", "-f", "-c", "-o", counts.name)
        lines = [line.split() for line in counts]
    return {words[-1]: int(words[3]) for words in lines if len(words) > 4 and words[3].isdigit() and words[-1] != "total"}


def calls(progress):
    """The system calls of one life, and which calls an interpreter makes most often in excess of a process."""
    rows = []
    for kind, code in CODES.items() if shutil.which("strace") else ():
        progress(f"load, system calls, {kind}")
        ways = {"spawn": lambda times: calls_of("peers", "spawn", 1, times, harness.PYTHON3, code),
                "kept": lambda times: calls_of("lives", 1, 1, times, code)}
        found = {}
        for way, count in ways.items():
            one, five = count(1), count(5)
            found[way] = {name: (five[name] - one.get(name, 0)) / 4 for name in five}
        more = {name: count - found["spawn"].get(name, 0) for name, count in found["kept"].items()}
        most = {name: more[name] for name in sorted(more, key=more.get, reverse=True)[:5] if more[name] >= 1}
        rows += [{"benchmark": "load", "what": f"{kind}, system calls", "way": way, "calls": sum(counts.values()),
                  "more": most if way == "kept" else {}} for way, counts in found.items()]
    return rows


def work(progress):
    """Of programs that time themselves."""
    rows = []
    for kind, code in WORK.items():
        program = TIMED.format(code)
        for at_once in (1, 2):
            found = {"spawn": [], "alone": []}
            for number in range(ROUNDS):
                progress(f"load, work, {kind}, {at_once} at once: {number}/{ROUNDS}")
                for way, command in (("spawn", ("peers", "spawn", at_once, 1, harness.PYTHON3, program)),
                                     ("alone", ("lives", 0, at_once, 1, program))):
                    found[way].append(medians(numbers(run(command).stderr), ("cpu", "wall")))
            rows += [{"benchmark": "load", "what": kind, "working": at_once, "way": way, **row(found, way, "spawn", ("cpu", "wall"))}
                     for way in found]
    return rows


def growth(progress):
    """What further copies or interpreters cost when they stay, by how many there are: medians of stretches, as ratios to
    the first stretch."""
    path, first = LIBRARIES["libpython"]
    programs = {"libpython": ("loading", "-k", "loader", path, first, *[path] * (GROWN - 1)),
                "libpython, debuggers off": ("loading", "-k", "quiet", path, first, *[path] * (GROWN - 1)),
                "interpreter": ("lives", "-k", GROWN, 1, 0, CODES["bare"])}
    rows = []
    for kind, command in programs.items():
        progress(f"load, growth, {kind}")
        times = [line[0] for line in lines_of(*command)]
        times = times if kind != "interpreter" else times[1:]  # loading.c prints nothing for its first copy
        found = [(low, min(high, GROWN), statistics.median(times[low - 2:high - 1])) for low, high in STRETCHES if low <= GROWN]
        rows.append({"benchmark": "load", "what": f"{kind}, growth", "stretches": found})
    return rows


def measure(progress):
    return libraries(progress) + lives(progress) + memory(progress) + calls(progress) + work(progress) + growth(progress)


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
    head = ("library", "loaded by", "times the first", "ms", "ms of the wall", "faults", "unloading, ms", "private memory, KiB")
    return table(head, [(one["what"], NAMES[one["way"]], f"cannot: {one['failed']}", *[""] * 5) if "failed" in one else
                        (one["what"], NAMES[one["way"]], ratio_cell(one), f"{one['cpu'] / 1e6:.2f}", f"{one['wall'] / 1e6:.2f}",
                         f"{one['faults']:.0f}", "stays" if one["stays"] else f"{one['unload_cpu'] / 1e6:.2f}",
                         f"{one['memory'] / 1024:.0f}") for one in rows])


def life_table(rows):
    head = ("program", "at once", "who", "times a process", "ms", "ms of the wall", "faults")
    return table(head, [(one["what"], str(one["at_once"]), NAMES[one["way"]], ratio_cell(one), f"{one['cpu'] / 1e6:.1f}",
                         f"{one['wall'] / 1e6:.1f}", f"{one['faults']:.0f}") for one in rows])


def memory_table(rows):
    return table(("program", "who", "times a process", "MiB"),
                 [(one["what"].split(",")[0], NAMES[one["way"]], ratio_cell(one), f"{one['memory'] / 2**20:.2f}") for one in rows])


def kinds_table(rows):
    return table(("program, KiB", *MEMORY_KINDS),
                 [(one["what"], *(f"{one['kinds'][name] / 1024:.0f}" for name in MEMORY_KINDS)) for one in rows])


def calls_table(rows):
    return table(("program", "who", "system calls", "most more than a process"),
                 [(one["what"].split(",")[0], NAMES[one["way"]], f"{one['calls']:.0f}",
                   ", ".join(f"{name} {count:.0f}" for name, count in one["more"].items())) for one in rows])


def work_table(rows):
    return table(("program", "at once", "who", "times a process", "ms", "ms of the wall"),
                 [(one["what"], str(one["working"]), NAMES[one["way"]], ratio_cell(one), f"{one['cpu'] / 1e6:.1f}",
                   f"{one['wall'] / 1e6:.1f}") for one in rows])


def growth_table(rows):
    stretches = [f"{low:,} to {high:,}" for low, high, _ in rows[0]["stretches"]]
    return table(("ms of each further", *stretches, "last beside first"),
                 [(one["what"].rpartition(",")[0], *(f"{time / 1e6:.2f}" for _, _, time in one["stretches"]),
                   f"{one['stretches'][-1][2] / one['stretches'][0][2]:.2f}") for one in rows])


def tables(rows):
    """As in Markdown: the parts that were measured."""
    return "\n\n".join((
        "A further copy of a library, loaded and relocated while another one is there; times are compared with the first way that can:",
        library_table([one for one in rows if "stays" in one or "failed" in one]),
        "A further interpreter or process, from its creation to its end; times of the wall are divided by their number, too:",
        life_table([one for one in rows if "at_once" in one]),
        "Private dirty memory after the program, by interpreter from the 2nd to the 10th; the bare ones have imported `threading`:",
        memory_table([one for one in rows if "memory" in one["what"]]),
        "What the 10th interpreter has of its own, by kind; a process has the same kinds, and the stack:",
        kinds_table([one for one in rows if "kinds" in one]),
        "System calls of one life:",
        calls_table([one for one in rows if "calls" in one]),
        "A program that computes, timed by itself:",
        work_table([one for one in rows if "working" in one]),
        "Copies and bare interpreters that stay, by how many there are:",
        growth_table([one for one in rows if "stretches" in one])))


def plot_growth(rows):
    lines = {one["what"].rpartition(",")[0]: [((low * high) ** 0.5, time / one["stretches"][0][2])
                                              for low, high, time in one["stretches"]] for one in rows}
    return curve.draw("The 2nd to the 1,000th", "processor time of each further one, times that of the 2nd to the 10th",
                      "how many there are", lines)


def plot_lives(rows):
    """Whole lives, over how many are at once."""
    lines = {}
    for one in rows:
        if one["way"] in ("kept", "quick"):
            name = f"{one['what']}{', quick end' if one['way'] == 'quick' else ''}"
            lines.setdefault(name, []).append((one["at_once"], one["ratio"][0]))
    return curve.draw("A whole life", "processor time, times that of a process", "interpreters at once", lines)


def report(name, rows):
    """FILE.md, FILE-lives.svg and FILE-growth.svg."""
    plots = {f"{name}-lives.svg": plot_lives([one for one in rows if "at_once" in one]),
             f"{name}-growth.svg": plot_growth([one for one in rows if "stretches" in one])}
    for path, plot in plots.items():
        with open(path, "w") as file:
            file.write(plot)
    images = "\n".join(f"![{path.rpartition('-')[2][:-4]}]({os.path.basename(path)})" for path in plots)
    told = subprocess.run([harness.PYTHON3, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    with open(f"{name}.md", "w") as file:
        file.write("# What copies and interpreters cost\n\n"
                   f"{time.strftime('%Y-%m-%d')}; {told}; {os.cpu_count()} processors. Made by `make bench TESTS=load "
                   "REPORT=tests/bench/LOAD`. Times are of the processor, ratios from one run in which the ways take turns: the median, "
                   f"and the quarters of the rounds.\n\n{images}\n\n{tables(rows)}\n")
