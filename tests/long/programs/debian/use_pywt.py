# packages: python3-pywt
import numpy
import pywt

signal = numpy.sin(numpy.arange(256) / 8)
parts = pywt.wavedec(signal, "db4", level=3)
assert numpy.allclose(pywt.waverec(parts, "db4"), signal) and len(parts) == 4
assert numpy.allclose(pywt.dwt([1.0, 1.0, 3.0, 3.0], "haar")[0], [2**0.5, 3 * 2**0.5])
assert "haar" in pywt.families() and pywt.cwt(signal, [1, 4], "morl")[0].shape == (2, 256)
try:
    pywt.Wavelet("no such")
except ValueError:
    pass
else:
    raise AssertionError("an unknown wavelet")
