# packages: python3-cryptominisat
import pycryptosat

solver = pycryptosat.Solver(threads=2)
solver.add_clauses([[1, 2], [-1, 2], [-2, 3]])
found, values = solver.solve()
assert found and values[2] and values[3]
assert solver.solve([-3]) == (False, None)
