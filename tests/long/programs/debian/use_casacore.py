# packages: python3-casacore
import tempfile

import numpy
from casacore import measures, quanta, tables

folder = tempfile.mkdtemp(dir=".")
assert abs(quanta.quantity("1km").get_value("m") - 1000) < 1e-9
column = tables.makearrcoldesc("data", 0.0, ndim=1)
table = tables.table(f"{folder}/t", tables.maketabdesc([column]), nrow=3, ack=False)
table.putcell("data", 1, numpy.array([1.0, 2.0]))
assert table.getcell("data", 1).tolist() == [1.0, 2.0] and table.nrows() == 3
table.close()
frame = measures.measures()
assert frame.direction("J2000", "30deg", "40deg")["refer"] == "J2000"
try:
    tables.table(f"{folder}/not there", ack=False)
    raise AssertionError("no exception")
except RuntimeError:
    pass
