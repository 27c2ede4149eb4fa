# packages: python3-pyfftw
import numpy
import pyfftw

numbers = pyfftw.empty_aligned(64, dtype="complex128")
transform = pyfftw.builders.fft(numbers, threads=2)
numbers[:] = numpy.exp(2j * numpy.pi * 5 * numpy.arange(64) / 64)
result = transform()
assert abs(result[5] - 64) < 1e-9 and abs(result).sum() - 64 < 1e-9
assert numpy.allclose(pyfftw.interfaces.numpy_fft.ifft(result), numbers)
wisdom = pyfftw.export_wisdom()
assert all(pyfftw.import_wisdom(wisdom)[:2])
