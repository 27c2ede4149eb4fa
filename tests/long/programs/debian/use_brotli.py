# packages: python3-brotli
import brotli

text = b"snake " * 1000
packed = brotli.compress(text, quality=9)
assert len(packed) < 50 and brotli.decompress(packed) == text
try:
    brotli.decompress(packed[:-1] + b"?")
    raise AssertionError("no exception")
except brotli.error:
    pass
