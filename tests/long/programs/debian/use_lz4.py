# packages: python3-lz4
import tempfile

import lz4.block
import lz4.frame

folder = tempfile.mkdtemp(dir=".")
text = b"snake " * 1000
assert lz4.block.decompress(lz4.block.compress(text)) == text
with lz4.frame.open(f"{folder}/file.lz4", "wb") as file:
    file.write(text)
with lz4.frame.open(f"{folder}/file.lz4") as file:
    assert file.read() == text
try:
    lz4.frame.decompress(b"not that")
    raise AssertionError("no exception")
except RuntimeError:
    pass
