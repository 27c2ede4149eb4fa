# packages: pillow
import io
from PIL import Image, ImageDraw, ImageFont

image = Image.new("RGB", (64, 64), "white")
ImageDraw.Draw(image).ellipse((8, 8, 56, 56), fill=(200, 30, 30))
for kind in ("PNG", "JPEG", "WEBP", "TIFF"):
    file = io.BytesIO()
    image.save(file, kind)
    red, green, _ = Image.open(io.BytesIO(file.getvalue())).convert("RGB").resize((16, 16)).getpixel((8, 8))
    assert red > 180 and green < 60, (kind, red, green)
assert ImageFont.load_default(16).getlength("Gorgon") > 20
