# SPDX-License-Identifier: MIT
"""What the interpreters of the debugger sessions run. Everything that a session looks at
differs from one interpreter to the other by its number.

The code that reads this file may set `wait`, seconds to stay in the second sleep."""

import time
from decimal import Decimal

import gorgon

me = gorgon.interpreter


def inner(depth):
    local = ["copy", me]
    # A removed entry of a set is marked by an object of which each libpython has its own.
    odd = {1, 2, 30 + me}
    odd.discard(1)
    Decimal(100 + me).is_nan()
    time.sleep(0.125 * (me + 1))  # where the sessions stop
    return local, odd, depth


inner(3)
if "wait" in globals():
    print("ready", me, flush=True)
    time.sleep(globals()["wait"])  # where attached sessions find them
