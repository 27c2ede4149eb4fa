# SPDX-License-Identifier: MIT
"""What the interpreters of the walk run: a step on the main thread and a step on a second thread, each with a number of
its own. walk.cc prints what a debugger must show of these steps.

The code that reads this file sets `modules`, the folder of walk.so; it may set `wait`, seconds
that both threads stay in their steps, and `with_numpy`."""

import sys
import threading

import gorgon

sys.path.insert(0, modules)  # noqa: F821
import walk  # noqa: E402

seconds = globals().get("wait", 0)
number = gorgon.interpreter + 1

if "with_numpy" in globals():
    import numpy
    print(f"numpy: interp {gorgon.interpreter} sum {numpy.arange(10 * number).sum()}", flush=True)


def second(count):
    return walk.go(10 * count, seconds)  # the second thread's line


thread = threading.Thread(target=second, args=(number,))
if seconds:
    thread.start()
walk.go(number, seconds)  # the main thread's line
if not seconds:
    thread.start()
thread.join()
