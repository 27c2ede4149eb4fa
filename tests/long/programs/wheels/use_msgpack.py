# packages: msgpack
import msgpack

assert msgpack.unpackb(msgpack.packb({"a": [1, b"x", None, 2.5]})) == {"a": [1, b"x", None, 2.5]}
