# packages: python3-hdf4
import tempfile

import numpy
from pyhdf.SD import SD, SDC, HDF4Error

folder = tempfile.mkdtemp(dir=".")
file = SD(f"{folder}/file.hdf", SDC.WRITE | SDC.CREATE)
data = file.create("data", SDC.INT32, (3, 4))
data[:] = numpy.arange(12, dtype="int32").reshape(3, 4)
data.unit = "m"
data.endaccess()
file.end()
file = SD(f"{folder}/file.hdf")
assert file.select("data")[1, 2] == 6 and file.select("data").unit == "m"
file.end()
try:
    SD("not there.hdf")
    raise AssertionError("no exception")
except HDF4Error:
    pass
