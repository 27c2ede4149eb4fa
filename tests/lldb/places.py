# SPDX-License-Identifier: MIT
"""What a breakpoint has been set on, out of lldb's description of it: for driver.py, within lldb, and for the tests."""

import re

SET_ON = re.compile(r"name = '([^']+)'|file = '([^']+)', line = (\d+)|gorgon: (\S+) in ")


def called(description):
    """A function, or FILE:LINE; None for other kinds."""
    found = SET_ON.search(description)
    return (found[1] or found[4] or f"{found[2]}:{found[3]}") if found else None
