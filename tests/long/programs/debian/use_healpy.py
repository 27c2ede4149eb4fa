# packages: python3-healpy
import healpy
import numpy

assert healpy.nside2npix(16) == 3072 and healpy.ang2pix(1, numpy.pi / 2, 0) == 4
spectrum = numpy.zeros(33)
spectrum[2] = 1.0
numpy.random.seed(0)
sky = healpy.synfast(spectrum, 16)
found = healpy.anafast(sky, lmax=8)
assert found[2] > 0.1 and found[[0, 1, 3, 4]].max() < 1e-3, found
assert numpy.allclose(healpy.ud_grade(healpy.ud_grade(sky, 32), 16), sky)
