# packages: python3-pysam
import tempfile

import pysam

folder = tempfile.mkdtemp(dir=".")
header = {"HD": {"VN": "1.0"}, "SQ": [{"LN": 1000, "SN": "chr1"}]}
with pysam.AlignmentFile(folder + "/reads.bam", "wb", header=header) as bam:
    for i in range(100):
        read = pysam.AlignedSegment(bam.header)
        read.query_name, read.query_sequence = f"read{i}", "ACGT" * 5
        read.reference_id, read.reference_start, read.cigarstring, read.mapping_quality = 0, i, "20M", 30
        bam.write(read)
pysam.index(folder + "/reads.bam")
with pysam.AlignmentFile(folder + "/reads.bam") as bam:
    assert bam.count("chr1", 50, 60) == 29 and next(bam.fetch("chr1")).cigartuples == [(0, 20)]
with open(folder + "/genome.fa", "w") as file:
    file.write(">one\nACGTACGT\n>two\nTTTT\n")
assert pysam.FastaFile(folder + "/genome.fa").fetch("one", 2, 5) == "GTA"
assert pysam.flagstat(folder + "/reads.bam").startswith("100 + 0 in total")
try:
    pysam.AlignmentFile("missing.bam")
except FileNotFoundError:
    pass
else:
    raise AssertionError("opened a missing file")
