# SPDX-License-Identifier: MIT
"""PIL: draw, resize, rotate, JPEG, PNG and TIFF there and back."""

import rounds

rounds.begin()

import io  # noqa: E402

from PIL import Image, ImageDraw, ImageFilter  # noqa: E402

picture = Image.new("RGB", (200, 100), "white")
ImageDraw.Draw(picture).rectangle((0, 0, 99, 99), fill=(255, 0, 0))
small = picture.resize((20, 10), Image.Resampling.LANCZOS)
assert small.size == (20, 10) and small.getpixel((2, 5)) == (255, 0, 0) and small.getpixel((17, 5)) == (255, 255, 255)
assert picture.rotate(180).getpixel((150, 50)) == (255, 0, 0)
assert picture.filter(ImageFilter.GaussianBlur(3)).getpixel((99, 50))[1] in range(90, 170)
for kind, tolerance in (("PNG", 0), ("TIFF", 0), ("JPEG", 3)):
    file = io.BytesIO()
    picture.save(file, format=kind)
    again = Image.open(io.BytesIO(file.getvalue())).convert("RGB")
    assert max(abs(a - b) for a, b in zip(again.getpixel((20, 50)), (255, 0, 0))) <= tolerance, kind
rounds.done()
