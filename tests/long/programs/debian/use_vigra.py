# packages: python3-vigra
import numpy
import vigra

image = numpy.zeros((50, 50), numpy.float32)
image[20:30, 20:30] = 1
smooth = vigra.gaussianSmoothing(image, 2.0)
assert abs(numpy.sum(smooth) - 100) < 0.1 and vigra.analysis.labelImageWithBackground(image).max() == 1
assert vigra.filters.distanceTransform2D(image)[25, 5] == 15.0
try:
    vigra.impex.readImage("missing.png")
except RuntimeError as error:
    assert "missing.png" in str(error), error
else:
    raise AssertionError("read a missing file")
