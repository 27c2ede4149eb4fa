# packages: python3-traits
from traits import ctraits
from traits.api import HasTraits, Int, TraitError, observe


class Head(HasTraits):
    snakes = Int(3)
    seen = ()

    @observe("snakes")
    def notice(self, event):
        self.seen += ((event.old, event.new),)


assert issubclass(HasTraits, ctraits.CHasTraits)
head = Head()
head.snakes = 5
assert head.seen == ((3, 5),)
try:
    head.snakes = "many"
except TraitError:
    pass
else:
    raise AssertionError("a number that is none")
