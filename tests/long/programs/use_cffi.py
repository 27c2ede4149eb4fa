# SPDX-License-Identifier: MIT
"""cffi in ABI mode: functions of the C library, structures, callbacks, an exception in a callback."""

import rounds

rounds.begin()

from cffi import FFI  # noqa: E402

ffi = FFI()
ffi.cdef("""
    void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));
    typedef struct { int quot, rem; } div_t;
    div_t div(int numerator, int denominator);
    int snprintf(char *text, size_t size, const char *format, ...);
""")
libc = ffi.dlopen(None)
numbers = ffi.new("int[1000]", [i * 7919 % 1000 for i in range(1000)])


@ffi.callback("int(const void *, const void *)")
def compare(a, b):
    return ffi.cast("const int *", a)[0] - ffi.cast("const int *", b)[0]


libc.qsort(numbers, len(numbers), ffi.sizeof("int"), compare)
assert list(numbers) == list(range(1000))
result = libc.div(47, 10)
assert (result.quot, result.rem) == (4, 7)
text = ffi.new("char[]", 64)
assert libc.snprintf(text, 64, b"%d %s", ffi.cast("int", 12), ffi.new("char[]", b"words")) == 8
assert ffi.string(text) == b"12 words"

errors = []


@ffi.callback("int(int)", error=-5, onerror=lambda kind, value, traceback: errors.append(kind))
def fail(number):
    raise LookupError(number)


assert fail(1) == -5 and errors == [LookupError]
handle = ffi.new_handle(errors)
assert ffi.from_handle(handle) is errors
rounds.done()
