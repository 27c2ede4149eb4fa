# packages: python3-cartopy
import numpy
import shapely.geometry
from cartopy import crs, trace  # noqa: F401

mercator = crs.Mercator()
x, y = mercator.transform_point(90, 0, crs.PlateCarree())
assert abs(x - 10018754.17) < 1 and abs(y) < 1e-6, (x, y)
line = shapely.geometry.LineString([(170, 10), (190, 10)])
assert len(crs.PlateCarree().project_geometry(line, crs.Geodetic()).geoms) == 2  # cut at 180 degrees
points = crs.Orthographic(0, 0).transform_points(crs.PlateCarree(), numpy.array([0.0, 120.0]), numpy.array([0.0, 0.0]))
assert abs(points[0]).max() < 1e-6 and numpy.isnan(points[1, 0])
