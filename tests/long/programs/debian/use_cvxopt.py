# packages: python3-cvxopt
from cvxopt import lapack, matrix, solvers

solvers.options["show_progress"] = False
# maximise x + y with x + 2y <= 4, 3x + y <= 6, x, y >= 0
below = matrix([[1.0, 3.0, -1.0, 0.0], [2.0, 1.0, 0.0, -1.0]])
answer = solvers.lp(matrix([-1.0, -1.0]), below, matrix([4.0, 6.0, 0.0, 0.0]))
assert answer["status"] == "optimal" and abs(answer["x"][0] - 1.6) < 1e-5 and abs(answer["x"][1] - 1.2) < 1e-5
b = matrix([3.0, 8.0])
lapack.gesv(matrix([[1.0, 0.0], [0.0, 2.0]]), b)
assert list(b) == [3.0, 4.0]
