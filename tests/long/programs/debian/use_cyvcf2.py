# packages: python3-cyvcf2
import tempfile

from cyvcf2 import VCF

folder = tempfile.mkdtemp(dir=".")
with open(f"{folder}/one.vcf", "w") as file:
    file.write('##fileformat=VCFv4.2\n##contig=<ID=1>\n##INFO=<ID=DP,Number=1,Type=Integer,Description="d">\n'
               '##FORMAT=<ID=GT,Number=1,Type=String,Description="g">\n'
               "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tA\tB\n"
               "1\t10\t.\tA\tC\t30\t.\tDP=7\tGT\t0/1\t1/1\n")
(record,) = VCF(f"{folder}/one.vcf")
assert (record.POS, record.REF, record.ALT, record.INFO["DP"]) == (10, "A", ["C"], 7)
assert record.gt_types.tolist() == [1, 3]
