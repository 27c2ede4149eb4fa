# SPDX-License-Identifier: MIT
"""Brings back the modules of copies in a core that lldb has written ("process save-core").

lldb writes into the core the path of each module, and where it was; the path of a copy is its link (files.py). When it reads the
core, it takes modules with one build-id for one module, at the place of the last of them, so that frames of all other copies have no
names. So this file reads the list of modules in the core once more. The list does not depend on memory, since by default a core has
stacks only.

That happens before the first command that shows threads, frames or modules: lldb has read the core by then, and nobody has looked
at it yet. It is a part of "gorgon symbols auto"."""

import contextlib
import os
import struct

from . import files, here, symbols

COMMANDS = ("thread backtrace", "thread info", "thread list", "thread select", "frame info", "frame select", "frame variable",
            "target modules list", "target modules lookup", "disassemble", "source list")

HEADER = struct.Struct("<4sIII")  # signature, version, number of streams, where the table of streams is
STREAM = struct.Struct("<III")    # kind, size, where it is
MODULES = 4
MODULE = struct.Struct("<QIIII84x")  # address, size, checksum, time, where its name is
NAME_MAX = 2 * 4096
MODULES_MAX = 1_000_000

_kept = []  # functions that lldb was given, to which it holds no reference


def expect(target):
    """lldb is reading a core with modules that were copies: bring them back before the first command that shows something."""
    debugger = target.GetDebugger()
    interpreter = debugger.GetCommandInterpreter()
    done = []

    def override(*_words):
        if not done:
            done.append(True)
            restore(target)
        return False  # lldb runs the command

    _kept.append(override)
    with contextlib.suppress(AttributeError, NotImplementedError, TypeError):  # as in here.py
        for command in COMMANDS if here.is_typed() else ():
            interpreter.SetCommandOverrideCallback(command, override)


def restore(target):
    process = target.GetProcess()
    if not process.IsValid() or process.GetPluginName() != "minidump":
        return
    symbols.follow(target, True)
    if symbols.is_followed(target):
        return
    with contextlib.suppress(OSError, struct.error, ValueError, AttributeError), open(process.GetCoreFile().fullpath, "rb") as file:
        copies = [(path, address) for path, address in read_modules(file) if files.has_links(os.path.dirname(path))]
        symbols.drop_merged(target)
        for path, address in copies:
            module = target.AddModule(path, None, None)
            symbols.place(target, module, address - module.GetObjectFileHeaderAddress().GetFileAddress())


def read_modules(file):
    """[(path, address)] of a core."""
    def read(layout, at):
        file.seek(at)
        return layout.unpack(file.read(layout.size))

    found = []
    signature, _, count, table = read(HEADER, 0)
    for i in range(count if signature == b"MDMP" else 0):
        kind, _, at = read(STREAM, table + i * STREAM.size)
        if kind != MODULES:
            continue
        number, = read(struct.Struct("<I"), at)
        for j in range(min(number, MODULES_MAX)):
            address, _, _, _, name = read(MODULE, at + 4 + j * MODULE.size)
            size, = read(struct.Struct("<I"), name)
            found.append((file.read(min(size, NAME_MAX)).decode("utf-16-le"), address))
    return found
