# packages: python3-shapely
import shapely.errors
import shapely.geometry
import shapely.ops
import shapely.strtree
import shapely.wkt
from shapely import vectorized

a, b = shapely.geometry.Point(0, 0).buffer(2), shapely.geometry.box(0, 0, 5, 5)
assert abs(a.intersection(b).area - 3.1365) < 1e-3 and a.union(b).geom_type == "Polygon"
line = shapely.wkt.loads("LINESTRING (0 0, 1 1, 3 1)")
assert abs(line.interpolate(2**0.5).x - 1) < 1e-12 and list(line.coords)[1] == (1.0, 1.0)
assert shapely.ops.unary_union([b, shapely.geometry.box(5, 0, 6, 5)]).area == 30
assert vectorized.contains(b, [1.0, 9.0], [1.0, 1.0]).tolist() == [True, False]
assert len(shapely.strtree.STRtree([a, b]).query(shapely.geometry.Point(4, 4))) == 1
try:
    shapely.wkt.loads("NONSENSE")
except shapely.errors.ShapelyError:
    pass
else:
    raise AssertionError("parsed nonsense")
