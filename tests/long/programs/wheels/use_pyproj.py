# packages: pyproj
import pyproj

x, y = pyproj.Transformer.from_crs(4326, 32632, always_xy=True).transform(9.0, 48.0)
assert abs(x - 500000) < 1e-3 and abs(y - 5316300.8) < 1, (x, y)
assert abs(pyproj.Geod(ellps="WGS84").inv(0, 0, 1, 0)[2] - 111319.49) < 0.1
try:
    pyproj.CRS("EPSG:0")
except pyproj.exceptions.CRSError:
    pass
else:
    raise AssertionError("there is no EPSG:0")
