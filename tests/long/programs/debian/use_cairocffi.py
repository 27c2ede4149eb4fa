# packages: python3-cairocffi
import io

import cairocffi

surface = cairocffi.ImageSurface(cairocffi.FORMAT_ARGB32, 20, 20)
context = cairocffi.Context(surface)
context.set_source_rgb(1, 0, 0)
context.rectangle(5, 5, 10, 10)
context.fill()
surface.flush()
assert bytes(surface.get_data()[(10 * 20 + 10) * 4:][:4]) == b"\0\0\xff\xff"
buffer = io.BytesIO()
surface.write_to_png(buffer)
assert buffer.getvalue().startswith(b"\x89PNG")
try:
    cairocffi.ImageSurface(cairocffi.FORMAT_ARGB32, -5, 5)
except cairocffi.CairoError as error:
    assert "size" in str(error), error
else:
    raise AssertionError("a surface of negative width")
