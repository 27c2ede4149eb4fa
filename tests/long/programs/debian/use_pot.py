# packages: python3-pot
import numpy
import ot

cost = numpy.array([[0.0, 1.0], [1.0, 0.0]])
plan = ot.emd([0.5, 0.5], [0.25, 0.75], cost)
assert numpy.allclose(plan, [[0.25, 0.25], [0.0, 0.5]]), plan
assert abs(ot.emd2_1d(numpy.array([0.0, 1.0]), numpy.array([1.0, 2.0])) - 1.0) < 1e-12
