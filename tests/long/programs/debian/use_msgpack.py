# packages: python3-msgpack
import msgpack
from msgpack import _cmsgpack

assert msgpack.Packer is _cmsgpack.Packer
value = {"a": [1, 2.5, None, True], "b": b"\x00\xff", "c": -2**63}
packed = msgpack.packb(value)
assert packed[:3] == b"\x83\xa1a" and msgpack.unpackb(packed) == value
unpacker = msgpack.Unpacker()
unpacker.feed(packed[:7])
assert list(unpacker) == []
unpacker.feed(packed[7:])
assert list(unpacker) == [value]
assert msgpack.packb(1j, default=lambda number: [number.real, number.imag]) == msgpack.packb([0.0, 1.0])
