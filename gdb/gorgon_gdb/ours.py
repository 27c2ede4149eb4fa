# SPDX-License-Identifier: MIT
"""Which of gdb's breakpoints are gorgon breakpoints: their location is a place in an interpreter, or in all of them."""

import re

import gdb

# What gdb says a breakpoint's location is: as typed, or as an option.
WANTED = re.compile(r"""(?:-(?:function|qualified)\s+)*(["']?)(.+)@(all|\d+)\1""", re.S)


def wanted():
    """{(location, "all" or a number)} of gdb's breakpoints."""
    found = (WANTED.fullmatch(b.location or "") for b in gdb.breakpoints() if b.type == gdb.BP_BREAKPOINT)
    return {(match[2], match[3]) for match in found if match}


def is_ours(breakpoint):
    return breakpoint.type == gdb.BP_BREAKPOINT and WANTED.fullmatch(breakpoint.location or "") is not None
