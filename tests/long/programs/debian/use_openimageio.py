# packages: python3-openimageio
import tempfile

import OpenImageIO as oiio

folder = tempfile.mkdtemp(dir=".")
image = oiio.ImageBuf(oiio.ImageSpec(64, 64, 3, "float"))
oiio.ImageBufAlgo.fill(image, (0.25, 0.5, 1.0))
image.write(folder + "/image.exr")
again = oiio.ImageBuf(folder + "/image.exr")
assert again.getpixel(5, 5) == (0.25, 0.5, 1.0), again.getpixel(5, 5)
half = oiio.ImageBufAlgo.resize(again, roi=oiio.ROI(0, 32, 0, 32))
assert half.spec().width == 32 and abs(half.getpixel(9, 9)[1] - 0.5) < 1e-3
assert oiio.ImageInput.open("missing.exr") is None and "missing.exr" in oiio.geterror()
