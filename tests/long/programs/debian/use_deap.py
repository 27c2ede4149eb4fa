# packages: python3-deap
import numpy
from deap.tools._hypervolume import hv

assert hv.hypervolume(numpy.array([[1.0, 3.0], [3.0, 1.0]]), numpy.array([4.0, 4.0])) == 5.0
