# packages: python3-fiona
import tempfile

import fiona
from fiona.errors import DriverError

folder = tempfile.mkdtemp(dir=".")
schema = {"geometry": "Point", "properties": {"name": "str", "size": "int"}}
with fiona.open(f"{folder}/points.geojson", "w", driver="GeoJSON", schema=schema) as sink:
    sink.write({"geometry": {"type": "Point", "coordinates": (1.5, 2.5)}, "properties": {"name": "one", "size": 3}})
with fiona.open(f"{folder}/points.geojson") as source:
    (feature,) = source
    assert feature["properties"]["size"] == 3 and tuple(feature["geometry"]["coordinates"]) == (1.5, 2.5)
    assert source.bounds == (1.5, 2.5, 1.5, 2.5)
try:
    fiona.open("not there.shp")
    raise AssertionError("no exception")
except DriverError:
    pass
