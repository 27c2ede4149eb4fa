# packages: python3-numba
import threading

import numba
import numpy


@numba.njit
def total(a):
    result = 0.0
    for value in a:
        result += value * value
    return result


@numba.njit(parallel=True)
def double(a):
    for i in numba.prange(a.size):
        a[i] *= 2


@numba.vectorize(["float64(float64, float64)"])
def hypotenuse(a, b):
    return (a * a + b * b) ** 0.5


@numba.njit
def fails(i):
    if i > 2:
        raise ValueError("too large")
    return i


numbers = numpy.arange(1000.0)
assert total(numbers) == 332833500.0
double(numbers)
assert numbers[-1] == 1998.0 and hypotenuse(3.0, 4.0) == 5.0
thread = threading.Thread(target=double, args=(numbers,))
thread.start()
thread.join()
assert numbers[1] == 4.0
try:
    fails(3)
except ValueError as error:
    assert str(error) == "too large"
else:
    raise AssertionError("no exception")
