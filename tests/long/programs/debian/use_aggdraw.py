# packages: python3-aggdraw python3-pil
import aggdraw
from PIL import Image

image = Image.new("RGB", (40, 30), "white")
draw = aggdraw.Draw(image)
draw.rectangle((10, 10, 30, 20), aggdraw.Pen("red", 1), aggdraw.Brush("blue"))
draw.flush()
assert image.getpixel((20, 15)) == (0, 0, 255), image.getpixel((20, 15))
assert image.getpixel((2, 2)) == (255, 255, 255)
