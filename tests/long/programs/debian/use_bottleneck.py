# packages: python3-bottleneck
import bottleneck
import numpy

array = numpy.array([[1.0, numpy.nan, 3.0], [4.0, 5.0, 6.0]])
assert bottleneck.nansum(array) == 19.0 and bottleneck.nanmedian(array) == 4.0
assert bottleneck.move_mean(array[1], 2)[1:].tolist() == [4.5, 5.5]
assert bottleneck.rankdata(array[1]).tolist() == [1, 2, 3]
