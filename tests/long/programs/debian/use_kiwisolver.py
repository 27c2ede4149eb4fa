# packages: python3-kiwisolver
from kiwisolver import Solver, UnsatisfiableConstraint, Variable

left, width, right = Variable("left"), Variable("width"), Variable("right")
solver = Solver()
for constraint in (left + width == right, left == 10, width >= 30, (right <= 20) | "weak"):
    solver.addConstraint(constraint)
solver.updateVariables()
assert right.value() == 40
try:
    solver.addConstraint(width <= 5)
    raise AssertionError("no exception")
except UnsatisfiableConstraint:
    pass
