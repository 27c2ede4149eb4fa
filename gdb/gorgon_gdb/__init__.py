# SPDX-License-Identifier: MIT
"""gdb commands for processes that hold private copies of CPython.

Importing defines; registration.register() makes gdb know the definitions."""
