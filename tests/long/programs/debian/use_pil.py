# packages: python3-pil
import io

from PIL import Image, ImageCms, ImageDraw, ImageFilter

image = Image.new("RGB", (64, 64), "red")
ImageDraw.Draw(image).rectangle((10, 10, 20, 20), fill="blue")
assert sorted(image.getcolors()) == [(121, (0, 0, 255)), (3975, (255, 0, 0))]
for kind in ("png", "tiff", "webp", "jpeg", "jpeg2000", "gif"):
    buffer = io.BytesIO()
    image.save(buffer, kind)
    again = Image.open(io.BytesIO(buffer.getvalue())).convert("RGB")
    assert again.size == (64, 64) and again.getpixel((60, 60))[0] > 240, kind
assert image.filter(ImageFilter.GaussianBlur(3)).resize((8, 8), Image.LANCZOS).size == (8, 8)
assert ImageCms.profileToProfile(image, ImageCms.createProfile("sRGB"), ImageCms.createProfile("sRGB")).mode == "RGB"
try:
    Image.open(io.BytesIO(buffer.getvalue()[:40])).load()
except OSError:
    pass
else:
    raise AssertionError("opened half a file")
