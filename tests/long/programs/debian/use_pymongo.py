# packages: python3-bson-ext
import bson
import bson._cbson

assert bson.has_c()
document = {"a": [1, 2.5, None], "id": bson.ObjectId("0123456789ab0123456789ab"), "t": bson.Int64(2**40)}
encoded = bson.encode(document)
assert bson.decode(encoded) == document and encoded[:4] == len(encoded).to_bytes(4, "little")
try:
    bson.decode(encoded[:-1])
except bson.errors.InvalidBSON:
    pass
else:
    raise AssertionError("decoded half a document")
