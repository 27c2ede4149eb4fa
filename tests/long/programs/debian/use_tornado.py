# packages: python3-tornado
import tornado.speedups
import tornado.util

assert tornado.util._websocket_mask is tornado.speedups.websocket_mask
assert tornado.speedups.websocket_mask(b"abcd", b"gorgon") == bytes(a ^ b for a, b in zip(b"gorgon", b"abcdab"))
try:
    tornado.speedups.websocket_mask("abcd", None)
except TypeError:
    pass
else:
    raise AssertionError("masked nothing")
