# packages: python3-fabio
import tempfile

import fabio
import numpy
from fabio.ext import byte_offset, cf_io  # noqa: F401

folder = tempfile.mkdtemp(dir=".")
data = numpy.arange(100, dtype="int32").reshape(10, 10) * 1000
fabio.cbfimage.CbfImage(data=data).write(f"{folder}/image.cbf")  # by byte_offset
assert (fabio.open(f"{folder}/image.cbf").data == data).all()
assert (byte_offset.dec_cbf(bytes(byte_offset.comp_cbf(data.ravel())), size=100) == data.ravel()).all()
