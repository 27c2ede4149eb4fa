# packages: python3-crc32c
import crc32c

assert crc32c.crc32c(b"123456789") == 0xE3069283
assert crc32c.crc32c(b"6789", crc32c.crc32c(b"12345")) == 0xE3069283
