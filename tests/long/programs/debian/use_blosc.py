# packages: python3-blosc
import blosc
import numpy

blosc.set_nthreads(2)
array = numpy.arange(100000, dtype="int64")
for name in ("blosclz", "lz4", "zlib", "zstd"):
    packed = blosc.pack_array(array, cname=name)
    assert len(packed) < array.nbytes / 10 and (blosc.unpack_array(packed) == array).all(), name
try:
    blosc.decompress(b"not that at all, no")
    raise AssertionError("no exception")
except blosc.blosc_extension.error:
    pass
