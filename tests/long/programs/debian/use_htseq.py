# packages: python3-htseq
import HTSeq

genes = HTSeq.GenomicArrayOfSets("auto", stranded=False)
genes[HTSeq.GenomicInterval("1", 10, 20)] += "a"
genes[HTSeq.GenomicInterval("1", 15, 25)] += "b"
assert [sorted(value) for _, value in genes[HTSeq.GenomicInterval("1", 10, 25)].steps()] == [["a"], ["a", "b"], ["b"]]
assert HTSeq.Sequence(b"AACG", "s").get_reverse_complement().seq == b"CGTT"
