# packages: python3-gsw
import gsw
import numpy

assert abs(gsw.SA_from_SP(34.7118, 10, 188, 4) - 34.8757) < 0.001
assert numpy.allclose(gsw.rho(34.7, 28.8, [10, 50]), [1021.84, 1022.01], atol=0.1)
