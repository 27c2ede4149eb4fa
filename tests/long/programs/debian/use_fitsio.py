# packages: python3-fitsio
import tempfile

import fitsio
import numpy

folder = tempfile.mkdtemp(dir=".")
with fitsio.FITS(f"{folder}/file.fits", "rw", clobber=True) as file:
    file.write(numpy.arange(20, dtype="f4").reshape(4, 5), compress="rice")
    file.write(numpy.array([(1, 2.5, b"a"), (2, 3.5, b"b")], dtype=[("i", "i4"), ("x", "f8"), ("s", "S1")]))
with fitsio.FITS(f"{folder}/file.fits") as file:
    assert file[1][2:3, 1:3].tolist() == [[11, 12]]
    assert file[2]["x"][:].tolist() == [2.5, 3.5]
try:
    fitsio.read("not there.fits")
    raise AssertionError("no exception")
except OSError:
    pass
