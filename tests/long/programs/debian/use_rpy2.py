# packages: python3-rpy2
import rpy2.rinterface as ri

ri.initr()
assert list(ri.evalr("rev(c(1, 2, 3))")) == [3.0, 2.0, 1.0]
