# SPDX-License-Identifier: MIT
"""Make lldb know everything. May be repeated: a second time changes nothing."""


from . import commands, here, labels, summaries

HELP = "Look at private copies of CPython and their extension modules."
LONG_HELP = """gorgon COMMAND. Names, breakpoints and backtraces of private code are there by themselves.
Source lines, arguments and locals are not, whether a library has a symfile of its own or all libraries of an
interpreter have one, as with many interpreters or --debug lazy: "gorgon symbols N [LIB]" adds them to the
copies that matter."""


def register(debugger):
    if here.is_typed():
        long_help = LONG_HELP.replace('"', '\\"').replace("\n", " ")
        debugger.HandleCommand(f'command container add --overwrite --help "{HELP}" --long-help "{long_help}" gorgon')
    for cls in commands.CLASSES if here.is_typed() else [commands.Gorgon]:
        debugger.HandleCommand(f"command script add --overwrite --class gorgon.{cls.__name__} {cls.name}")
    labels.switch(debugger, True)
    summaries.register(debugger)
    here.register(debugger)
