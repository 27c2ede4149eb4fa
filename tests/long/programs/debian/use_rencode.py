# packages: python3-rencode
from rencode import _rencode

value = {b"a": [1, -2, 2.5, None, True], b"b": "x" * 100}
encoded = _rencode.dumps(value)
assert _rencode.loads(encoded) == {b"a": (1, -2, 2.5, None, True), b"b": b"x" * 100}
try:
    _rencode.loads(encoded[:-5])
except (IndexError, ValueError):
    pass
else:
    raise AssertionError("decoded half a value")
