# packages: python3-logbook
import logbook
from logbook import _speedups, base

assert base.StackedObject is _speedups.StackedObject
with logbook.TestHandler() as handler:
    logbook.Logger("mine").warn("number {}", 7)
    assert handler.has_warning("number 7") and handler.records[0].channel == "mine"
