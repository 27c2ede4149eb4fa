# packages: python3-tdb
import os
import tempfile

import tdb

folder = tempfile.mkdtemp(dir=".")
store = tdb.Tdb(folder + "/file.tdb", tdb_flags=tdb.DEFAULT, flags=os.O_RDWR | os.O_CREAT)
for i in range(100):
    store[b"%d" % i] = b"x" * i
assert store[b"7"] == b"x" * 7 and len(list(store)) == 100
store.transaction_start()
store[b"7"] = b"other"
store.transaction_cancel()
assert store[b"7"] == b"x" * 7
store.close()
try:
    tdb.open("missing.tdb")
except OSError as error:
    assert error.errno == 2, error
else:
    raise AssertionError("opened a missing file")
