#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generated programs, which have to print the same with pools of processes and with ours.

Programs of one family (generate.py) are one file, which runs in a forked child of this process as
python3 would run it, once for each mode. What it prints is compared step by step: ours must be
what fork's workers or spawn's have printed, or what differences.py allows. Spawn's and threads run
only the steps in which fork's have printed something else."""

import argparse
import collections
import itertools
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from differences import Differences  # noqa: E402
from generate import FAMILY, Files, Program, operations  # noqa: E402

PEERS = ["fork", "spawn"]
# With what else they are compared.
OURS = {"gorgon": [], "copies": [], "cpool-copies": [], "dask": ["dask-fork"], "joblib": ["loky"], "cpool": [], "cluster": ["dask-cluster"]}
# What a host may do with these signals before it has pools.
SIGNALS = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM, signal.SIGWINCH, signal.SIGURG, signal.SIGQUIT,
           signal.SIGPIPE, signal.SIGCONT, signal.SIGPROF, signal.SIGVTALRM, signal.SIGXFSZ, signal.SIGTSTP, signal.SIGRTMIN)
HOSTS = {"ignores": signal.SIG_IGN, "handles": lambda number, frame: None}
LIMIT, EACH = 120, 10  # seconds for programs of one file, and for each of them
SURE = 3  # times that a difference is seen before it is one


