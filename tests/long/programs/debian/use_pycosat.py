# packages: python3-pycosat
import pycosat

assert pycosat.solve([[1, -2], [2], [-1, 3]]) == [1, 2, 3]
assert pycosat.solve([[1], [-1]]) == "UNSAT" and len(list(pycosat.itersolve([[1, 2, 3]]))) == 7
