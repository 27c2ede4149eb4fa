# packages: python3-gdal
import tempfile

import numpy
from osgeo import gdal, gdal_array, ogr, osr

folder = tempfile.mkdtemp(dir=".")
gdal.UseExceptions()
image = gdal.GetDriverByName("GTiff").Create(f"{folder}/image.tif", 20, 10, 1, gdal.GDT_Int16)
image.GetRasterBand(1).WriteArray(numpy.arange(200, dtype="int16").reshape(10, 20))
image = None
image = gdal.Open(f"{folder}/image.tif")
assert image.ReadAsArray(5, 5, 2, 1).tolist() == [[105, 106]]
done = []
half = f"{folder}/half.tif"
gdal.Translate(half, image, width=10, height=5, callback=lambda part, text, data: done.append(part) or 1)
assert done[-1] == 1.0 and gdal.Open(half).RasterXSize == 10
assert gdal_array.GDALTypeCodeToNumericTypeCode(gdal.GDT_Float64) is numpy.float64
assert ogr.CreateGeometryFromWkt("POINT (1 2)").Buffer(1).Area() > 3.1
system = osr.SpatialReference()
system.ImportFromEPSG(4326)
assert system.IsGeographic()
try:
    gdal.Open("not there")
    raise AssertionError("no exception")
except RuntimeError:
    pass
