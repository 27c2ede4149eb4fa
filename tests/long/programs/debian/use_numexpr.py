# packages: python3-numexpr
import numexpr
import numpy

a = numpy.arange(1e6)
numexpr.set_num_threads(2)
assert numexpr.evaluate("sum(2 * a + 1)") == 1e12
assert numpy.allclose(numexpr.evaluate("sin(a) ** 2 + cos(a) ** 2"), 1.0)
try:
    numexpr.evaluate("missing + 1")
except KeyError:
    pass
else:
    raise AssertionError("evaluated a missing name")
