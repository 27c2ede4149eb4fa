# packages: python3-fastcluster python3-scipy
import fastcluster
import numpy

points = numpy.array([[0.0], [1.0], [10.0], [11.5]])
tree = fastcluster.linkage(points, "single")
assert tree[:, 2].tolist() == [1.0, 1.5, 9.0] and tree[:, 3].tolist() == [2, 2, 4]
assert numpy.allclose(fastcluster.linkage_vector(points, "single"), tree)
