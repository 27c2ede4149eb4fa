# packages: python3-freesasa
import math

import freesasa

result = freesasa.calcCoord([0, 0, 0, 100, 0, 0], [1.6, 2.0])
expected = 4 * math.pi * (3.0 ** 2 + 3.4 ** 2)  # with a probe of 1.4
assert abs(result.totalArea() - expected) < 1e-3 * expected, result.totalArea()
freesasa.setVerbosity(freesasa.nowarnings)
try:
    freesasa.calcCoord([0, 0], [1])
    raise AssertionError("no exception")
except AssertionError as error:
    assert "no exception" not in str(error)
