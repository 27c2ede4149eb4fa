# packages: python3-erfa
import erfa
import numpy

assert sum(erfa.cal2jd(2000, 1, 1)) == 2451544.5
assert numpy.allclose(erfa.era00(2400000.5, [54388.0]), 0.4022837240028158)
try:
    erfa.cal2jd([2000, 2000], 13, 1)
    raise AssertionError("no exception")
except erfa.ErfaError as error:
    assert "month" in str(error)
