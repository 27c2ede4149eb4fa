# packages: python3-numcodecs
import numcodecs
import numpy

numbers = numpy.arange(10000, dtype="i4") // 8
for codec in (numcodecs.Blosc("zstd", 5), numcodecs.LZ4(), numcodecs.Zstd(3), numcodecs.Zlib(1)):
    packed = codec.encode(numbers)
    assert len(packed) < 30000 and numpy.array_equal(numpy.frombuffer(codec.decode(packed), "i4"), numbers), codec
texts = numcodecs.VLenUTF8().encode(numpy.array(["a", "bc"], object))
assert numcodecs.VLenUTF8().decode(texts).tolist() == ["a", "bc"]
try:
    numcodecs.Blosc().decode(b"x" * 40)
except RuntimeError:
    pass
else:
    raise AssertionError("decoded garbage")
