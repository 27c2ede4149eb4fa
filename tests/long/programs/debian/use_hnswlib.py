# packages: python3-hnswlib
import tempfile

import hnswlib
import numpy

folder = tempfile.mkdtemp(dir=".")
points = numpy.random.default_rng(0).random((2000, 16), numpy.float32)
index = hnswlib.Index("l2", 16)
index.init_index(2000, ef_construction=100, M=16)
index.set_num_threads(2)
index.add_items(points)
labels, distances = index.knn_query(points[:100], k=1)
assert (labels[:, 0] == numpy.arange(100)).mean() > 0.95 and index.get_current_count() == 2000
index.save_index(folder + "/index")
try:
    index.add_items(points)
except RuntimeError as error:
    assert "exceeds" in str(error), error
else:
    raise AssertionError("more than there is room for")
