# packages: python3-dnaio
import io

import dnaio

(record,) = dnaio.open(io.BytesIO(b"@r\nACGT\n+\nIIII\n"))
assert (record.name, record.sequence, record[1:3].qualities) == ("r", "ACGT", "II")
try:
    list(dnaio.open(io.BytesIO(b"@r\nACGT\n+\nII\n"), fileformat="fastq"))
    raise AssertionError("no exception")
except dnaio.FastqFormatError:
    pass
