# packages: python3-wsaccel
from wsaccel import utf8validator, xormask

mask = xormask.createXorMasker(b"abcd", 100)
assert mask.process(mask.process(b"gorgon")) != b"gorgon" and mask.pointer() == 12
assert xormask.createXorMasker(b"abcd", 6).process(b"gorgon") == bytes(a ^ b for a, b in zip(b"gorgon", b"abcdab"))
validator = utf8validator.Utf8Validator()
assert validator.validate("\u00fc".encode())[:2] == (True, True) and validator.validate(b"\xff")[0] is False
