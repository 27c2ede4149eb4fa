# packages: python3-fastbencode
from fastbencode import _bencode_pyx

assert _bencode_pyx.bencode({b"a": [1, b"two"]}) == b"d1:ali1e3:twoee"
assert _bencode_pyx.bdecode(b"d1:ali1e3:twoee") == {b"a": [1, b"two"]}
try:
    _bencode_pyx.bdecode(b"i-0e")
    raise AssertionError("no exception")
except ValueError:
    pass
