# packages: python3-scipy
import numpy
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats

assert abs(scipy.integrate.quad(lambda x: x * x, 0, 3)[0] - 9) < 1e-12
assert abs(scipy.optimize.minimize(lambda x: (x[0] - 2) ** 2, [0.0]).x[0] - 2) < 1e-6
assert numpy.allclose(scipy.linalg.inv([[2.0, 0.0], [0.0, 4.0]]), [[0.5, 0], [0, 0.25]])
assert numpy.allclose(scipy.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]]).imag, [1, -1])
matrix = scipy.sparse.diags([[2.0] * 50, [-1.0] * 49, [-1.0] * 49], [0, 1, -1]).tocsc()
assert numpy.allclose(matrix @ scipy.sparse.linalg.spsolve(matrix, numpy.ones(50)), 1)
assert abs(scipy.sparse.linalg.eigsh(matrix, k=1, which="LA")[0][0] - 3.9962) < 1e-3
assert scipy.special.gamma(5) == 24 and abs(scipy.stats.norm.cdf(1.96) - 0.975) < 1e-4
solution = scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], method="LSODA", rtol=1e-8, atol=1e-10)
assert abs(solution.y[0, -1] - numpy.exp(-1)) < 1e-6
assert scipy.spatial.cKDTree(numpy.eye(3)).query([1, 0, 0])[1] == 0
assert scipy.spatial.ConvexHull(numpy.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]])).volume == 1.0
assert numpy.allclose(scipy.fft.ifft(scipy.fft.fft([1, 2, 3], workers=2)), [1, 2, 3])
try:
    scipy.linalg.cholesky([[-1.0]])
except numpy.linalg.LinAlgError:
    pass
else:
    raise AssertionError("a root of a negative matrix")
