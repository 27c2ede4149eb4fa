# packages: python3-rasterio
import tempfile

import numpy
import rasterio
import rasterio.features
from rasterio.transform import from_origin

folder = tempfile.mkdtemp(dir=".")
pixels = numpy.arange(64 * 64, dtype="uint16").reshape(64, 64)
profile = {"driver": "GTiff", "width": 64, "height": 64, "count": 1, "dtype": "uint16", "crs": "EPSG:32632",
           "transform": from_origin(500000, 5000000, 10, 10)}
with rasterio.open(folder + "/image.tif", "w", **profile) as image:
    image.write(pixels, 1)
with rasterio.open(folder + "/image.tif") as image:
    assert image.crs.to_epsg() == 32632 and image.index(500015, 4999985) == (1, 1)
    assert numpy.array_equal(image.read(1), pixels)
shapes = list(rasterio.features.shapes((pixels > 4000).astype("uint8")))
assert {value for _, value in shapes} == {0.0, 1.0}
try:
    rasterio.open("missing.tif")
except rasterio.errors.RasterioIOError as error:
    assert "missing.tif" in str(error), error
else:
    raise AssertionError("opened a missing file")
