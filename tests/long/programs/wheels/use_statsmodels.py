# packages: statsmodels
import numpy
import statsmodels.api as sm

x = sm.add_constant(numpy.arange(20.0))
fit = sm.OLS(3 + 2 * numpy.arange(20.0), x).fit()
assert numpy.allclose(fit.params, [3, 2])
assert abs(sm.tsa.acf(numpy.sin(numpy.arange(200) / 5), nlags=1)[1]) < 1
