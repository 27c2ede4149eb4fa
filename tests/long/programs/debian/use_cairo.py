# packages: python3-cairo
import io
import tempfile

import cairo

folder = tempfile.mkdtemp(dir=".")
surface = cairo.ImageSurface(cairo.FORMAT_ARGB32, 40, 20)
context = cairo.Context(surface)
context.set_source_rgb(1, 0, 0)
context.rectangle(10, 5, 20, 10)
context.fill()
surface.flush()
data = surface.get_data()
assert bytes(data[10 * surface.get_stride() + 80:][:4]) == b"\0\0\xff\xff" and data[0] == 0
file = io.BytesIO()
surface.write_to_png(file)
file.seek(0)
assert cairo.ImageSurface.create_from_png(file).get_width() == 40
cairo.PDFSurface(f"{folder}/page.pdf", 100, 100).finish()
with open(f"{folder}/page.pdf", "rb") as file:
    assert file.read(5) == b"%PDF-"
