# packages: python3-statsmodels
import numpy
import statsmodels.api as sm
from statsmodels.tsa.api import ExponentialSmoothing
from statsmodels.tsa.arima.model import ARIMA

x = numpy.arange(50.0)
rng = numpy.random.default_rng(0)
fit = sm.OLS(3 + 2 * x + rng.normal(size=50), sm.add_constant(x)).fit()
assert abs(fit.params[1] - 2) < 0.05 and fit.rsquared > 0.99
assert abs(ARIMA(numpy.cumsum(rng.normal(size=200)), order=(1, 1, 0)).fit().params[0]) < 0.5
assert len(ExponentialSmoothing(x, trend="add").fit().forecast(3)) == 3
smooth = sm.nonparametric.lowess(x, x)
assert abs(smooth[25, 1] - 25) < 1e-6
