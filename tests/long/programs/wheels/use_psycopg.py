# packages: psycopg-binary
import psycopg
from psycopg import pq, sql

assert pq.__impl__ == "binary"
assert psycopg.conninfo.conninfo_to_dict("host=/nowhere dbname=x")["dbname"] == "x"
assert pq.Escaping().escape_string(b"it's") == b"it''s"
try:
    psycopg.connect("host=/nonexistent dbname=x connect_timeout=5")
except psycopg.OperationalError as error:
    assert "/nonexistent" in str(error)
else:
    raise AssertionError("there is no such server")
assert sql.SQL("select {}").format(sql.Identifier('a"b')).as_string(None) == 'select "a""b"'
