# SPDX-License-Identifier: MIT
"""ctypes: qsort with a Python callback, structures, errno, a callback on another thread."""

import rounds

rounds.begin()

import ctypes  # noqa: E402
import errno  # noqa: E402

libc = ctypes.CDLL(None, use_errno=True)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 1000)(*[i * 7919 % 1000 for i in range(1000)])
libc.qsort(numbers, 1000, ctypes.sizeof(ctypes.c_int), COMPARE(lambda a, b: a[0] - b[0]))
assert list(numbers) == list(range(1000))


class Division(ctypes.Structure):
    _fields_ = [("quotient", ctypes.c_int), ("remainder", ctypes.c_int)]


libc.div.restype = Division
result = libc.div(47, 10)
assert (result.quotient, result.remainder) == (4, 7)
assert libc.close(-1) == -1 and ctypes.get_errno() == errno.EBADF

START = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
seen = []
thread = ctypes.c_ulong()
start = START(lambda value: seen.append(value) or value + 1)
assert libc.pthread_create(ctypes.byref(thread), None, start, ctypes.c_void_p(41)) == 0
value = ctypes.c_void_p()
assert libc.pthread_join(thread, ctypes.byref(value)) == 0
assert seen == [41] and value.value == 42
rounds.done()
