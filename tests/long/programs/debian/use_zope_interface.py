# packages: python3-zope.interface
import zope.interface
from zope.interface import _zope_interface_coptimizations as optimized
from zope.interface.adapter import AdapterRegistry


class IHead(zope.interface.Interface):
    name = zope.interface.Attribute("name")


@zope.interface.implementer(IHead)
class Head:
    name = "Medusa"


assert issubclass(zope.interface.interfaces.Interface.__class__, optimized.InterfaceBase) and IHead.providedBy(Head())
registry = AdapterRegistry()
registry.register([IHead], zope.interface.Interface, "", "found")
assert registry.lookup1(zope.interface.providedBy(Head()), zope.interface.Interface) == "found"
try:
    IHead(7)
except TypeError as error:
    assert "adapt" in str(error), error
else:
    raise AssertionError("adapted a number")
