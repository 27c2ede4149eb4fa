# packages: python3-basix
import basix
import numpy

element = basix.create_element(basix.ElementFamily.P, basix.CellType.triangle, 1)
table = element.tabulate(0, numpy.array([[0.25, 0.5]]))
assert numpy.allclose(table.ravel(), [0.25, 0.25, 0.5]), table
points, weights = basix.make_quadrature(basix.CellType.triangle, 4)
assert abs(weights.sum() - 0.5) < 1e-12
try:
    basix.create_element(basix.ElementFamily.P, basix.CellType.triangle, -3)
except RuntimeError:
    pass
else:
    raise AssertionError("an element of negative degree")
