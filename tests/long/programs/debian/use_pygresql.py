# packages: python3-pygresql
import pg

assert pg.escape_string("it's") == "it''s" and pg.unescape_bytea("\\x676f") == b"go"
assert pg.escape_bytea(b"\x00a") == b"\\\\000a", pg.escape_bytea(b"\x00a")
try:
    pg.connect(host="/nonexistent")
except pg.InternalError as error:
    assert "/nonexistent" in str(error), error
else:
    raise AssertionError("connected to nobody")
