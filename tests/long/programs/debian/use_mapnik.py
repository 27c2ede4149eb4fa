# packages: python3-mapnik mapnik-utils
import mapnik

area = mapnik.Map(64, 64)
area.background = mapnik.Color("steelblue")
image = mapnik.Image(64, 64)
mapnik.render(area, image)
pixel = image.get_pixel(10, 10, True)
assert (pixel.r, pixel.g, pixel.b, pixel.a) == (70, 130, 180, 255), pixel
box = mapnik.Box2d(0, 0, 2, 3)
box.expand_to_include(mapnik.Coord(5, 5))
assert box.width() == 5 and box.center().y == 2.5
try:
    mapnik.Color("no such colour")
except RuntimeError as error:
    assert "no such colour" in str(error), error
else:
    raise AssertionError("a colour out of nothing")
