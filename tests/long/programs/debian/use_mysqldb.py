# packages: python3-mysqldb
import MySQLdb
from MySQLdb import _mysql

assert _mysql.escape_string(b"it's") == b"it\\'s" and _mysql.string_literal("a\nb") == b"'a\\nb'"
assert _mysql.get_client_info().split(".")[0].isdigit()
try:
    MySQLdb.connect(unix_socket="missing.sock")
except MySQLdb.OperationalError as error:
    assert error.args[0] == 2002 and "missing.sock" in error.args[1], error
else:
    raise AssertionError("connected to nobody")
