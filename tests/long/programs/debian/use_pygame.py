# packages: python3-pygame
import os
import tempfile

os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"
import pygame  # noqa: E402

folder = tempfile.mkdtemp(dir=".")
pygame.display.init()
pygame.font.init()
surface = pygame.display.set_mode((64, 48))
surface.fill((1, 2, 3))
pygame.draw.circle(surface, (200, 0, 0), (32, 24), 10)
assert surface.get_at((32, 24))[:3] == (200, 0, 0) and surface.get_at((0, 0))[:3] == (1, 2, 3)
pygame.event.post(pygame.event.Event(pygame.USEREVENT, name="gorgon"))
assert [event.name for event in pygame.event.get(pygame.USEREVENT)] == ["gorgon"]
assert pygame.transform.smoothscale(surface.convert(24), (10, 10)).get_size() == (10, 10)
assert pygame.math.Vector2(3, 4).length() == 5.0
pygame.image.save(surface, folder + "/image.png")
assert pygame.image.load(folder + "/image.png").get_size() == (64, 48)
pygame.quit()
