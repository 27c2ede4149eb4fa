# packages: python3-snappy
import snappy

packed = snappy.compress(b"gorgon" * 1000)
assert len(packed) < 400 and snappy.uncompress(packed) == b"gorgon" * 1000
try:
    snappy.uncompress(b"nonsense")
except snappy.UncompressError:
    pass
else:
    raise AssertionError("uncompressed nonsense")
