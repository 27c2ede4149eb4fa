# packages: numpy
import numpy

rng = numpy.random.default_rng(7)
a = rng.random((60, 60)) + 60 * numpy.eye(60)
x = numpy.linalg.solve(a, a @ numpy.arange(60.0))
assert numpy.allclose(x, numpy.arange(60.0))
assert numpy.allclose(numpy.fft.ifft(numpy.fft.fft(a[0])).real, a[0])
