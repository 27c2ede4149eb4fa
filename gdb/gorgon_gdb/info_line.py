# SPDX-License-Identifier: MIT
"""A typed "info line LOCATION" shows one copy of a place: the selected frame's, or the first.

gdb would print a line for each copy. The hook works as hooks.py says: it prints by the text of an error that ends the command."""

import re

import gdb

from . import execute, hooks, ordinary, process

COMMAND = "maintenance gorgon-line"
HOOK = "info hook-line"
TYPED = re.compile(r"i(?:nf?|nfo)?\s+line?\s+\S.*")
ADDRESS = re.compile(r"^(?:Line \d+ .*? at|No line number information available for) address (0x[0-9a-f]+)")


class Line(gdb.Command):
    """Part of a hook that Gorgon's scripts define: "info line" of private code.

    Usage: maintenance gorgon-line"""

    def __init__(self):
        super().__init__(COMMAND, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        snapshot = None if execute.is_passing() else process.try_snapshot()
        newest = hooks.newest_command() if snapshot else None
        if not newest or not TYPED.fullmatch(newest[1]):
            return
        try:
            rows = ordinary.run(newest[1], to_string=True).splitlines()
        except gdb.error:
            return  # gdb says what is wrong
        places = [ADDRESS.match(row) for row in rows]
        addresses = [int(place[1], 16) if place else None for place in places]
        described = {i for i, row in enumerate(rows) if row.startswith("Line ")}
        kept = chosen(addresses, described, snapshot, process.namespace_of_selected_frame())
        if len(kept) == len(rows):
            return
        last = next((addresses[i] for i in reversed(kept) if addresses[i]), None)
        if last:
            ordinary.run(f"info line *{last:#x}", to_string=True)  # so that "x" goes on from there
        raise gdb.GdbError("\n".join(rows[i] for i in kept))


def chosen(addresses, described, snapshot, namespace):
    """Positions of the addresses to show: all that are not in private code, and of each place in private code one copy, which is one of
    those that gdb has lines of, if there are any."""
    best = {}
    for i, address in enumerate(addresses):
        obj = snapshot.find_object(address) if address else None
        key = (obj.path, address - obj.bias) if obj else i
        rank = (i in described, obj is not None and obj.namespace is namespace)
        if key not in best or rank > best[key][0]:
            best[key] = rank, i
    return sorted(i for _, i in best.values())


def register():
    Line()
