# packages: python3-drgn
import ctypes
import os

import drgn

program = drgn.Program()
program.set_pid(os.getpid())
text = b"somewhere in memory"
buffer = ctypes.create_string_buffer(text)
assert program.read(ctypes.addressof(buffer), len(text)) == text
try:
    program.type("int no_such_type")
    raise AssertionError("no exception")
except (LookupError, SyntaxError):
    pass
