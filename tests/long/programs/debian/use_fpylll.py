# packages: python3-fpylll
from fpylll import FPLLL, LLL, SVP, IntegerMatrix

FPLLL.set_random_seed(1)
matrix = IntegerMatrix.from_matrix([[1, 0, 1345], [0, 1, 35], [0, 0, 100000]])
LLL.reduction(matrix)
assert LLL.is_reduced(matrix)
shortest = SVP.shortest_vector(matrix)
assert sum(x * x for x in shortest) <= sum(x * x for x in matrix[0])
assert (1345 * shortest[0] + 35 * shortest[1] - shortest[2]) % 100000 == 0 and any(shortest)
