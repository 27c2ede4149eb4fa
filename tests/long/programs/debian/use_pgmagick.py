# packages: python3-pgmagick
import tempfile

import pgmagick

folder = tempfile.mkdtemp(dir=".")
image = pgmagick.Image(pgmagick.Geometry(20, 10), pgmagick.Color("red"))
image.scale("10x5")
assert (image.columns(), image.rows()) == (10, 5)
image.write(folder + "/image.png")
assert pgmagick.Image(folder + "/image.png").columns() == 10
try:
    pgmagick.Image("missing.png")
except RuntimeError as error:
    assert "missing.png" in str(error), error
else:
    raise AssertionError("read a missing file")
