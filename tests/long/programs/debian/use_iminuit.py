# packages: python3-iminuit
import iminuit

calls = []


def cost(x, y):
    calls.append(1)
    return (x - 1) ** 2 + (y + 2) ** 2 / 4


minuit = iminuit.Minuit(cost, x=0, y=0)
minuit.errordef = iminuit.Minuit.LEAST_SQUARES
minuit.migrad()
minuit.hesse()
assert minuit.valid and abs(minuit.values["x"] - 1) < 1e-3 and abs(minuit.errors["y"] - 2) < 1e-2 and calls


def fails(x):
    raise ArithmeticError("no value")


try:
    iminuit.Minuit(fails, x=0).migrad()
except ArithmeticError as error:
    assert str(error) == "no value"
else:
    raise AssertionError("the callback's exception was lost")
