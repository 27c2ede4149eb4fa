# packages: python3-numpy
import numpy

a = numpy.arange(6.0).reshape(2, 3)
assert (a @ a.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
