# SPDX-License-Identifier: MIT
"""Globals of `__main__` by their history, beside fork's and spawn's process pool: who has set a name, and when."""

import os
import sys
import textwrap

sys.path.insert(0, os.path.dirname(__file__))
from test_executor_values import Beside  # noqa: E402

# What the file sets is "S", the main block "M", an initialiser "I", a worker "W". Each case has a process of its own.
PROGRAM = """
import dataclasses
NAME, TABLE, MISSING = "S", {"a": "S"}, object()
@dataclasses.dataclass
class Job:
    n: int
    other: object = MISSING
    def run(self):
        return NAME, TABLE["a"]
    def set(self):
        global NAME
        NAME = TABLE["a"] = "W"
    def is_missing(self):
        return self.other is MISSING
    def made(self):
        return Job(1).is_missing()
def load(job): return job.n
def work(*args): return NAME, TABLE["a"]
def put(*args):
    global NAME
    NAME = TABLE["a"] = "W"
def is_missing(*args):
    return Job(1).other is MISSING
def init():
    global NAME
    NAME = TABLE["a"] = "I"
def init_other():
    global OTHER
    OTHER = "I"
def other(): return OTHER
def outer():
    def inner(*args): return NAME, TABLE["a"]
    return inner
class Callable:
    def __call__(self): return NAME, TABLE["a"]
def show(*values): print(*values)
def ask(function, *args): return pool.submit(function, *args).result()
def change():
    global NAME
    NAME = TABLE["a"] = "M"
if __name__ == "__main__":
    for name, body in CASES.items():
        print(name, flush=True)
        child = os.fork()
        if not child:
            exec(body)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
"""

FILE, MAIN, INIT, WORKER = (repr((letter, letter)) for letter in "SMIW")

# By name: the main block, and what fork's workers, spawn's and ours print.
CASES = {
    "file, function first": ("with Pool(1) as pool: show(ask(work))", FILE, FILE, FILE),
    "file, class first": ("with Pool(1) as pool: show(ask(load, Job(1)), ask(work))", *[f"1 {FILE}"] * 3),
    "main block, function first": ("""
        change()
        with Pool(1) as pool: show(ask(work))""", MAIN, FILE, MAIN),
    "main block, class first": ("""
        change()
        with Pool(1) as pool: show(ask(load, Job(1)), ask(work))""", f"1 {MAIN}", f"1 {FILE}", f"1 {MAIN}"),
    "main block, class and function at once": ("""
        change()
        with Pool(1) as pool: show(ask(work, Job(1)))""", MAIN, FILE, MAIN),
    "main block, lambda after a class": ("""
        change()
        with Pool(1) as pool: show(ask(load, Job(1)), ask(outer()) if sys.argv[1] == "gorgon" else work())""",
                                         f"1 {MAIN}", f"1 {MAIN}", f"1 {MAIN}"),
    "main block, nested function": ("""
        change()
        with Pool(1) as pool: show(ask(outer()) if sys.argv[1] == "gorgon" else work())""", MAIN, MAIN, MAIN),
    # A class goes as its name, and nobody looks for what its methods use: they see the file's values, as with spawn.
    "main block, method": ("""
        change()
        with Pool(1) as pool: show(ask(Job(1).run))""", MAIN, FILE, FILE),
    "main block, method after a function": ("""
        change()
        with Pool(1) as pool: show(ask(work), ask(Job(1).run))""", f"{MAIN} {MAIN}", f"{FILE} {FILE}", f"{MAIN} {MAIN}"),
    "main block, instance that is called": ("""
        change()
        with Pool(1) as pool: show(ask(Callable()))""", MAIN, FILE, FILE),
    "initialiser, function first": ("with Pool(1, initializer=init) as pool: show(ask(work))", INIT, INIT, INIT),
    "initialiser, class first": ("with Pool(1, initializer=init) as pool: show(ask(load, Job(1)), ask(work))",
                                 *[f"1 {INIT}"] * 3),
    "initialiser, method": ("with Pool(1, initializer=init) as pool: show(ask(Job(1).run))", INIT, INIT, INIT),
    "initialiser after the main block": ("""
        change()
        with Pool(1, initializer=init) as pool: show(ask(load, Job(1)), ask(work), ask(Job(1).run))""",
                                         *[f"1 {INIT} {INIT}"] * 3),
    "initialiser of another name": ("with Pool(1, initializer=init_other) as pool: show(ask(load, Job(1)), ask(other))",
                                    *["1 I"] * 3),
    "earlier call, function": ("with Pool(1) as pool: show(ask(put), ask(work), ask(Job(1).run))", *[f"None {WORKER} {WORKER}"] * 3),
    "earlier call, class first": ("with Pool(1) as pool: show(ask(load, Job(1)), ask(put), ask(work))", *[f"1 None {WORKER}"] * 3),
    "earlier call, method": ("with Pool(1) as pool: show(ask(Job(1).set), ask(Job(1).run), ask(work))",
                             *[f"None {WORKER} {WORKER}"] * 3),
    # Processes do not see what a program changes once they run; a call of ours sees the program's at the time of submit().
    "rebinding between calls": ("""
        with Pool(1) as pool:
            show(ask(work))
            change()
            show(ask(work))""", f"{FILE}\n{FILE}", f"{FILE}\n{FILE}", f"{FILE}\n{MAIN}"),
    "rebinding after a worker's change": ("""
        with Pool(1) as pool:
            show(ask(put), ask(work))
            change()
            show(ask(work))""", f"None {WORKER}\n{WORKER}", f"None {WORKER}\n{WORKER}", f"None {WORKER}\n{MAIN}"),
    "rebinding after a class": ("""
        with Pool(1) as pool:
            show(ask(load, Job(1)))
            change()
            show(ask(work))""", f"1\n{FILE}", f"1\n{FILE}", f"1\n{MAIN}"),
    # What a file makes and compares by identity stays what the file has made.
    "identity, function first": ("with Pool(1) as pool: show(ask(is_missing), ask(Job(1).made), ask(is_missing))", *["True True True"] * 3),
    "identity, class first": ("with Pool(1) as pool: show(ask(Job.made, Job(1)), ask(is_missing), ask(Job(1).made))", *["True True True"] * 3),
}


class History(Beside):
    def test_workers_see_what_is_said(self):
        cases = {name: textwrap.dedent(body) for name, (body, *_) in CASES.items()}
        kinds = "fork", "spawn", "gorgon"
        outputs = self.run_beside(PROGRAM.replace("CASES", repr(cases)), kinds)
        for place, kind in enumerate(kinds, 1):
            expected = "".join(f"{name}\n{case[place]}\n" for name, case in CASES.items())
            self.assertEqual(outputs[kind].splitlines(), expected.splitlines())
