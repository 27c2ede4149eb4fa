# packages: python3-gi-cairo python3-gi gir1.2-pango-1.0 python3-cairo
import cairo
import gi

gi.require_version("Pango", "1.0")
gi.require_version("PangoCairo", "1.0")
from gi.repository import Pango, PangoCairo  # noqa: E402

surface = cairo.ImageSurface(cairo.FORMAT_A8, 200, 40)
context = cairo.Context(surface)
layout = PangoCairo.create_layout(context)
layout.set_font_description(Pango.FontDescription("Sans 12"))
layout.set_text("snakes", -1)
assert layout.get_character_count() == 6
PangoCairo.show_layout(context, layout)
context.rectangle(100, 0, 10, 10)
context.fill()
assert context.get_target() == surface and surface.get_data()[105] == 255
