# SPDX-License-Identifier: MIT
"""Objects of C++ classes are shown with the static members of the frame's copy.

gdb shows a class's static members with each of its objects, and takes them from the first copy of the library, wherever the
object and the frame are. The pretty printer here shows such an object as gdb does, with the members of the right copy. It is the last
of all printers, and leaves objects without such members to gdb."""

import gdb
import gdb.types

from gorgon_shared import root
from . import process, values


class Object:
    """Knows a value of a class and {name: value} of its static members."""

    def __init__(self, value, fields, statics):
        self.value, self.fields, self.statics = value, fields, statics

    def children(self):
        for field in self.fields:
            if field.name in self.statics:
                yield f"static {field.name}", self.statics[field.name]
            else:
                yield f"<{field.name}>" if field.is_base_class else field.name, self.value[field]


def is_static(field):
    return not field.is_base_class and not hasattr(field, "bitpos")


def printer(value):
    """For gdb.pretty_printers: an Object, or None if gdb itself shows the value rightly."""
    if value.type.strip_typedefs().code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    try:
        if not process.try_snapshot() or gdb.selected_frame().language() != "c++":
            return None
        kind = gdb.types.get_basic_type(value.type)
        fields = kind.fields()
        names = [field.name for field in fields if is_static(field)]
        copy = values.copy_of_frame() if names and all(field.name for field in fields) else None
        found = {name: values.find(f"{kind.name}::{name}", copy) for name in names} if copy else {}
        statics = {name: variable.value for name, variable in found.items() if variable and variable.type is not None}
    except (gdb.error, root.RootError, root.MemoryProblem):
        return None  # gdb says what is wrong
    if names and len(statics) == len(names):
        return Object(value, fields, statics)
    return None


def register():
    if printer not in gdb.pretty_printers:
        gdb.pretty_printers.append(printer)
