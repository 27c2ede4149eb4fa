# packages: quantlib-python
import QuantLib as ql

today = ql.Date(22, 11, 2026)
ql.Settings.instance().evaluationDate = today
curve = ql.YieldTermStructureHandle(ql.FlatForward(today, 0.05, ql.Actual365Fixed()))
volatility = ql.BlackVolTermStructureHandle(ql.BlackConstantVol(today, ql.TARGET(), 0.2, ql.Actual365Fixed()))
process = ql.BlackScholesProcess(ql.QuoteHandle(ql.SimpleQuote(100.0)), curve, volatility)
option = ql.EuropeanOption(ql.PlainVanillaPayoff(ql.Option.Call, 100.0), ql.EuropeanExercise(ql.Date(22, 11, 2027)))
option.setPricingEngine(ql.AnalyticEuropeanEngine(process))
assert abs(option.NPV() - 10.450583572185565) < 1e-9, option.NPV()
assert abs(ql.Brent().solve(lambda x: x * x - 2, 1e-12, 1.0, 0.0, 2.0) - 2**0.5) < 1e-9
try:
    ql.Date(31, 2, 2026)
except RuntimeError as error:
    assert "day" in str(error), error
else:
    raise AssertionError("a day that is none")
