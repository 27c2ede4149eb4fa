# packages: python3-xxhash
import xxhash

assert xxhash.xxh64_hexdigest(b"") == "ef46db3751d8e999" and xxhash.xxh32_intdigest(b"") == 0x02CC5D05
digest = xxhash.xxh3_64()
digest.update(b"gor")
digest.update(b"gon")
assert digest.intdigest() == xxhash.xxh3_64_intdigest(b"gorgon")
