# packages: python3-ncls
import ncls
import numpy

starts = numpy.array([1, 10, 20], dtype=numpy.int64)
lists = ncls.NCLS(starts, starts + 5, numpy.arange(3))
assert list(lists.find_overlap(4, 12)) == [(1, 6, 0), (10, 15, 1)], list(lists.find_overlap(4, 12))
