# SPDX-License-Identifier: MIT
"""An editor that drives gdb by its machine interface (MI) shows each thread with the interpreter whose program it runs.

-thread-info has a thread's name, which gdb lets its user choose ("thread name"). At each stop threads of interpreters get theirs:
"host [interp 1]". A thread that works for no interpreter any more has its own name again."""

import gdb

from . import mi_input, process

_labels = {}  # ptid of a thread -> the interpreter's label that was added to its name


def on_stop(_event=None):
    snapshot = process.try_snapshot() if mi_input.is_driven_by_mi() else None
    if snapshot is None:
        return
    owners = {ns.thread: ns.label for ns in snapshot.namespaces if ns.thread}
    for thread in gdb.selected_inferior().threads():
        label = owners.get(process.kernel_id(thread))
        if label != _labels.get(thread.ptid):
            rename(thread, label)


def rename(thread, label):
    """Add a label to a thread's name, or with None give the thread its own name again."""
    before = _labels.pop(thread.ptid, None)
    name = (thread.name or "").removesuffix(f" [{before}]")
    thread.name = f"{name} [{label}]".lstrip() if label else None
    if label:
        _labels[thread.ptid] = label


def forget(_event=None):
    _labels.clear()
