# packages: python3-openslide
import tempfile

import openslide
from openslide import _convert
from PIL import Image

folder = tempfile.mkdtemp(dir=".")
tile = Image.new("RGBA", (4, 4), (10, 20, 30, 255))
buffer = memoryview(bytearray(tile.tobytes())).cast("I")
_convert.argb2rgba(buffer)
assert bytes(buffer)[:4] == bytes([30, 20, 10, 255]), bytes(buffer)[:4]
Image.new("RGB", (600, 500), (1, 2, 3)).save(folder + "/slide.png")
slide = openslide.ImageSlide(folder + "/slide.png")
assert slide.dimensions == (600, 500) and slide.read_region((5, 5), 0, (8, 8)).getpixel((0, 0)) == (1, 2, 3, 255)
assert openslide.OpenSlide.detect_format(folder + "/slide.png") is None
