# packages: python3-pykdtree
import numpy
from pykdtree.kdtree import KDTree

points = numpy.random.default_rng(0).random((5000, 3))
distance, index = KDTree(points).query(points[:1000], k=2)
assert (index[:, 0] == numpy.arange(1000)).all() and (distance[:, 0] == 0).all() and (distance[:, 1] > 0).all()
