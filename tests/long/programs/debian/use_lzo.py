# packages: python3-lzo
import lzo

text = b"snake " * 1000
assert len(lzo.compress(text)) < 200 and lzo.decompress(lzo.compress(text)) == text
assert lzo.adler32(b"abc") == 0x024D0127
try:
    lzo.decompress(b"not that")
    raise AssertionError("no exception")
except lzo.error:
    pass
