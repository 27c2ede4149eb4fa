# packages: python3-halide
import halide as hl
import numpy

x, y = hl.Var("x"), hl.Var("y")
f = hl.Func("f")
f[x, y] = x * 10 + y
f.parallel(y)
f.vectorize(x, 4)
assert numpy.asarray(f.realize([4, 300]))[3, 299] == 329
try:
    f[x] = 1
except Exception as error:
    assert "defined with 2" in str(error), error
else:
    raise AssertionError("defined twice")
