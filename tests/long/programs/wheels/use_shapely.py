# packages: shapely
import shapely
from shapely.geometry import Point, Polygon

assert abs(Point(0, 0).buffer(1, 64).area - 3.14159) < 0.01
a, b = Polygon([(0, 0), (2, 0), (2, 2), (0, 2)]), Polygon([(1, 1), (3, 1), (3, 3), (1, 3)])
assert a.intersection(b).equals(Polygon([(1, 1), (2, 1), (2, 2), (1, 2)]))
assert shapely.from_wkt("LINESTRING (0 0, 3 4)").length == 5
try:
    shapely.from_wkt("POINT (")
except shapely.errors.GEOSException:
    pass
else:
    raise AssertionError("half a point was accepted")
