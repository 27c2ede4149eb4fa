# SPDX-License-Identifier: MIT
"""Random sessions of debuggers at Python lines (lines_random_driver.py), in programs of one and of
three interpreters, which they start or attach to."""

import itertools
import os
import sys
import tempfile

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from python_lines import PYTHONS  # noqa: E402

PROGRAM = os.path.join(HERE, "lines_random.py")
DRIVER = os.path.join(HERE, "lines_random_driver.py")


def described(folder, python, seed, steps, begin):
    """The environment in which a debugger finds what the driver is to do."""
    return harness.environment({"FOLDER": folder, "SEED": f"{seed}", "STEPS": f"{steps}", "PYTHON": python,
                                "PATH_OF_PROGRAM": PROGRAM, "BEGIN": begin})


def session(debugger, load, python, seed, steps, count=1, attached=False):
    """What a debugger of the harness says in a session. @load: its command that runs the driver."""
    with tempfile.TemporaryDirectory() as folder, described(folder, python, seed, steps, "continue" if attached else "run"):
        command = [harness.GORGON, "run", "-n", count, "--python-lines=on", f"--python={python}",
                   PROGRAM, os.path.join(folder, "begin"), os.path.join(folder, "end")]
        if not attached:
            return debugger([load, "continue"], *map(str, command))
        with harness.Background(*command, until=rf"(?s)(ready\n.*){{{count}}}") as program:
            return debugger([load], options=["-p", str(program.pid)])


def is_right(output, steps):
    return output.count("same\n") == steps + 1 and "differs: " not in output and "ended: " not in output


def difference(debugger, load, python, seed, steps, count, attached):
    """The end of what was said in a session in which something went wrong; empty: nothing did."""
    output = session(debugger, load, python, seed, steps, count, attached)
    right = output.count("answer ") == (0 if attached else count) and is_right(output, steps)
    return "" if right else output[-3000:]


class Sessions:
    """Debuggers' tests derive from this and have @debugger and @load of session()."""

    def test_some(self):
        """tests/long/lines.py has many."""
        for python, attached in itertools.product(PYTHONS, (False, True)):
            with self.subTest(python=python, attached=attached):
                self.assertEqual(difference(self.debugger, self.load, python, 1, 12, 3, attached), "")

    def test_debug_build(self):
        """It asserts what CPython keeps for events."""
        python = f"{harness.PYTHON}-dbg"
        if not os.path.exists(python):
            self.skipTest(f"no {python}")
        self.assertEqual(difference(self.debugger, self.load, python, 1, 12, 1, False), "")
