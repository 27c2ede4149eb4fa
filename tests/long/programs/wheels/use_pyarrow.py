# packages: pyarrow
import io
import pyarrow
from pyarrow import compute, csv, parquet

table = pyarrow.table({"n": list(range(1000)), "word": [str(i % 7) for i in range(1000)]})
file = io.BytesIO()
parquet.write_table(table, file, compression="zstd")
back = parquet.read_table(io.BytesIO(file.getvalue()))
assert back.equals(table)
assert compute.sum(back["n"]).as_py() == 499500
assert back.group_by("word").aggregate([("n", "count")]).num_rows == 7
assert csv.read_csv(io.BytesIO(b"a,b\n1,x\n2,y\n")).column("a").to_pylist() == [1, 2]
