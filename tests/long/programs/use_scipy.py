# SPDX-License-Identifier: MIT
"""scipy: SVD, minimising a Python function, sparse solve, FFT, integration."""

import rounds

rounds.begin()

import numpy  # noqa: E402
from scipy import fft, integrate, linalg, optimize, sparse  # noqa: E402
from scipy.sparse.linalg import spsolve  # noqa: E402

random = numpy.random.default_rng(1)
a = random.standard_normal((60, 40))
u, s, vh = linalg.svd(a, full_matrices=False)
assert numpy.allclose(u * s @ vh, a)
found = optimize.minimize(lambda x: (x[0] - 3) ** 2 + (x[1] + 1) ** 2 + 5, [0, 0])
assert found.success and numpy.allclose(found.x, [3, -1], atol=1e-4) and abs(found.fun - 5) < 1e-8
assert abs(optimize.brentq(lambda x: x ** 3 - 2, 0, 2) - 2 ** (1 / 3)) < 1e-10


def fail(x):
    raise LookupError("from a callback")


try:
    integrate.quad(fail, 0, 1)
    raise AssertionError("no exception came through QUADPACK")
except LookupError as error:
    assert str(error) == "from a callback"
n = 500
matrix = sparse.diags([-1, 2.5, -1], [-1, 0, 1], shape=(n, n), format="csc")
x = spsolve(matrix, numpy.ones(n))
assert numpy.allclose(matrix @ x, 1)
wave = random.standard_normal(1024)
assert numpy.allclose(fft.irfft(fft.rfft(wave)), wave)
assert abs(integrate.quad(numpy.sin, 0, numpy.pi)[0] - 2) < 1e-12
rounds.done()
