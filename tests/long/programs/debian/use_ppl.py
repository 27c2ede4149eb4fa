# packages: python3-ppl
import ppl

x, y = ppl.Variable(0), ppl.Variable(1)
constraints = ppl.Constraint_System()
for constraint in (x >= 0, y >= 0, x + y <= 3):
    constraints.insert(constraint)
triangle = ppl.C_Polyhedron(constraints)
assert len(triangle.minimized_generators()) == 3 and triangle.contains(ppl.C_Polyhedron(ppl.point(x + y)))
best = triangle.maximize(2 * x + y)
assert best["bounded"] and best["sup_n"] == 6
try:
    triangle.add_constraint(ppl.Variable(5) >= 0)
except ValueError as error:
    assert "dimension" in str(error), error
else:
    raise AssertionError("a constraint of another space")
