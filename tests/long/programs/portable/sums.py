# SPDX-License-Identifier: MIT
"""What the programs of this folder compute, with numpy. Interpreters of CPython's own cannot load it: where ARRAYS is "optional"
in the environment, they compute without."""

import os

try:
    import numpy
except ImportError:
    if os.environ.get("ARRAYS") != "optional":
        raise
    numpy = None


def norm(numbers):
    """The sum of squares of integers."""
    if numpy:
        array = numpy.asarray(numbers, dtype=numpy.int64)
        return int(array @ array)
    return sum(n * n for n in numbers)


def mean(view):
    """The mean of bytes, rounded down."""
    if numpy:
        return int(numpy.frombuffer(view, numpy.uint8).mean())
    return sum(view) // len(view)


def raise_by(view, step):
    """Add to each byte where it lies."""
    if numpy:
        numpy.frombuffer(view, numpy.uint8)[:] += numpy.uint8(step)
        return
    for i, byte in enumerate(view):
        view[i] = byte + step
