# packages: gir1.2-gtk-3.0 python3-gi
import gi

gi.require_version("Gdk", "3.0")
gi.require_version("GdkPixbuf", "2.0")
from gi.repository import Gdk, GdkPixbuf, GLib  # noqa: E402

colour = Gdk.RGBA()
assert colour.parse("rgb(255,0,0)") and colour.red == 1.0
pixels = GdkPixbuf.Pixbuf.new_from_bytes(GLib.Bytes.new(bytes(range(48))), GdkPixbuf.Colorspace.RGB, False, 8, 4, 4, 12)
assert pixels.scale_simple(8, 2, GdkPixbuf.InterpType.NEAREST).get_width() == 8
assert pixels.save_to_bufferv("png", [], [])[1][1:4] == b"PNG"
