# packages: python3-bsddb3
import os
import tempfile

from bsddb3 import db

folder = tempfile.mkdtemp(dir=".")
os.mkdir(f"{folder}/home")
environment = db.DBEnv()
parts = db.DB_INIT_MPOOL | db.DB_INIT_TXN | db.DB_INIT_LOCK | db.DB_INIT_LOG
environment.open(f"{folder}/home", db.DB_CREATE | db.DB_PRIVATE | parts)
table = db.DB(environment)
table.set_bt_compare(lambda a, b: (a < b) - (a > b))  # backwards, from C
table.open("t", dbtype=db.DB_BTREE, flags=db.DB_CREATE | db.DB_AUTO_COMMIT)
for key in (b"a", b"c", b"b"):
    table.put(key, key * 2)
assert table.keys() == [b"c", b"b", b"a"] and table[b"b"] == b"bb"
transaction = environment.txn_begin()
table.put(b"d", b"", transaction)
transaction.abort()
assert table.get(b"d") is None
table.close()
environment.close()
