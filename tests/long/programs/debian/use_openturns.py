# packages: python3-openturns
import openturns as ot

ot.RandomGenerator.SetSeed(0)
normal = ot.Normal(1.0, 2.0)
assert abs(normal.computeCDF(1.0) - 0.5) < 1e-12 and abs(normal.getSample(10000).computeMean()[0] - 1) < 0.1
function = ot.SymbolicFunction(["x", "y"], ["x^2 + y"])
assert function([3, 4])[0] == 13.0 and function.gradient([3, 4])[0, 0] == 6.0
square = ot.PythonFunction(1, 1, lambda x: [x[0] ** 2])
assert square([5.0])[0] == 25.0
try:
    ot.Normal(0.0, -1.0)
except TypeError as error:
    assert "InvalidArgumentException" in str(error), error
else:
    raise AssertionError("a negative deviation")
