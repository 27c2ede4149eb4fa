# packages: python3-faiss
import faiss
import numpy

vectors = numpy.random.default_rng(1).random((500, 16), dtype="float32")
index = faiss.IndexFlatL2(16)
index.add(vectors)
distances, places = index.search(vectors[:10], 3)
assert places[:, 0].tolist() == list(range(10)) and abs(distances[:, 0]).max() < 1e-4
graph = faiss.IndexHNSWFlat(16, 8)
graph.add(vectors)
assert graph.search(vectors[5:6], 1)[1].tolist() == [[5]]
try:
    faiss.index_factory(16, "nothing of the kind")
    raise AssertionError("no exception")
except RuntimeError:
    pass
