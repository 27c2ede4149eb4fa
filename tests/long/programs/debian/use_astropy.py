# packages: python3-astropy
import tempfile

import numpy
from astropy import units, wcs
from astropy.convolution import convolve
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.time import Time

folder = tempfile.mkdtemp(dir=".")
assert Time("2000-01-01T12:00:00", scale="tt").jd == 2451545.0
galactic = SkyCoord(266.405 * units.deg, -28.936 * units.deg).galactic
assert abs(galactic.b.deg) < 0.01 and (galactic.l.deg < 0.01 or galactic.l.deg > 359.99), galactic
assert numpy.allclose(convolve([0, 0, 3, 0, 0], [1, 1, 1], boundary="extend"), [0, 1, 1, 1, 0])
fits.PrimaryHDU(numpy.arange(12, dtype="int16").reshape(3, 4)).writeto(f"{folder}/image.fits")
assert fits.getdata(f"{folder}/image.fits")[2, 3] == 11
world = wcs.WCS(naxis=2)
world.wcs.crpix, world.wcs.cdelt, world.wcs.crval = [5, 5], [-0.1, 0.1], [10, 20]
world.wcs.ctype = ["RA---TAN", "DEC--TAN"]
assert numpy.allclose(world.wcs_world2pix(world.wcs_pix2world([[1.0, 2.0]], 1), 1), [[1, 2]])
