# packages: python3-sfml
from sfml import graphics, system

assert system.Vector2(1, 2) + system.Vector2(3, 4) == system.Vector2(4, 6)
image = graphics.Image.create(4, 4, graphics.Color.RED)
assert image[1, 1] == graphics.Color.RED and image.size == (4, 4)
clock = system.Clock()
assert clock.elapsed_time.microseconds >= 0
