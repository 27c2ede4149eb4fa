# SPDX-License-Identifier: MIT
"""What the interpreters of the numba sessions run: each compiles a function of which the name ends
with the interpreter's number. The code that reads this file may set `stay`: then another never returns."""

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


def stay_here(number):
    total = 0
    while number >= 0:
        total += number & total
        number = 0 if number > 1 << 40 else number + 1
    return total


def stay_below():
    numba.njit(nogil=True)(stay_here)(me)


if "stay" in globals():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    stay_below()
