# packages: python3-fonttools
from fontTools.cu2qu import cu2qu
from fontTools.pens import momentsPen
from fontTools.varLib import iup

for module in (cu2qu, momentsPen, iup):
    assert module.__file__.endswith(".so"), module
assert len(cu2qu.curve_to_quadratic([(0, 0), (50, 100), (150, 100), (200, 0)], 1)) > 3
square, phantoms = [(0, 0), (5, 0), (5, 5), (0, 5)], [(0, 0)] * 4
assert iup.iup_delta([(1, 1)] + [None] * 3 + phantoms, square + phantoms, [3]) == [(1, 1)] * 4 + phantoms
pen = momentsPen.MomentsPen()
pen.moveTo((0, 0))
for point in ((10, 0), (10, 10), (0, 10)):
    pen.lineTo(point)
pen.closePath()
assert pen.area == 100 and pen.momentX == 500
