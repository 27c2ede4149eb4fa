# packages: python3-clickhouse-driver
import io

from clickhouse_driver import varint
from clickhouse_driver.bufferedwriter import BufferedWriter  # noqa: F401

file = io.BytesIO()
varint.write_varint(0x1FFFF, file)
assert file.getvalue() == b"\xff\xff\x07"
