# SPDX-License-Identifier: MIT
"""What differs between processors: how debuggers call them, and the register that points to a thread's variables.

Knows no debugger."""

import collections

# names: in gdb.Architecture.name() and at the beginning of lldb's triples. thread_pointers: names of the register, in gdb,
# in lldb, in what QEMU tells gdb.
Machine = collections.namedtuple("Machine", "names thread_pointers")

MACHINES = (
    Machine(("i386:x86-64", "x86_64"), ("fs_base",)),
    Machine(("aarch64", "arm64"), ("tpidr", "tpidr_el0", "TPIDR_EL0")),
)


def thread_pointers(name):
    """The names that the register may have on a machine; none on one that is not known."""
    return next((machine.thread_pointers for machine in MACHINES
                 if any(name == known or name.startswith(known + "-") for known in machine.names)), ())
