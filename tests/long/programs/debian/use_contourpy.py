# packages: python3-contourpy
import contourpy
import numpy

x, y = numpy.meshgrid(numpy.linspace(-2, 2, 101), numpy.linspace(-2, 2, 101))
for name in ("serial", "threaded", "mpl2014"):
    lines = contourpy.contour_generator(x, y, x**2 + y**2, name=name).lines(1.0)
    points = numpy.concatenate(lines[0] if isinstance(lines, tuple) else lines)
    assert len(points) > 100 and abs(numpy.hypot(*points.T) - 1).max() < 1e-3, name
try:
    contourpy.contour_generator(z=[[1.0]])
except TypeError as error:
    assert "(2, 2)" in str(error), error
else:
    raise AssertionError("lines of a point")
