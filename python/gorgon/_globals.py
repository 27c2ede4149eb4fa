# SPDX-License-Identifier: MIT
"""Globals of `__main__` that calls use: shipped to each worker once, and again when they have changed.

A change is a name that is bound to another object, or an object that was changed in place. What cannot change, functions
without defaults and cells, and modules are known by their identity, functions by the submodules that they may reach, too;
classes by the identity of their attributes; lists, dicts and other containers of plain values by a digest of what they hold,
which takes a tenth of the time of a pickle; all else is pickled again and compared.
The memory of arrays is not looked at: workers see it where it is."""

import sys
import threading
import types

from ._crossing import FromFile, Packed, digest, has_guard, submodules_of

FIXED = (type(None), bool, int, float, complex, str, bytes)


def is_bare(function):
    return not (function.__defaults__ or function.__kwdefaults__ or function.__closure__ or function.__dict__)


def is_same_dict(mine, other):
    """The same objects under the same names."""
    return mine.keys() == other.keys() and all(mine[name] is value for name, value in other.items())


class Shipment:
    """A global as it was when a call was submitted."""

    def __init__(self, name, value, is_own=False):
        self.name, self.value, self.used = name, value, {}
        self.code = getattr(value, "__code__", None)
        self.modules = submodules_of(value) if isinstance(value, types.FunctionType) else None
        self.loaded = len(sys.modules)
        self.members = dict(vars(value)) if isinstance(value, type) else None
        try:
            self.packed = Packed(value, globals=self.used, whole=value, is_own=is_own)
        except Exception as error:
            error.add_note(f"(global {name!r} of __main__, which the call uses)")
            if not has_guard():
                raise
            self.used, self.packed = {}, Packed(FromFile(name, error))
        # Plain: without arrays, of which marshal would write the memory.
        self.digest = digest(value) if self.packed.is_plain else None

    def reaches_as_before(self, function):
        """Whether the program has imported nothing since that this function can use."""
        if len(sys.modules) != self.loaded and submodules_of(function) != self.modules:
            return False
        self.loaded = len(sys.modules)
        return True

    def holds(self, value):
        """Whether that is the same value, unchanged, without a look at its pickle."""
        if value is not self.value:
            return False
        if isinstance(value, types.FunctionType):
            return value.__code__ is self.code and is_bare(value) and self.reaches_as_before(value)
        if isinstance(value, type):
            return is_same_dict(vars(value), self.members)
        if type(value) in FIXED or isinstance(value, types.ModuleType):
            return True
        return self.digest is not None and digest(value) == self.digest


class Globals:
    """What was shipped last, by name. is_own: arrays go as copies, which workers may write to."""

    def __init__(self, is_own=False):
        self.last, self.is_own = {}, is_own
        self.lock = threading.RLock()  # to pickle may run anything

    def ship(self, name, value):
        last = self.last.get(name)
        if last and last.holds(value):
            return last
        new = Shipment(name, value, self.is_own)
        if last and last.value is value and new.packed.is_same(last.packed):
            return last
        self.last[name] = new
        return new

    def paths(self):
        value = {"path": list(sys.path), "argv": list(sys.argv)}
        last = self.last.get("sys.paths")
        if last and last.value == value:
            return last
        self.last["sys.paths"] = Shipment("sys.paths", value)
        return self.last["sys.paths"]

    def needed(self, used):
        """Shipments of globals, which are {name: the dict that has it}, and of those that they use themselves."""
        with self.lock:
            shipments = {"sys.paths": self.paths()}
            used = dict(used)
            while used:
                name, space = used.popitem()
                if name in space and name not in shipments:
                    shipments[name] = self.ship(name, space[name])
                    used.update(shipments[name].used)
            return tuple(shipments.values())
