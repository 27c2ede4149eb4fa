# packages: python3-zstd
import zstd

packed = zstd.compress(b"gorgon" * 10000, 3)
assert len(packed) < 100 and zstd.decompress(packed) == b"gorgon" * 10000 and zstd.ZSTD_version_number() > 10400
try:
    zstd.decompress(b"nonsense")
except zstd.Error:
    pass
else:
    raise AssertionError("decompressed nonsense")
