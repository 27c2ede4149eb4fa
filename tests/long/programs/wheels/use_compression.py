# packages: zstandard lz4 xxhash
import lz4.frame
import xxhash
import zstandard

data = b"many snakes, one head; " * 5000
assert zstandard.ZstdDecompressor().decompress(zstandard.ZstdCompressor(threads=2).compress(data)) == data
assert lz4.frame.decompress(lz4.frame.compress(data)) == data
assert xxhash.xxh64(b"").hexdigest() == "ef46db3751d8e999"
