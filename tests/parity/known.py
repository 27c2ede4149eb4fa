# SPDX-License-Identifier: MIT
"""What is broken, and what is seen then, by debugger and habit. A habit that is broken and is not here fails the test."""

KNOWN = {"gdb": {}, "lldb": {}}


def why(debugger, habit):
    """The reason, or None."""
    return KNOWN.get(debugger, {}).get(habit)
