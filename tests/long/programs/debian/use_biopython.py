# packages: python3-biopython
import tempfile

import numpy
from Bio import Align, SeqIO
from Bio.PDB.kdtrees import KDTree
from Bio.Seq import Seq

folder = tempfile.mkdtemp(dir=".")
assert str(Seq("ATGGCC").reverse_complement().translate()) == "GH"
aligner = Align.PairwiseAligner(match_score=1.0)
assert aligner.score("GAACT", "GAT") == 3.0
assert len(KDTree(numpy.eye(4)[:, :3].copy(), 1).search(numpy.zeros(3), 0.5)) == 1
with open(f"{folder}/one.fasta", "w") as file:
    file.write(">a\nACGT\n>b\nTTTT\n")
assert [str(record.seq) for record in SeqIO.parse(f"{folder}/one.fasta", "fasta")] == ["ACGT", "TTTT"]
