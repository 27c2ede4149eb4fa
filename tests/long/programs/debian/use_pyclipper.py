# packages: python3-pyclipper
import pyclipper

clipper = pyclipper.Pyclipper()
clipper.AddPath([(0, 0), (10, 0), (10, 10), (0, 10)], pyclipper.PT_SUBJECT, True)
clipper.AddPath([(5, 5), (15, 5), (15, 15), (5, 15)], pyclipper.PT_CLIP, True)
result = clipper.Execute(pyclipper.CT_INTERSECTION)
assert sorted(map(tuple, result[0])) == [(5, 5), (5, 10), (10, 5), (10, 10)], result
try:
    clipper.AddPath([(0, 0)], pyclipper.PT_SUBJECT, True)
except pyclipper.ClipperException:
    pass
else:
    raise AssertionError("a path of one point")
