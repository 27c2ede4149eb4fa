# packages: python3-astroscrappy
import astroscrappy
import numpy

sky = numpy.random.default_rng(1).normal(100, 5, (60, 60)).astype("f4")
sky[30, 30] = 5000
mask, clean = astroscrappy.detect_cosmics(sky)
assert mask[30, 30] and clean[30, 30] < 200, clean[30, 30]
