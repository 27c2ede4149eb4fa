# packages: python3-cbor2
import datetime

import cbor2

assert cbor2.dumps.__module__ == "_cbor2"
day = datetime.datetime(2026, 11, 22, tzinfo=datetime.timezone.utc)
assert cbor2.loads(cbor2.dumps([day, 1 << 70, {"x": None}])) == [day, 1 << 70, {"x": None}]


class Odd:
    pass


assert cbor2.dumps(Odd(), default=lambda encoder, value: encoder.encode("odd")) == b"codd"
try:
    cbor2.loads(b"\x82\x01")
    raise AssertionError("no exception")
except cbor2.CBORDecodeEOF:
    pass
