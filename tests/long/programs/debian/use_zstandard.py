# packages: python3-zstandard
import io

import zstandard

data = b"gorgon" * 100000
packed = zstandard.ZstdCompressor(level=3, threads=2).compress(data)
assert len(packed) < 200 and zstandard.ZstdDecompressor().decompress(packed) == data
with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)) as reader:
    assert reader.read(9) == b"gorgongor"
samples = [b"head %d of the gorgon, turned to stone %d" % (i, i * i) for i in range(2000)]
assert len(zstandard.train_dictionary(1024, samples).as_bytes()) <= 1024
try:
    zstandard.ZstdDecompressor().decompress(b"nonsense")
except zstandard.ZstdError:
    pass
else:
    raise AssertionError("decompressed nonsense")
