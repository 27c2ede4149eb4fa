# packages: scipy
import numpy
from scipy import integrate, linalg, optimize, sparse, special
from scipy.sparse.linalg import spsolve

assert abs(integrate.quad(lambda x: numpy.exp(-x * x), -numpy.inf, numpy.inf)[0] - numpy.sqrt(numpy.pi)) < 1e-7
assert numpy.allclose(optimize.minimize(lambda v: (v[0] - 3) ** 2 + v[1] ** 2, [0.0, 1.0]).x, [3, 0], atol=1e-4)
assert numpy.allclose(spsolve(sparse.eye(50, format="csc") * 2, numpy.ones(50)), 0.5)
assert abs(special.jv(0, 2.404825557695773)) < 1e-12
assert numpy.allclose(linalg.expm(numpy.zeros((3, 3))), numpy.eye(3))