class Job:
    """A program that runs in one mode."""

    def __init__(self, path, mode, limit):
        self.path, self.mode, self.limit = path, mode, limit
        self.output = os.path.join(os.path.dirname(path), "output")
        self.started, self.ended = time.monotonic(), False
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            try:
                self.live()
            finally:
                os._exit(9)

    def live(self):
        """The child: it becomes the program, and ends as python3 does."""
        os.setsid()
        for number in (1, 2):
            file = os.open(f"{self.output}.{number}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
            os.close(file)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.closerange(3, 64)
        os.chdir(os.path.dirname(self.path))
        sys.argv[:] = [self.path, self.mode]
        sys.path[0] = os.path.dirname(self.path)
        main = sys.modules["__main__"] = sys.modules["__mp_main__"] = types.ModuleType("__main__")
        main.__file__, main.__builtins__ = self.path, __builtins__
        status = 1
        try:
            with open(self.path) as file:
                exec(compile(file.read(), self.path, "exec"), vars(main))
            status = 0
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        import atexit
        import threading
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(status)

    def is_late(self):
        return time.monotonic() - self.started > self.limit

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def read(self, status):
        """What it has printed, by step."""
        steps = collections.defaultdict(list)
        with open(f"{self.output}.1", errors="replace") as file:
            name = ""
            for line in file.read().splitlines():
                if match := re.match(r"(\d+\.\d+ [^|]*|end)\|", line):
                    name = match[1]
                steps[name].append(line)
        with open(f"{self.output}.2", errors="replace") as file:
            errors = file.read().strip()
        late = " late" if self.ended else ""
        steps["end"].append(f"status {os.waitstatus_to_exitcode(status)}{late}")
        return dict(steps), errors


def run_all(pairs, count):
    """Run files, some at once: yields (key, mode, steps, errors). @pairs: (key, path, mode,
    seconds that it may take)."""
    pairs, running = iter(pairs), {}
    more = True
    while more or running:
        while more and len(running) < count:
            try:
                key, *rest = next(pairs)
            except StopIteration:
                more = False
                break
            job = Job(*rest)
            running[job.pid] = key, job
        if not running:
            break
        # Each by its number: others may run meanwhile, to see a difference again.
        looks = (os.waitpid(pid, os.WNOHANG) for pid in running)
        ended = next((found for found in looks if found[0]), None)
        if not ended:
            for _, job in running.values():
                if job.is_late() and not job.ended:
                    job.ended = True
                    job.kill()
            time.sleep(0.005)
            continue
        pid, status = ended
        key, job = running.pop(pid)
        job.kill()  # what it has left behind
        yield key, job.mode, *job.read(status)


def errors_in(text):
    """Lines of a program's errors that say something went wrong."""
    return re.findall(r"(?m)^(?:\w*(Error|Exception)\b|Traceback|Fatal|gorgon|\S.*Warning:)", text)


class Comparison:
    """What differs between the modes of the programs of a file: (step, operation, mode, lines by
    mode). @results: by mode, of some of the programs in modes that are asked about few."""

    def __init__(self, files, results, allowed, modes):
        self.differences, self.like = [], collections.Counter()
        self.results, self.allowed = results, allowed
        for mode in modes:
            for step in files.steps:
                self.compare(step.name, step.operation.name, mode)
            self.compare("end", "end", mode)
            errors = {each: results[each][1] for each in (mode, "fork", *OURS[mode])}
            mine = errors.pop(mode)
            if errors_in(mine) and not any(map(errors_in, errors.values())):
                shown = {mode: mine.splitlines()}
                self.differences.append(("errors", "errors", mode, shown))

    def compare(self, name, operation, mode):
        if name not in self.results[mode][0] and mode not in ("gorgon", "copies"):
            return
        lines = {each: steps[name] for each, (steps, _) in self.results.items() if name in steps}
        lines = {"fork": [], mode: [], **lines}
        why = self.allowed.why(operation, mode, lines, OURS[mode])
        if not why:
            shown = {each: lines[each] for each in (*PEERS, *OURS[mode], mode) if each in lines}
            self.differences.append((name, operation, mode, shown))
        elif why != "fork":
            self.like[operation, why, mode] += 1


class Runner:
    def __init__(self, options):
        self.options, self.allowed = options, Differences(options.strict)
        self.folder = options.keep or tempfile.mkdtemp(prefix="gorgon-programs-")
        self.modes = options.modes
        self.first = ["fork", *(peer for mode in self.modes for peer in OURS[mode]), *self.modes]

    def run(self, all_files, modes):
        """Yields (Files, {mode: (steps, errors)}) in the order in which they are done. @all_files:
        {name of a folder: Files}."""
        results = {}

        def pairs():
            for key, files in all_files.items():
                for mode in modes:
                    path = files.write(os.path.join(self.folder, str(key), mode))
                    yield key, path, mode, LIMIT + EACH * len(files.programs)

        for key, mode, *result in run_all(pairs(), self.options.jobs):
            results.setdefault(key, {})[mode] = result
            if len(results[key]) == len(modes):
                yield all_files[key], results.pop(key)
                if not self.options.keep:
                    shutil.rmtree(os.path.join(self.folder, str(key)), ignore_errors=True)

    def compare(self, files, results):
        """Threads and spawn's workers are asked about steps that are still to be explained."""
        comparison = Comparison(files, results, self.allowed, self.modes)
        for mode in "thread", "spawn":
            wanted = {step for step, operation, *_ in comparison.differences
                      if mode == "spawn" or self.allowed.is_like_thread(operation)}
            programs = files.programs
            if "end" not in wanted:
                steps = {step.id for step in files.steps if step.name in wanted}
                programs = self.fewer(programs, steps)
            if programs:
                asked = {f"{mode}-{programs[0].seed}": Files(programs)}
                for _, more in self.run(asked, [mode]):
                    results.update(more)
                comparison = Comparison(files, results, self.allowed, self.modes)
        return comparison

    def fewer(self, programs, steps):
        made = [Program(each.seed, steps, self.options.only) for each in programs]
        return [each for each in made if each.steps]

    def again(self, programs):
        files = Files(programs)
        for _, results in self.run({"again": files}, self.first):
            return self.compare(files, results).differences
        return []

    def is_sure(self, programs, wanted):
        """Whether one of these differs each time."""
        return all(any((step, mode) in wanted for step, _, mode, _ in self.again(programs))
                   for _ in range(SURE))

    def confirm(self, files, found):
        """[(programs that it takes, their differences)]."""
        confirmed, seeds = [], {step.name: step.seed for step in files.steps}
        for seed in dict.fromkeys(seeds.get(step) for step, *_ in found):
            mine = [each for each in found if seeds.get(each[0]) == seed]
            wanted = {(step, mode) for step, _, mode, _ in mine}
            for programs in ([each for each in files.programs if each.seed == seed],
                             files.programs):
                if programs and self.is_sure(programs, wanted):
                    confirmed.append((programs, mine))
                    break
        return confirmed

    def shrink(self, programs, difference):
        """Identifiers of the steps that it takes for a step to differ."""
        def differs(steps):
            found = self.again(self.fewer(programs, steps))
            return any((step, mode) == (difference[0], difference[2]) for step, _, mode, _ in found)

        steps = [step.id for each in programs for step in each.steps]
        size = len(steps) // 2
        while size:
            for start in reversed(range(0, len(steps), size)):
                fewer = steps[:start] + steps[start + size:]
                if fewer and differs(fewer):
                    steps = fewer
            size //= 2
        return steps


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def names_of(text):
    return text.split(",")


def seeds_as_text(programs):
    return "-".join(dict.fromkeys(str(each.seed) for each in (programs[0], programs[-1])))


def found_as_json(found):
    return [{"seeds": seeds_as_text(group), "differences": each} for group, each in found]


def show(found):
    for _, _, _, lines in found:
        for mode, text in lines.items():
            for line in text or ["nothing"]:
                print(f"    {mode:8}{line[:500]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=seeds_of, default=range(1, 101), metavar="A-B")
    parser.add_argument("--modes", type=names_of, default=["gorgon"], metavar="MODE,...",
                        help=f"of {', '.join(OURS)}")
    parser.add_argument("--only", metavar="OPERATION,...", type=names_of,
                        help="programs of these operations alone")
    parser.add_argument("--steps", metavar="N,...", type=names_of,
                        help="only these steps, as 7.0,7.3 (SEED.STEP)")
    parser.add_argument("--jobs", "-j", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--host", choices=HOSTS, help="what the program does with signals before all else")
    parser.add_argument("--keep", metavar="FOLDER", help="where programs and what they print stay")
    parser.add_argument("--strict", action="store_true", help="no difference is allowed")
    parser.add_argument("--shrink", action="store_true",
                        help="find the steps that a difference takes")
    parser.add_argument("--json", action="store_true", help="a line for each program")
    options = parser.parse_args()
    for name in options.only or ():
        if name not in operations():
            parser.error(f"no operation {name!r}")
    for name in options.modes:
        if name not in OURS:
            parser.error(f"no mode {name!r}, expected of {', '.join(OURS)}")
    # A shell ignores it in what it starts in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in SIGNALS if options.host else ():
        signal.signal(number, HOSTS[options.host])
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1",
                      PYTHONPATH=":".join([HERE, *sys.path[1:]]))
    # Programs find these loaded, in this process's forked children.
    for name in ("concurrent.futures.process", "multiprocessing.connection", "numpy", "pandas",
                 "scipy.sparse"):
        try:
            __import__(name)
        except ImportError:
            pass
    programs = [Program(seed, options.steps, options.only) for seed in options.seeds]
    programs = [program for program in programs if program.steps]
    families = itertools.groupby(programs, lambda program: program.seed // FAMILY)
    families = {f"family-{number}": Files([*group]) for number, group in families}
    runner, like, failed, unsure, done = Runner(options), collections.Counter(), 0, 0, 0
    started = time.monotonic()
    for files, results in runner.run(families, runner.first):
        done += len(files.programs)
        comparison = runner.compare(files, results)
        found = runner.confirm(files, comparison.differences)
        unsure += len(comparison.differences) - sum(len(each) for _, each in found)
        like.update(comparison.like)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{done}/{len(programs)} programs, {failed} differ")
        if options.json:
            print(json.dumps({"seeds": [each.seed for each in files.programs],
                              "steps": len(files.steps), "differences": found_as_json(found)}),
                  flush=True)
        failed += len(found)
        if options.json:
            continue
        if found and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        for group, differences in found:
            print(f"{seeds_as_text(group)}: {', '.join(sorted({each[1] for each in differences}))}")
            show(differences)
            if options.shrink:
                steps = ",".join(runner.shrink(group, differences[0]))
                print(f"    by run.py --seeds {seeds_as_text(group)} --steps {steps} --keep FOLDER")
        sys.stdout.flush()
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    if not options.json:
        for (operation, peer, mode), times in sorted(like.items()):
            print(f"{operation}: {mode} as {peer} ({times})")
        count = sum(len(files.steps) for files in families.values())
        print(f"{done} programs, {count} operations, {failed} differ, {unsure} steps not at each "
              f"try; {time.monotonic() - started:.0f} s")
    if not options.keep:
        shutil.rmtree(runner.folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
