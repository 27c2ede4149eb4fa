# SPDX-License-Identifier: MIT
"""What the interpreters of recorded sessions run: a step of walk.cc each, one after the other, when all have
loaded what they need. A thread that has something to say to gdb keeps its recorder waiting for ever.

The code that reads this file sets `modules`, the folder of walk.so, `folder`, an empty one, and `count`."""

import os
import sys
import time

import gorgon

sys.path.insert(0, modules)  # noqa: F821
import walk  # noqa: E402

me = gorgon.interpreter


def tell(what):
    open(os.path.join(folder, f"{what} {me}"), "w").close()  # noqa: F821


def wait_for(what, interpreter):
    while not os.path.exists(os.path.join(folder, f"{what} {interpreter}")):  # noqa: F821
        time.sleep(0.01)


walk.go(0)  # from now on its thread-local variables are there
tell("loaded")
for interpreter in range(count):  # noqa: F821
    wait_for("loaded", interpreter)
if me:
    wait_for("walked", me - 1)
walk.go(me + 1)
tell("walked")
