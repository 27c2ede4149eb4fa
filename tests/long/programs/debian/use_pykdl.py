# packages: python3-pykdl
import PyKDL

turn = PyKDL.Rotation.RotZ(3.141592653589793 / 2)
vector = turn * PyKDL.Vector(1, 0, 0)
assert abs(vector.x()) < 1e-12 and abs(vector.y() - 1) < 1e-12
chain = PyKDL.Chain()
for _ in range(2):
    chain.addSegment(PyKDL.Segment(PyKDL.Joint(PyKDL.Joint.RotZ), PyKDL.Frame(PyKDL.Vector(1, 0, 0))))
frame = PyKDL.Frame()
PyKDL.ChainFkSolverPos_recursive(chain).JntToCart(PyKDL.JntArray(2), frame)
assert frame.p.x() == 2.0
