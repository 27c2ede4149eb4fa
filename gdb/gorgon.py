# SPDX-License-Identifier: MIT
"""gdb: source this file to get the "gorgon" commands, labels in backtraces and py-bt.

    (gdb) source /path/to/gorgon.py
    (gdb) help gorgon"""


def _register_gorgon():
    import os
    import sys

    # A sourced file shares the name space of all of them: nothing but this function is left in it.
    here = os.path.dirname(os.path.realpath(__file__))
    if here not in sys.path:
        sys.path.insert(0, here)
    from gorgon_gdb import registration
    registration.register()


_register_gorgon()
