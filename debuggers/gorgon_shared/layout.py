# SPDX-License-Identifier: MIT
"""Where the members of CPython's structures are, by its version.

From 3.13 on CPython says so itself: _PyRuntime begins with _Py_DebugOffsets, a table of 64-bit
numbers (Include/internal/pycore_debug_offsets.h), which has grown since. For 3.11 and 3.12 the
same names are filled in here, as debug information of these versions has them on x86-64; they
are the same in release and debug builds, and in Debian's 3.11 for aarch64, where a mutex is larger.

Knows no debugger. An offset is looked up as "structure.member"."""

import struct

from . import root

COOKIE = b"xdebugpy"
HEADER = struct.Struct("<8sQQ")  # cookie, version, free_threaded
WORD = 8
STRUCTURE_MAX = 10_000_000  # bytes; _PyRuntime itself has half a million

# The members of _Py_DebugOffsets behind the header, each a number of 64 bits. A number in the text is a minor version: the names
# behind it came with that version. Members behind unicode_object are not needed here.
TABLE = {
    "runtime_state": "size finalizing interpreters_head",
    "interpreter_state": "size id next threads_head 14 threads_main 13 gc imports_modules sysdict builtins ceval_gil "
                         "gil_runtime_state gil_runtime_state_enabled gil_runtime_state_locked "
                         "gil_runtime_state_holder 14 code_object_generation tlbc_generation",
    "thread_state": "size prev next interp current_frame 15 base_frame last_profiled_frame last_profiled_frame_seq "
                    "13 thread_id native_thread_id datastack_chunk status "
                    "15 holds_gil gil_requested current_exception exc_state",
    "err_stackitem": "15 exc_value",
    "interpreter_frame": "size previous executable instr_ptr localsplus owner 14 stackpointer tlbc_index",
    "code_object": "size filename name qualname linetable firstlineno argcount localsplusnames localspluskinds "
                   "co_code_adaptive 14 co_tlbc",
    "pyobject": "size ob_type",
    "type_object": "size tp_name tp_repr tp_flags 15 tp_basicsize tp_dictoffset",
    "heap_type_object": "15 size ht_cached_keys",
    "tuple_object": "size ob_item ob_size",
    "list_object": "size ob_item ob_size",
    "set_object": "14 size used table mask",
    "dict_object": "size ma_keys ma_values",
    "float_object": "size ob_fval",
    "long_object": "size lv_tag ob_digit",
    "bytes_object": "size ob_size ob_sval",
    "unicode_object": "size state length asciiobject_size",
}
TABLE_MINORS = (13, 14, 15)

# Offsets that 3.11 and 3.12 have in common.
COMMON = {
    "runtime_state.interpreters_head": 40,
    "thread_state.next": 8, "thread_state.cframe": 56,
    "code_object.filename": 112, "code_object.qualname": 128, "code_object.linetable": 136,
    "pyobject.size": 16, "pyobject.ob_type": 8, "type_object.tp_name": 24, "type_object.tp_flags": 168,
    "tuple_object.ob_size": 16, "list_object.ob_size": 16, "float_object.ob_fval": 16, "long_object.ob_digit": 24,
    "bytes_object.ob_size": 16, "bytes_object.ob_sval": 32,
    "unicode_object.state": 32, "unicode_object.length": 16,
}
MEASURED = {
    11: {
        **COMMON,
        "runtime_state.gil_locked": 376, "runtime_state.gil_holder": 368,
        "interpreter_state.id": 48, "interpreter_state.next": 0, "interpreter_state.threads_head": 16,
        "thread_state.native_thread_id": 160, "cframe.current_frame": 8,
        "interpreter_frame.previous": 48, "interpreter_frame.executable": 32, "interpreter_frame.instr_ptr": 56,
        "interpreter_frame.is_entry": 68,
        "code_object.firstlineno": 72, "code_object.co_code_adaptive": 184, "long_object.ob_size": 16,
        "unicode_object.asciiobject_size": 48, "unicode_object.compact_size": 72,
    },
    12: {
        **COMMON,
        "interpreter_state.id": 8, "interpreter_state.next": 0, "interpreter_state.threads_head": 72,
        "interpreter_state.ceval_gil": 384, "interpreter_state.gil_runtime_state": 1040,
        "interpreter_state.gil_runtime_state_locked": 1056, "interpreter_state.gil_runtime_state_holder": 1048,
        "thread_state.native_thread_id": 144, "cframe.current_frame": 0,
        "interpreter_frame.previous": 8, "interpreter_frame.executable": 0, "interpreter_frame.instr_ptr": 56,
        "interpreter_frame.owner": 70,
        "code_object.firstlineno": 68, "code_object.co_code_adaptive": 192, "long_object.lv_tag": 16,
        "unicode_object.asciiobject_size": 40, "unicode_object.compact_size": 56,
    },
}


def find(read, runtime, minor):
    """{name: offset} for CPython 3.minor whose _PyRuntime is at an address. Raises root.RootError and
    root.MemoryProblem."""
    if minor in MEASURED:
        return MEASURED[minor]
    if minor not in TABLE_MINORS:
        raise root.RootError(f"the structures of CPython 3.{minor} are not known here; those of 3.11 to 3.15 are")
    names = [f"{name}.{member}" for name, members in TABLE.items() for member in members_of(members, minor)]
    data = bytes(read(runtime, HEADER.size + WORD * len(names)))
    cookie, version, free_threaded = HEADER.unpack_from(data)
    if cookie != COOKIE:
        raise root.RootError(f"_PyRuntime begins with {cookie!r}, {COOKIE!r} expected")
    if version >> 16 != 0x300 | minor:
        raise root.RootError(f"_PyRuntime is of version {version:#x}, one of 3.{minor} expected")
    if free_threaded:
        raise root.RootError("a free-threaded CPython is not read")
    offsets = dict(zip(names, struct.unpack_from(f"<{len(names)}Q", data, HEADER.size)))
    check(offsets)
    offsets["unicode_object.compact_size"] = offsets["unicode_object.asciiobject_size"] + 2 * WORD
    return offsets


def minor_of(read, runtime):
    """The minor version of the CPython, 3.13 or newer, whose _PyRuntime is at an address. Raises as find() does."""
    cookie, version, _ = HEADER.unpack(bytes(read(runtime, HEADER.size)))
    if cookie != COOKIE:
        raise root.RootError(f"_PyRuntime begins with {cookie!r}, {COOKIE!r} expected")
    return version >> 16 & 0xff


def members_of(text, minor):
    since = 0
    for word in text.split():
        if word.isdigit():
            since = int(word)
        elif since <= minor:
            yield word


def check(offsets):
    """Refuse a table of another shape: it has impossible numbers."""
    for name, offset in offsets.items():
        size = offsets.get(name.partition(".")[0] + ".size", STRUCTURE_MAX)
        if not offset <= size <= STRUCTURE_MAX:
            raise root.RootError(f"_Py_DebugOffsets is damaged: {name} is {offset}, at most {size} expected")
