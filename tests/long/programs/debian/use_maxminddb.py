# packages: python3-maxminddb
import tempfile

import maxminddb
from maxminddb import extension

folder = tempfile.mkdtemp(dir=".")


def field(kind, payload, size=None):
    size = len(payload) if size is None else size
    return (bytes([kind << 5 | size]) if kind < 8 else bytes([size, kind - 7])) + payload


def text(value):
    return field(2, value.encode())


# A tree of one node: addresses that begin with 0 have the record, others have none.
data = field(7, text("name") + text("gorgon"), 1)
tree = (1 + 16).to_bytes(3, "big") + (1).to_bytes(3, "big")
fields = {"node_count": field(6, b"\x01"), "record_size": field(5, b"\x18"), "ip_version": field(5, b"\x04"),
          "database_type": text("test"), "languages": field(11, b"", 0), "description": field(7, b"", 0),
          "binary_format_major_version": field(5, b"\x02"), "binary_format_minor_version": field(5, b""),
          "build_epoch": field(9, b"\x01")}
metadata = field(7, b"".join(text(key) + value for key, value in fields.items()), len(fields))
with open(folder + "/small.mmdb", "wb") as file:
    file.write(tree + bytes(16) + data + b"\xab\xcd\xefMaxMind.com" + metadata)
with maxminddb.open_database(folder + "/small.mmdb", maxminddb.MODE_MMAP_EXT) as reader:
    assert isinstance(reader, extension.Reader)
    assert reader.get("1.2.3.4") == {"name": "gorgon"}, reader.get("1.2.3.4")
    assert reader.get("200.2.3.4") is None
try:
    maxminddb.open_database(__file__, maxminddb.MODE_MMAP_EXT)
except maxminddb.InvalidDatabaseError:
    pass
else:
    raise AssertionError("opened a program as a database")
