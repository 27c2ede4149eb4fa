# SPDX-License-Identifier: MIT
"""$gorgon_interp() and $gorgon() for expressions and conditions, and the variable $_gorgon_interp."""

import gdb

from gorgon_shared import root
from . import languages, process, values

VARIABLE = "_gorgon_interp"


class GorgonInterp(gdb.Function):
    """Number of the interpreter that an address or the selected frame belongs to.

    Usage: $gorgon_interp ([ADDRESS])

    With ADDRESS: the interpreter whose private object contains it. Without: that of the
    selected frame or, where that runs shared code such as libc, of its nearest caller in
    private code. -1 when there is none.

    The variable $_gorgon_interp has the value of $gorgon_interp() too, but gdb evaluates
    variables only when somebody sets them: it is set at each stop and before each prompt.
    In breakpoint conditions and scripts use the function.

    Example:
      (gdb) break PyList_Append if $gorgon_interp() == 1"""

    def __init__(self):
        super().__init__("gorgon_interp")

    def invoke(self, *args):
        if len(args) > 1:
            raise gdb.GdbError("$gorgon_interp: one ADDRESS at most")
        if not args:
            return process.interp_of_selected_frame()
        value = args[0]
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_FUNC:
            value = value.address
        return process.interp_of_address(int(value) & 0xFFFFFFFFFFFFFFFF)


class Gorgon(gdb.Function):
    """A variable or function of one private copy, by its name.

    Usage: $gorgon (NAME[, N])

    NAME is a string. The copy is that of the selected frame; with N, of interpreter N. The value can be
    assigned to, called, watched, and its address taken. It is for expressions that gdb evaluates
    by itself: conditions, "display", "x", expressions of editors. "print", "printf", "set variable"
    and "watch" do not need it. "sizeof" and "ptype" do not look into what functions return.

    Example:
      (gdb) break helper if $gorgon("counter") == 3
      (gdb) display $gorgon("counter", 2)"""

    def __init__(self):
        super().__init__("gorgon")

    def invoke(self, name, interp=None):
        text = languages.text(name)
        try:
            copy = values.copy_of_frame() if interp is None else values.copy_of(int(interp))
            variable = values.find(text, copy) if copy else None
            if variable is None:
                return gdb.parse_and_eval(text)
            if variable.type is None:
                raise values.NoType(f"nothing describes the type of {text}")
            return variable.value
        except (root.RootError, root.MemoryProblem, gdb.error) as error:
            raise gdb.GdbError(f"$gorgon: {error}") from None


def update_variable(_event=None):
    gdb.set_convenience_variable(VARIABLE, process.interp_of_selected_frame())


def register():
    GorgonInterp()
    Gorgon()
