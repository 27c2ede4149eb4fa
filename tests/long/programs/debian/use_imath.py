# packages: python3-imath
import imath

turn = imath.M44f()
turn.rotate(imath.V3f(0, 0, 1.5707964))
vector = imath.V3f(1, 0, 0) * turn
assert abs(vector.x) < 1e-6 and abs(vector.y - 1) < 1e-6
box = imath.Box3f(imath.V3f(0, 0, 0), imath.V3f(1, 1, 1))
assert box.intersects(imath.V3f(0.5, 0.5, 0.5)) and imath.V3f(3, 4, 0).length() == 5
array = imath.FloatArray(1000)
for i in range(1000):
    array[i] = i
assert (array * 2.0)[999] == 1998.0
try:
    imath.V3f(0, 0, 0).normalizeExc()
except Exception as error:
    assert "null vector" in str(error), error
else:
    raise AssertionError("normalized nothing")
