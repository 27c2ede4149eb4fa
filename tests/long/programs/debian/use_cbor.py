# packages: python3-cbor
from cbor import _cbor

assert _cbor.dumps({"a": [1, 2]}) == b"\xa1aa\x82\x01\x02"
assert _cbor.loads(b"\xa1aa\x82\x01\x02") == {"a": [1, 2]}
