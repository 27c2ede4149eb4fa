# packages: python3-bson-ext python3-bson
import bson

assert bson.has_c()
document = {"a": [1, 2.5, "three"], "b": bson.ObjectId(b"twelve bytes"), "c": {"d": None}}
data = bson.encode(document)
assert bson.decode(data) == document
try:
    bson.decode(data[:-1])
    raise AssertionError("no exception")
except bson.InvalidBSON:
    pass
