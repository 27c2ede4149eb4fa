# packages: python3-bitstruct
from bitstruct import c

assert c.pack("u1u3u4s16", 1, 2, 3, -2) == b"\xa3\xff\xfe"
assert c.unpack("u1u3u4s16", b"\xa3\xff\xfe") == (1, 2, 3, -2)
