# SPDX-License-Identifier: MIT
"""What an editor has gdb's debug adapter evaluate - a watch, a hover, the setting of a variable - means the frame's copy, as
"print" does.

The adapter is a part of gdb in Python, which is loaded when the session begins, after our scripts. It selects the frame, then
it calls a function of the module that answers such requests; that function is replaced at the first stop. gdb 14 and 15
call gdb.parse_and_eval() there, which is everybody's and left alone: an expression is as in plain gdb."""

import functools
import sys

from . import ordinary

MODULE, NAME = "gdb.dap.evaluate", "parse_and_eval"


def on_stop(_event):
    module = sys.modules.get(MODULE)
    before = getattr(module, NAME, None)
    if before and not hasattr(before, "__wrapped__"):
        setattr(module, NAME, meaning_the_copy(before))


def meaning_the_copy(before):
    @functools.wraps(before)
    def parse_and_eval(expression, *args, **kwargs):
        return before(ordinary.own(expression), *args, **kwargs)

    return parse_and_eval
