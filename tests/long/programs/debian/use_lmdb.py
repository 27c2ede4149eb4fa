# packages: python3-lmdb
import tempfile

import lmdb

folder = tempfile.mkdtemp(dir=".")
assert lmdb.Environment.__module__ != "lmdb.cffi"
with lmdb.open(f"{folder}/base", max_dbs=2) as environment:
    table = environment.open_db(b"t")
    with environment.begin(write=True, db=table) as transaction:
        for key in (b"b", b"a"):
            assert transaction.put(key, key * 3)
    with environment.begin(db=table) as transaction:
        assert list(transaction.cursor()) == [(b"a", b"aaa"), (b"b", b"bbb")]
        try:
            transaction.put(b"c", b"")
            raise AssertionError("no exception")
        except lmdb.ReadonlyError:
            pass
