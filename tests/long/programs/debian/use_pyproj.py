# packages: python3-pyproj
import threading

import pyproj

transformer = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:3857")
x, y = transformer.transform(45.0, 10.0)
assert abs(x - 1113194.9079) < 1e-3 and abs(y - 5621521.4862) < 1e-3, (x, y)
assert pyproj.CRS("EPSG:25832").name == "ETRS89 / UTM zone 32N"
assert abs(pyproj.Geod(ellps="WGS84").line_length([0, 1], [0, 0]) - 111319.4908) < 1e-3
results = []
thread = threading.Thread(target=lambda: results.append(pyproj.Transformer.from_crs(4326, 25832).transform(45.0, 9.0)))
thread.start()
thread.join()
assert abs(results[0][0] - 500000) < 1e-3
try:
    pyproj.CRS("EPSG:999999")
except pyproj.exceptions.CRSError as error:
    assert "not found" in str(error), error
else:
    raise AssertionError("an unknown reference system")
