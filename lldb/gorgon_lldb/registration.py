# SPDX-License-Identifier: MIT
"""Registers all commands and formats with lldb. May be repeated: a second time changes nothing."""

from . import commands, here, labels, summaries

HELP = "Look at private copies of CPython and their extension modules."
LONG_HELP = """gorgon COMMAND. lldb by itself knows names in private code, sets breakpoints there and unwinds through it.
"gorgon symbols N [LIB]" adds source lines, arguments and locals to the copies that matter, "gorgon symbols auto" to all."""


def register(debugger):
    if here.is_typed():
        long_help = LONG_HELP.replace('"', '\\"').replace("\n", " ")
        debugger.HandleCommand(f'command container add --overwrite --help "{HELP}" --long-help "{long_help}" gorgon')
    for cls in commands.CLASSES if here.is_typed() else [commands.Gorgon]:
        debugger.HandleCommand(f"command script add --overwrite --class gorgon.{cls.__name__} {cls.name}")
    labels.switch(debugger, True)
    summaries.register(debugger)
    here.register(debugger)
