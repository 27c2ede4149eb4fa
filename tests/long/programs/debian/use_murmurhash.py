# packages: python3-murmurhash
from murmurhash import hash_bytes, mrmr

assert mrmr.hash("") == 0
assert hash_bytes(b"hello", 0) == 613153351, hash_bytes(b"hello", 0)
