# SPDX-License-Identifier: MIT
"""What the scripts of gdb and lldb read of a process, a core and of files. Knows no debugger."""
