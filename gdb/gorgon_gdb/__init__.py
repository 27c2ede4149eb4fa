# SPDX-License-Identifier: MIT
"""gdb commands for processes that hold private copies of CPython.

Importing defines; registration.register() makes gdb know the definitions."""

import os
import sys

# gorgon_shared lies beside the folders of the debuggers, where the scripts are installed, too.
_shared = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "debuggers")
if _shared not in sys.path:
    sys.path.insert(0, _shared)
