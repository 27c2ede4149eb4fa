# packages: python3-pymssql
import pymssql
from pymssql import _mssql

assert _mssql.quote_data({"a": "it's", "b": 1}) == {"a": b"N'it''s'", "b": b"1"}
try:
    pymssql.connect("127.0.0.1", "user", "password", port="1", login_timeout=1)
except pymssql.OperationalError as error:
    assert "20009" in str(error), error
else:
    raise AssertionError("connected to nobody")
