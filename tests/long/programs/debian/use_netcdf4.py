# packages: python3-netcdf4
import tempfile

import netCDF4
import numpy

folder = tempfile.mkdtemp(dir=".")
with netCDF4.Dataset(folder + "/file.nc", "w") as data:
    group = data.createGroup("inner")
    group.createDimension("x", None)
    variable = group.createVariable("speed", "f8", ("x",), zlib=True)
    variable.units = "m/s"
    variable[:] = numpy.arange(100.0)
with netCDF4.Dataset(folder + "/file.nc") as data:
    assert data["inner/speed"].units == "m/s" and data["inner/speed"][10:40:10].tolist() == [10, 20, 30]
try:
    netCDF4.Dataset("missing.nc")
except FileNotFoundError:
    pass
else:
    raise AssertionError("opened a missing file")
assert netCDF4.num2date(36, "hours since 2000-01-01").isoformat() == "2000-01-02T12:00:00"
