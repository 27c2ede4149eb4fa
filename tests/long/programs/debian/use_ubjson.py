# packages: python3-ubjson
import ubjson

assert ubjson.EXTENSION_ENABLED
value = {"a": [1, 2.5, None, True], "b": "text" * 100}
assert ubjson.loadb(ubjson.dumpb(value)) == value and ubjson.dumpb([1]) == b"[U\x01]"
try:
    ubjson.loadb(b"[U")
except ubjson.DecoderException:
    pass
else:
    raise AssertionError("decoded half a value")
