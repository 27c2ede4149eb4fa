# SPDX-License-Identifier: MIT
"""Calls of C++ methods in expressions: OBJECT.METHOD(...), POINTER->METHOD(...), and METHOD(...) in a method of the class.

gdb looks a method up by its mangled name alone, and runs the first copy's. So a call becomes that of a pointer to the method in the
frame's copy, with the object as its first argument. This is done where a method has one version, and its class has no virtual methods
and is no template's instance. gdb finds virtual methods through the object, so those are the right copy's anyway."""

import re

import gdb

from . import files, languages, values

# The object in front of a call is a name or something in parentheses, or members of that; without an object it is this.
CALL = re.compile(r"""(?<![\w.>:$"'])
      (?: (?P<object> (?: [A-Za-z_$]\w* | \( (?: [^()] | \([^()]*\) )* \) ) (?: (?:\.|->) [A-Za-z_]\w* | \[ [^][]* \] )*? )
          \s* (?P<access> \.|-> ) \s* )?
      (?P<name> [A-Za-z_]\w* ) \s* \( \s* (?P<end> \) )?""", re.X)
TEXTS = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\'\\])\'')


def rewrite(expression, copy):
    """The expression with calls of methods of the copy. Raises gdb.error for what gdb will refuse, too."""
    if languages.current() != "c++" or "(" not in expression or TEXTS.search(expression):
        return expression
    return CALL.sub(lambda match: call(match, copy) or match[0], expression)


def in_own_copy(expression, copy):
    """The expression with addresses of a Copy in place of names."""
    return values.rewrite(rewrite(expression, copy) if copy else expression, copy)[0]


def call(match, copy):
    """What to write for a call, or None if gdb is right by itself."""
    name = match["name"]
    if match["object"] is None and (name in values.WORDS or not gdb.lookup_symbol(name)[1]):
        return None  # a function
    this = values.rewrite(match["object"] or "this", copy)[0]
    pointer = this if match["access"] != "." else f"&({this})"
    kind = gdb.parse_and_eval(pointer).type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_PTR:
        return None
    address = method(kind.target().strip_typedefs().unqualified(), name, copy)
    function = address and gdb.block_for_pc(address) and gdb.block_for_pc(address).function
    if not function:
        return None
    slot = languages.slot(name, address)
    gdb.set_convenience_variable(slot, gdb.Value(address).cast(function.type.pointer()))
    return f"(*${slot})({pointer}" + (")" if match["end"] else ", ")


def method(kind, name, copy):
    """The address of a class's method in a Copy, or None if gdb is right, or there are several methods of that name."""
    if kind.code != gdb.TYPE_CODE_STRUCT or not kind.name or re.search(r"[<(]", kind.name):
        return None
    fields = kind.fields()
    if any(field.is_base_class or (field.name or "").startswith("_vptr") or field.name == name for field in fields):
        return None
    parts = "".join(f"{len(part)}{part}" for part in [*kind.name.split("::"), name])
    stems = f"_ZN{parts}E", f"_ZNK{parts}E"
    found = {obj.bias + entry.value for obj in copy.objects for text, entry in files.read(obj).symbols.items()
             if text.startswith(stems) and "." not in text}
    return found.pop() if len(found) == 1 else None
