# packages: python3-tables
import tempfile

import numpy
import tables

folder = tempfile.mkdtemp(dir=".")
with tables.open_file(folder + "/file.h5", "w") as file:
    table = file.create_table("/", "points", {"x": tables.Int64Col(), "name": tables.StringCol(8)},
                              filters=tables.Filters(5, "blosc"))
    for i in range(1000):
        table.row["x"], table.row["name"] = i, str(i)
        table.row.append()
    table.flush()
    table.cols.x.create_index()
    file.create_carray("/", "array", obj=numpy.arange(100.0).reshape(10, 10), filters=tables.Filters(1, "zlib"))
with tables.open_file(folder + "/file.h5") as file:
    assert [row["name"] for row in file.root.points.where("(x > 500) & (x < 503)")] == [b"501", b"502"]
    assert file.root.array[3, 4] == 34.0
try:
    tables.open_file("missing.h5")
except OSError as error:
    assert "missing.h5" in str(error), error
else:
    raise AssertionError("opened a missing file")
