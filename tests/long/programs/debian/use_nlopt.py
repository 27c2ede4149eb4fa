# packages: python3-nlopt
import nlopt

calls = []


def f(x, gradient):
    calls.append(1)
    if gradient.size:
        gradient[:] = [2 * (x[0] - 1), 2 * (x[1] + 2)]
    return (x[0] - 1) ** 2 + (x[1] + 2) ** 2


for algorithm in (nlopt.LD_LBFGS, nlopt.LN_COBYLA, nlopt.GN_DIRECT_L):
    opt = nlopt.opt(algorithm, 2)
    opt.set_min_objective(f)
    opt.set_lower_bounds([-5, -5])
    opt.set_upper_bounds([5, 5])
    opt.set_xtol_rel(1e-6)
    opt.set_maxeval(2000)
    x = opt.optimize([3.0, 3.0])
    assert abs(x[0] - 1) < 1e-3 and abs(x[1] + 2) < 1e-3, x
assert calls
try:
    opt.set_lower_bounds([1, 2, 3])
except ValueError as error:
    assert "dimension mismatch" in str(error), error
else:
    raise AssertionError("three bounds for two numbers")
