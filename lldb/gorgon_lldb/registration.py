# SPDX-License-Identifier: MIT
"""Make lldb know everything. May be repeated: a second time changes nothing."""


from . import commands, labels, summaries

HELP = "Look at private copies of CPython and their extension modules."


def register(debugger):
    debugger.HandleCommand(f'command container add --overwrite --help "{HELP}" gorgon')
    for cls in commands.CLASSES:
        debugger.HandleCommand(f"command script add --overwrite --class gorgon.{cls.__name__} {cls.name}")
    labels.switch(debugger, True)
    summaries.register(debugger)
