#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generated programs, which have to print the same with pools of processes and with ours.

Each program runs in a forked child of this process, as the file that python3 would run, once for
each mode. What it prints is compared step by step: ours must be what fork's workers or spawn's
have printed, or what differences.py allows."""

import argparse
import collections
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
from generate import Program, operations  # noqa: E402

PEERS, THREAD = ["fork", "spawn"], "thread"
OURS = ["gorgon", "dask"]
LIMIT = 120  # seconds for one program
SURE = 3  # times that a difference is seen before it is one


class Job:
    """A program that runs in one mode."""

    def __init__(self, path, mode):
        self.path, self.mode = path, mode
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
        return time.monotonic() - self.started > LIMIT

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
                if match := re.match(r"(\d+ [^|]*|end)\|", line):
                    name = match[1]
                steps[name].append(line)
        with open(f"{self.output}.2", errors="replace") as file:
            errors = file.read().strip()
        late = " late" if self.ended else ""
        steps["end"].append(f"status {os.waitstatus_to_exitcode(status)}{late}")
        return dict(steps), errors


def run_all(pairs, count):
    """Run programs, some at once: yields (key, mode, steps, errors). @pairs: (key, path, mode)."""
    pairs, running = iter(pairs), {}
    more = True
    while more or running:
        while more and len(running) < count:
            try:
                key, path, mode = next(pairs)
            except StopIteration:
                more = False
                break
            job = Job(path, mode)
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
    """What differs between the modes of one program."""

    def __init__(self, program, results, allowed, modes):
        self.differences, self.like = [], collections.Counter()
        names = {step.name: step.operation.name for step in program.steps}
        for mode in modes:
            mine, errors = results[mode]
            for name, operation in [*names.items(), ("end", "end")]:
                if name not in mine and mode != "gorgon":
                    continue
                line = mine.get(name, [])
                peers = [peer for peer in PEERS if results[peer][0].get(name, []) == line]
                if peers:
                    if len(peers) == 1:
                        self.like[operation, peers[0], mode] += 1
                    continue
                others = {each: steps.get(name, []) for each, (steps, _) in results.items()}
                why = allowed.why(operation, line, others)
                if why:
                    self.like[operation, why, mode] += 1
                    continue
                shown = {each: others[each] for each in (*PEERS, mode)}
                self.differences.append((name, operation, mode, shown))
            if errors_in(errors) and not any(errors_in(results[peer][1]) for peer in PEERS):
                shown = {mode: errors.splitlines()}
                self.differences.append(("errors", "errors", mode, shown))


class Runner:
    def __init__(self, options):
        self.options, self.allowed = options, Differences(options.strict)
        self.folder = options.keep or tempfile.mkdtemp(prefix="gorgon-programs-")
        self.modes = options.modes

    def modes_of(self, program):
        """A pool of threads runs only what may be as there."""
        names = [step.operation.name for step in program.steps]
        is_like_thread = any(map(self.allowed.is_like_thread, names))
        return [*PEERS, *[THREAD] * is_like_thread, *self.modes]

    def run(self, programs):
        """Yields (program, {mode: (steps, errors)}) in the order in which they are done."""
        programs, results = dict(programs), {}

        def pairs():
            for key, program in programs.items():
                for mode in self.modes_of(program):
                    yield key, program.write(os.path.join(self.folder, str(key), mode)), mode

        for key, mode, *result in run_all(pairs(), self.options.jobs):
            results.setdefault(key, {})[mode] = result
            if len(results[key]) == len(self.modes_of(programs[key])):
                result = results.pop(key)
                yield key, programs[key], result
                if not self.options.keep:
                    shutil.rmtree(os.path.join(self.folder, str(key)), ignore_errors=True)

    def differences(self, program):
        """Of one program that runs alone."""
        for _, program, results in self.run({f"again-{program.seed}": program}):
            return Comparison(program, results, self.allowed, self.modes).differences
        return []

    def is_sure(self, program, operations):
        """Whether one of these differs each time."""
        return all(any(operation in operations for _, operation, *_ in self.differences(program))
                   for _ in range(SURE))

    def shrink(self, seed, operation):
        """The steps that it takes for an operation to differ."""
        steps = [step.number for step in Program(seed, names=self.options.only).steps]
        for number in list(steps):
            fewer = [each for each in steps if each != number]
            found = fewer and self.differences(Program(seed, fewer, self.options.only))
            if found and any(each == operation for _, each, *_ in found):
                steps = fewer
        return steps


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def names_of(text):
    return text.split(",")


def show(found):
    for _, _, _, lines in found:
        for mode, text in lines.items():
            for line in text or ["nothing"]:
                print(f"    {mode:8}{line[:500]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=seeds_of, default=range(1, 101), metavar="A-B")
    parser.add_argument("--modes", type=names_of, default=OURS[:1], metavar="MODE,...",
                        help=f"of {', '.join(OURS)}")
    parser.add_argument("--only", metavar="OPERATION,...", type=names_of,
                        help="programs of these operations alone")
    parser.add_argument("--steps", metavar="N,...", type=lambda text: [*map(int, names_of(text))],
                        help="only these steps of each program")
    parser.add_argument("--jobs", "-j", type=int, default=len(os.sched_getaffinity(0)))
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
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1",
                      PYTHONPATH=":".join([HERE, *sys.path[1:]]))
    # Programs find these loaded, in this process's forked children.
    for name in ("concurrent.futures.process", "multiprocessing.connection", "numpy", "pandas",
                 "scipy.sparse"):
        try:
            __import__(name)
        except ImportError:
            pass
    runner, like, failed, unsure, done, count = Runner(options), collections.Counter(), 0, 0, 0, 0
    programs = {seed: Program(seed, options.steps, options.only) for seed in options.seeds}
    started = time.monotonic()
    for seed, program, results in runner.run(programs):
        done, count = done + 1, count + len(program.steps)
        comparison = Comparison(program, results, runner.allowed, options.modes)
        found = comparison.differences
        if found and not runner.is_sure(program, {operation for _, operation, *_ in found}):
            unsure, found = unsure + 1, []
        like.update(comparison.like)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{done}/{len(programs)} programs, {failed} differ")
        if options.json:
            steps = [step.name for step in program.steps]
            print(json.dumps({"seed": seed, "steps": steps, "differences": found}), flush=True)
        if not found:
            continue
        failed += 1
        if options.json:
            continue
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
        print(f"seed {seed}: {', '.join(sorted({operation for _, operation, *_ in found}))}")
        show(found)
        if options.shrink:
            steps = runner.shrink(seed, found[0][1])
            numbers = ",".join(map(str, steps))
            print(f"    of steps {steps}: run.py --seeds {seed} --steps {numbers} --keep FOLDER")
        sys.stdout.flush()
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    if not options.json:
        for (operation, peer, mode), times in sorted(like.items()):
            print(f"{operation}: {mode} as {peer} ({times})")
        print(f"{done} programs, {count} operations, {failed} differ, {unsure} not at each try; "
              f"{time.monotonic() - started:.0f} s")
    if not options.keep:
        shutil.rmtree(runner.folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
