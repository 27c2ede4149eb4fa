# SPDX-License-Identifier: MIT
"""What the interpreters of the numba sessions run: each compiles a function of which the name ends
with the interpreter's number."""

import sys

import gorgon
import numba

me = gorgon.interpreter


def sum_of(count, more):
    total = 0
    for k in range(count):  # where the sessions stop
        total += k * k + more
    return total


sum_of.__name__ = sum_of.__qualname__ = f"sum_of_{me}"
sys.stdout.write(f"answer {me} {numba.njit(sum_of)(10, me)}\n")
