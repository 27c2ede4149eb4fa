# SPDX-License-Identifier: MIT
"""lldb commands for processes that hold private copies of CPython.

Importing defines; registration.register() makes lldb know the definitions."""
