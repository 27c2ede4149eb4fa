# packages: llvmlite numba
import numba
import numpy


@numba.njit
def total(values):
    ret = 0.0
    for value in values:
        if value < 0:
            raise ValueError("negative")
        ret += value
    return ret


assert total(numpy.arange(1000.0)) == 499500
try:
    total(numpy.array([1.0, -1.0]))
except ValueError:
    pass
else:
    raise AssertionError("no exception came out of compiled code")
