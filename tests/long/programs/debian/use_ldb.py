# packages: python3-ldb
import tempfile

import ldb

folder = tempfile.mkdtemp(dir=".")
base = ldb.Ldb(f"tdb://{folder}/file.ldb")
base.add({"dn": "cn=one", "size": "7"})
(found,) = base.search(expression="(size=7)")
assert str(found.dn) == "cn=one" and str(found["size"]) == "7"
base.transaction_start()
base.delete("cn=one")
base.transaction_cancel()
assert len(base.search(expression="(size=7)")) == 1
try:
    base.delete("cn=two")
    raise AssertionError("no exception")
except ldb.LdbError as error:
    assert error.args[0] == ldb.ERR_NO_SUCH_OBJECT
