# packages: python3-cython-blis
import numpy
from blis.py import gemm

assert (gemm(numpy.arange(6.0).reshape(2, 3), numpy.arange(6.0).reshape(3, 2)) == [[10, 13], [28, 40]]).all()
