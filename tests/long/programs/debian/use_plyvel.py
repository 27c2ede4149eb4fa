# packages: python3-plyvel
import tempfile

import plyvel

folder = tempfile.mkdtemp(dir=".")
db = plyvel.DB(folder + "/level", create_if_missing=True, comparator_name=b"reverse",
               comparator=lambda a, b: (a < b) - (a > b))
with db.write_batch() as batch:
    for i in range(1000):
        batch.put(b"%04d" % i, b"x" * i)
assert db.get(b"0007") == b"x" * 7 and next(iter(db))[0] == b"0999"
snapshot = db.snapshot()
db.delete(b"0007")
assert db.get(b"0007") is None and snapshot.get(b"0007") == b"x" * 7
snapshot.close()
db.compact_range()
db.close()
try:
    plyvel.DB("missing")
except plyvel.Error as error:
    assert "create_if_missing" in str(error), error
else:
    raise AssertionError("opened a missing database")
