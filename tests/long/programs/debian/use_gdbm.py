# packages: python3-gdbm
import dbm.gnu
import tempfile

folder = tempfile.mkdtemp(dir=".")
with dbm.gnu.open(f"{folder}/file", "n") as file:
    file[b"key"] = b"value"
    assert file.firstkey() == b"key"
with dbm.gnu.open(f"{folder}/file") as file:
    assert file[b"key"] == b"value"
try:
    dbm.gnu.open("not there")
    raise AssertionError("no exception")
except dbm.gnu.error:
    pass
