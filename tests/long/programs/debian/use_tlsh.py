# packages: python3-tlsh
import tlsh

text = bytes((i * i + i // 7) % 251 for i in range(2000))
first, second = tlsh.hash(text), tlsh.hash(text[:-20] + b"gorgon" * 3)
assert len(first) in (70, 72) and tlsh.diff(first, first) == 0 and 0 < tlsh.diff(first, second) < 100, (first, second)
assert tlsh.hash(b"short") in ("", "TNULL")
