# SPDX-License-Identifier: MIT
"""A plug-in of today: its syntax (PEP 695) needs CPython 3.12 or newer. It calls a function of the application."""

import ctypes

about = "capitals"
host = ctypes.CDLL(None)


def first[T](items: list[T], default: T) -> T:
    return items[0] if items else default


def edit(line):
    host.app_count(len(line))
    kind = first(line.split(), "")
    return line.replace(kind, kind.upper(), 1)
