# SPDX-License-Identifier: MIT
"""Have CPython's helper read objects through complete types.

Many compilation units of CPython only declare "struct _typeobject" and others. Wherever a value of such an incomplete type
is looked into or converted, gdb searches the copies for the complete type by its name: 1.5 to 5 ms, some
hundred times for one backtrace. Here each name is looked up once, and the helper's pointers are converted, as numbers,
to pointers to the complete type.

gdb keeps types that Python code refers to when the object file that they came from goes. The types are
forgotten with the process, because the next process may have another CPython."""

import gdb

# Where the helper finds what every object begins with.
HEADS = {"ob_type": "PyObject", "ob_size": "PyVarObject"}

_pointers = {}  # name of a type -> type of pointers to the complete type


def forget(_event=None):
    _pointers.clear()


def pointer_to(name, kind=None):
    """The type of pointers to the complete type of a name; None if there is only a declaration. Raises gdb.error if there is none."""
    if name not in _pointers:
        found = (kind or gdb.lookup_type(name)).strip_typedefs()
        if found.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and not found.fields():
            return None
        _pointers[name] = found.pointer()
    return _pointers[name]


def convert(value, pointer):
    return gdb.Value(int(value)).cast(pointer)


def whole(value):
    """The value itself or, if it points to a structure, a pointer to the complete type."""
    kind = value.type
    if kind.code == gdb.TYPE_CODE_TYPEDEF:
        kind = kind.strip_typedefs()
    target = kind.target() if kind.code == gdb.TYPE_CODE_PTR else None
    if target is None or not target.name:
        return value
    try:
        pointer = pointer_to(target.name, target)
        return convert(value, pointer) if pointer else value
    except gdb.error:
        return value  # optimized out, or not readable


def adapt_printer(printer):
    """Have the helper's printer of objects show what gdb shows without it where there is nothing to read. By itself the
    helper of 3.15 fails with a Python traceback in the middle of a frame when a stack reference is optimized out."""
    theirs = printer.to_string
    if theirs.__module__ == __name__:
        return

    def to_string(self):
        try:
            return theirs(self)
        except gdb.error:
            return self.gdbval.format_string(raw=True)
    printer.to_string = to_string


def adapt(objects):
    """Change the helper's base class of pointers to objects."""
    begin, field = objects.__init__, objects.field
    if begin.__module__ == __name__:
        return

    def __init__(self, gdbval, cast_to=None):
        try:
            begin(self, convert(gdbval, cast_to) if cast_to else whole(gdbval))
        except gdb.error:  # optimized out, or not readable
            begin(self, gdbval, cast_to)

    def get_field(self, name):
        head = pointer_to(HEADS[name]) if name in HEADS and not self.is_null() else None
        return whole(convert(self._gdbval, head).dereference()[name] if head else field(self, name))

    def get_gdb_type(cls):
        return pointer_to(cls._typename) or gdb.lookup_type(cls._typename).pointer()

    objects.__init__, objects.field, objects.get_gdb_type = __init__, get_field, classmethod(get_gdb_type)
