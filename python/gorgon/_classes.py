# SPDX-License-Identifier: MIT
"""Classes that no worker can import: those of the prompt, of `python3 -c`, of a notebook, and those within functions.

Such a class goes as what it is made of, once made with its name, bases and slots alone, then filled with its attributes, which
may refer to it. The host gives each a number; a worker that has made it sends back the number, and so instances that come
back are of the host's class. Both sides run this file."""

import collections
import functools
import itertools
import sys
import types
import weakref

numbers = itertools.count()
number_of = weakref.WeakKeyDictionary()
class_of = weakref.WeakValueDictionary()  # by number
filled = weakref.WeakSet()
changes = False  # whether anything fills the host's classes again, as dask's workers do with each task

# What type() makes of itself.
DESCRIPTORS = types.GetSetDescriptorType, types.MemberDescriptorType
MADE = {"_abc_impl", "__annotate_func__", "__annotations_cache__", "__classdictcell__", "__dict__", "__weakref__"}
# Instances that are compared by identity.
SINGLE = {"MISSING", "KW_ONLY", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR", "_HAS_DEFAULT_FACTORY"}


class Lost(LookupError):
    """A class that this process has no more."""


def find_class(number, name):
    try:
        return class_of[number]
    except KeyError:
        raise Lost(f"{name}: the program has replaced this class since its instance was sent") from None


def know(number, cls):
    class_of[number] = cls
    number_of[cls] = number
    return cls


def make_plain(meta, name, bases, space):
    return types.new_class(name, bases, {"metaclass": meta}, lambda target: target.update(space))


def make_enum(meta, name, bases, space, members):
    target = meta.__prepare__(name, bases)
    for key, value in (*space.items(), *members):
        target[key] = value
    return meta(name, bases, target)


def make_tuple(name, fields, defaults, module):
    return collections.namedtuple(name, fields, defaults=defaults, module=module)


def make_class(number, make, *made):
    return class_of.get(number) or know(number, make(*made))


def fill_class(cls, state):
    """One that is known keeps what its worker has made of it, unless the host's may have changed."""
    attributes, anew = state
    if anew or cls not in filled:
        filled.add(cls)
        for name, value in attributes.items():
            setattr(cls, name, value)


def is_enum(cls):
    return "enum" in sys.modules and isinstance(cls, sys.modules["enum"].EnumMeta)


def is_named_tuple(cls):
    return cls.__bases__ == (tuple,) and hasattr(cls, "_fields")


def attributes_of(cls):
    """Those that a class is filled with."""
    mine = {name: value for name, value in vars(cls).items() if name not in MADE and not isinstance(value, DESCRIPTORS)}
    if "__annotate_func__" in vars(cls):  # from 3.14 on
        mine["__annotations__"] = cls.__annotations__
    if is_enum(cls):
        mine = {name: value for name, value in mine.items()
                if name not in cls.__members__ and name not in ("__new__", "__reduce_ex__") and not (name[:1] == name[-1:] == "_" and name[:2] != "__")}
    elif is_named_tuple(cls):
        plain = make_tuple(cls.__name__, cls._fields, (), None)  # what it has goes when it is collected
        mine = {name: value for name, value in mine.items() if name not in vars(plain) or name == "__doc__"}
    return {name: value for name, value in mine.items() if name not in ("__module__", "__qualname__", "__slots__")}


def reduce_class(cls, anew):
    """anew: its attributes may have changed since it was sent."""
    number = number_of.get(cls)
    if number is None:
        number = next(numbers)
        know(number, cls)
    space = {name: vars(cls)[name] for name in ("__module__", "__slots__") if name in vars(cls)}
    space["__qualname__"] = cls.__qualname__
    if is_enum(cls):
        members = [(name, each.value) for name, each in cls.__members__.items()]
        made = make_enum, type(cls), cls.__name__, cls.__bases__, space, members
    elif is_named_tuple(cls):
        made = make_tuple, cls.__name__, cls._fields, tuple(cls._field_defaults.values()), cls.__module__
    else:
        made = make_plain, type(cls), cls.__name__, vars(cls).get("__orig_bases__", cls.__bases__), space
    return make_class, (number, *made), (attributes_of(cls), anew or changes), None, None, fill_class


def reduce_known(cls):
    """In a worker: a class of the host's; None of another one."""
    return (find_class, (number_of[cls], cls.__qualname__)) if cls in number_of else None


def remake_cached_property(function, name):
    made = functools.cached_property(function)
    made.__set_name__(None, name)
    return made


def remake_mapping(mapping):
    return types.MappingProxyType(mapping)


def remake_type_variable(name, constraints, bound, covariant, contravariant):
    import typing  # for programs that have it
    return typing.TypeVar(name, *constraints, bound=bound, covariant=covariant, contravariant=contravariant)


def remake_new_type(name, base):
    import typing
    return typing.NewType(name, base)


def reduce_part(value):
    """Attributes of classes that pickle does not know; NotImplemented for others."""
    kind = type(value)
    if kind in (classmethod, staticmethod):
        return kind, (value.__func__,)
    if kind is property:
        return kind, (value.fget, value.fset, value.fdel, value.__doc__)
    if kind is functools.cached_property:
        return remake_cached_property, (value.func, value.attrname)
    if kind is types.MappingProxyType:
        return remake_mapping, (dict(value),)
    if kind.__module__ == "typing" and kind.__name__ == "TypeVar" and value.__module__ == "__main__":
        return remake_type_variable, (value.__name__, value.__constraints__, value.__bound__, value.__covariant__,
                                      value.__contravariant__)
    if kind.__module__ == "typing" and kind.__name__ == "NewType" and value.__module__ == "__main__":
        return remake_new_type, (value.__name__, value.__supertype__)
    if kind.__module__ == "dataclasses":
        name = next((name for name in SINGLE if getattr(sys.modules["dataclasses"], name, None) is value), None)
        return name or NotImplemented
    return NotImplemented
