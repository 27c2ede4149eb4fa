# packages: python3-indexed-gzip
import gzip
import tempfile

import indexed_gzip

folder = tempfile.mkdtemp(dir=".")
data = b"".join(b"%08d" % i for i in range(200000))
with gzip.open(f"{folder}/file.gz", "wb") as file:
    file.write(data)
with indexed_gzip.IndexedGzipFile(f"{folder}/file.gz", spacing=100000) as file:
    file.seek(8 * 150000)
    assert file.read(8) == b"00150000"
    file.seek(8 * 7)
    assert file.read(8) == b"00000007"
