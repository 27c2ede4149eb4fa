# SPDX-License-Identifier: MIT
"""The gorgon commands. Docstrings of commands are their help."""

import functools
import inspect
import re

import lldb

from gorgon_shared import root, tables
from . import auto, backtrace, breaks, gil, here, labels, process, symbols, values


class Command:
    """Base class: splits arguments, and makes an error one line for the user."""

    name = None
    fresh = True  # what was read of the process before is forgotten

    def __init__(self, debugger, _dict):
        pass

    def get_short_help(self):
        return inspect.getdoc(self).split("\n", 1)[0]

    def get_long_help(self):
        return inspect.getdoc(self)

    def __call__(self, debugger, command, exe_ctx, result):
        target = exe_ctx.GetTarget() if exe_ctx.GetTarget().IsValid() else debugger.GetSelectedTarget()
        if self.fresh:
            process.forget(target)
        try:
            auto.follow(target)
            text = self.run(debugger, target, exe_ctx, command.strip())
        except root.RootError as error:
            result.SetError(f"{self.name}: {error}")
            return
        if text:
            result.PutCString(text.rstrip("\n"))
        result.SetStatus(lldb.eReturnStatusSuccessFinishResult)

    def run(self, debugger, target, exe_ctx, argument):
        raise NotImplementedError

    def words(self, argument, least, most):
        words = argument.split()
        if not least <= len(words) <= most:
            problem = "too many arguments" if len(words) > most else "an argument is missing"
            raise root.RootError(f'{problem}; see "help {self.name}"')
        return words

    def interp_option(self, argument):
        """(N or None, the rest) of "[-i N] REST"."""
        found = re.match(r"-i\s+(\S+)\s*", argument)
        if not found:
            return None, argument
        if not found[1].isdigit():
            raise root.RootError(f'a number expected after -i, not {found[1]}; see "help {self.name}"')
        return int(found[1]), argument[found.end():]


class List(Command):
    """Show the interpreters of the process.

    Usage: gorgon list [-v]

    With -v: what each interpreter is doing, how many calls of the host have
    ended in it and the processor time of these, how many threads its code has
    started, what it holds of memory and may hold, what the host calls it, and
    what the newest call runs.

    Num is the interpreter's number, Thread the thread that runs its program,
    libpython the address range of its own copy of libpython, State "live",
    "unloading" or "abandoned". GIL is the thread that holds the interpreter's
    lock, "-" when no thread does, "?" when CPython's structures cannot be read.
    A private namespace without an interpreter shows as "ns ID". If
    some interpreters are copies of a template, Copy of names it. Lines below the
    table say where Python lines are missing.

    Example:
      (lldb) gorgon list
      Num  Python  Objects  Thread        libpython                  State  GIL
      0    3.11    3        2 (tid 2143)  0x7ff6bee000-0x7ff7403000  live   -"""

    name = "gorgon list"

    def run(self, debugger, target, exe_ctx, argument):
        words = self.words(argument, 0, 1)
        if words and words != ["-v"]:
            raise root.RootError(f'{words[0]}: -v expected; see "help gorgon list"')
        snapshot = process.snapshot(target)
        if words:
            return tables.figures(snapshot)
        return tables.interpreters(snapshot, process.thread_name(target.GetProcess()), functools.partial(gil.text, target))


class Modules(Command):
    """Show the privately loaded objects: libpython, extensions, libraries.

    Usage: gorgon modules [N]

    N limits the table to one interpreter. An address in the file plus Bias is
    the address in memory. Debug info says where lines and variables are, which
    lldb reads after "gorgon symbols".

    Example:
      (lldb) gorgon modules 1"""

    name = "gorgon modules"

    def run(self, debugger, target, exe_ctx, argument):
        words = self.words(argument, 0, 1)
        snapshot = process.snapshot(target)
        wanted = [tables.parse_interp(snapshot, words[0])] if words else snapshot.namespaces
        return tables.modules(snapshot, wanted)


class Whose(Command):
    """Say which interpreter and object an address belongs to.

    Usage: gorgon whose ADDRESS

    ADDRESS is a number, an expression such as $pc or a pointer, or the name
    of a function: then there is a line for each copy. Nothing is called in
    the process.

    Example:
      (lldb) gorgon whose $pc
      0x7ff65ceb70: interpreter 1, libpython3.11.so.1.0, PyList_Append+0"""

    name = "gorgon whose"

    def run(self, debugger, target, exe_ctx, argument):
        if not argument:
            self.words(argument, 1, 1)
        snapshot = process.snapshot(target)
        text = tables.remarks(snapshot)
        for address in sorted(evaluate_addresses(target, exe_ctx, argument), key=by_interp(snapshot)):
            symbol, place = process.symbol_at(target, address)
            text += tables.whose(snapshot, address, symbol, place)
        return text


class Symbols(Command):
    """Add lines, variables and static functions to chosen copies.

    Usage: gorgon symbols N|all [LIB]
           gorgon symbols off
           gorgon symbols auto

    lldb knows private copies by their exported names until this command adds
    the library file with its debug information once for each copy. N is an
    interpreter's number; LIB limits it to objects whose name contains LIB or
    fits it as a pattern. A copy then is a module with the name of its file, also
    for "breakpoint set --shlib". If other objects were described together with
    it, they are the module "pack [interp 1]". Copies that are loaded later need
    the command again. "off" removes these modules. A stop hook of the target
    follows what the process loads, packs and unloads.

    "auto" adds the file of each copy as soon as the copy is registered, also of
    copies that are loaded later: breakpoints by file and line have their places
    before a constructor runs. It may be given before there is a program, in
    .lldbinit or among an editor's initCommands. Give it before the program
    starts: then lldb does not read symfiles at all, and has nothing twice.

    Each copy of libpython costs lldb a tenth of a second or two and tens of
    megabytes, the module of a pack a fifth of that.

    Example:
      (lldb) gorgon symbols 1 libpython
      (lldb) breakpoint set --file listobject.c --line 338"""

    name = "gorgon symbols"

    def run(self, debugger, target, exe_ctx, argument):
        words = self.words(argument, 1, 2)
        if words == ["auto"]:
            auto.switch(debugger, True)
            auto.follow(target)
            return "Copies have the symbols of their files as soon as they are there."
        if words == ["off"]:
            if auto.switch(debugger, False) and not target.GetProcess().IsValid():
                return "Copies to come have names."
            return symbols.remove(target)
        snapshot = self.snapshot(target)
        wanted = snapshot.namespaces if words[0] == "all" else [tables.parse_interp(snapshot, words[0])]
        return tables.remarks(snapshot) + symbols.add(target, wanted, words[1] if len(words) > 1 else None)

    def snapshot(self, target):
        if not target.GetProcess().IsValid():
            raise root.RootError('the program is not running, and there is no core file; "gorgon symbols auto" is for '
                                 "copies to come")
        return process.snapshot(target)


class Break(Command):
    """Set a breakpoint in all interpreters, or in one.

    Usage: gorgon break [-i N] LOCATION [if CONDITION]

    LOCATION is a function, which may be static, or FILE:LINE. It is looked up
    in the library files with their debug information, once per file, and
    placed in each private copy that there is or will be; so copies need no
    "gorgon symbols", and a LOCATION that no library has yet is pending. With
    -i the breakpoint is for interpreter N only, which need not exist yet.

    To lldb it is one breakpoint with a location for each copy: "breakpoint
    list" shows it, "breakpoint modify" changes it, and so on.
    CONDITION is an expression of lldb's; names of variables need the debug
    information of the copy ("gorgon symbols"), registers do not.

    Example:
      (lldb) gorgon break -i 1 list_append
      Breakpoint 1: list_append in interpreter 1, 1 location.
      (lldb) gorgon break timemodule.c:376 if $rdi == 0"""

    name = "gorgon break"
    once = False

    def run(self, debugger, target, exe_ctx, argument):
        interp, rest = self.interp_option(argument)
        location, _, condition = (part.strip() for part in re.sub(r"\s+if\s+", "\0", rest, count=1).partition("\0"))
        if not location:
            self.words(location, 1, 1)
        if not target.IsValid():
            raise root.RootError('there is no program; "file" names one')
        return breaks.create(target, location, interp, condition, self.once)


class Tbreak(Break):
    """Set a breakpoint that is deleted when it has been hit.

    Usage: gorgon tbreak [-i N] LOCATION [if CONDITION]

    Otherwise as "gorgon break"."""

    name = "gorgon tbreak"
    once = True


class Print(Command):
    """Show a global variable of the frame's interpreter, or of another one.

    Usage: gorgon print [-i N] [&]NAME[MEMBERS]

    NAME is a global or static variable of the library that the selected
    frame is in, or of another library of the same interpreter. MEMBERS may
    follow: book.entries[1], list->next. & shows the address, for "watchpoint
    set expression" and so on. "print NAME" means the frame's interpreter, too.

    Example:
      (lldb) gorgon print -i 2 _PyRuntime.initialized
      (int) initialized = 1"""

    name = "gorgon print"

    def run(self, debugger, target, exe_ctx, argument):
        interp, name = self.interp_option(argument)
        if not name:
            self.words(name, 1, 1)
        return values.print_global(target, exe_ctx.GetFrame(), interp, name)


class Tls(Command):
    """Show a thread-local variable of the selected thread.

    Usage: gorgon tls [-i N] NAME[MEMBERS]

    NAME is a variable of the library that the selected frame is in, or of
    another library of the same interpreter; with -i N, of interpreter N. A
    thread that has not used the thread-local variables of a library has none
    of them yet."""

    name = "gorgon tls"

    def run(self, debugger, target, exe_ctx, argument):
        interp, name = self.interp_option(argument)
        if not name:
            self.words(name, 1, 1)
        return values.print_tls(target, exe_ctx.GetFrame(), interp, name)


class Bt(Command):
    """Show native and Python frames of the selected thread in one backtrace.

    Usage: gorgon bt [-i N]

    The Python functions that a call of CPython's evaluation function runs
    follow its native frame. -i N shows the thread that runs interpreter N's
    program. Functions, inlined ones too, and lines of private code come from
    the library files, so copies need no "gorgon symbols".

    Example:
      (lldb) gorgon bt
      #0   0x00007ffff6ff8db0 in time_sleep  libpython3.11.so.1.0 [interp 0]  timemodule.c:374
      #1   0x00007ffff6f01f62 in _PyEval_EvalFrameDefault  libpython3.11.so.1.0 [interp 0]  ceval.c:5391
            py inner  program.py:24"""

    name = "gorgon bt"

    def run(self, debugger, target, exe_ctx, argument):
        interp, rest = self.interp_option(argument)
        self.words(rest, 0, 0)
        thread = exe_ctx.GetThread()
        if interp is not None:
            ns = tables.parse_interp(process.snapshot(target), str(interp))
            thread = target.GetProcess().GetThreadByID(ns.thread)
            if not ns.thread or not thread.IsValid():
                raise root.RootError(f"no thread runs interpreter {interp}")
        process.snapshot(target)  # says what is wrong when there is no process
        return backtrace.backtrace(target, thread)


class Apply(Command):
    """Run a command for one interpreter, or for every interpreter in turn.

    Usage: gorgon apply N|all COMMAND

    COMMAND sees the thread that runs the interpreter's program, and in it
    the innermost frame of that interpreter's private code; the selected
    thread stays selected. Interpreters that no thread runs are named and
    left out.

    Example:
      (lldb) gorgon apply all gorgon print _PyRuntime.initialized"""

    name = "gorgon apply"

    def run(self, debugger, target, exe_ctx, argument):
        number, _, command = argument.partition(" ")
        if not command.strip():
            self.words("", 1, 1)
        snapshot = process.snapshot(target)
        wanted = snapshot.namespaces if number == "all" else [tables.parse_interp(snapshot, number)]
        text = tables.remarks(snapshot)
        for ns in wanted:
            text += self.one(debugger, target, ns, command.strip())
            if debugger.GetCommandInterpreter().WasInterrupted():
                break  # Ctrl-C is for all of them
        return text

    def one(self, debugger, target, ns, command):
        thread = target.GetProcess().GetThreadByID(ns.thread)
        if not ns.thread or not thread.IsValid():
            return f"{ns.label}: no thread runs it\n"
        context = lldb.SBExecutionContext(process.frame_of_namespace(thread, ns))
        result = lldb.SBCommandReturnObject()
        debugger.GetCommandInterpreter().HandleCommand(command, context, result)
        text = (result.GetOutput() or "") + (result.GetError() or "")
        return f"{ns.label}, thread {thread.GetIndexID()} (tid {ns.thread}):\n{text.rstrip()}\n"


class Here(Command):
    """Make an ordinary command mean the copy of the selected frame.

    Usage: gorgon here COMMAND

    lldb runs it by itself before expression, dwim-print, target variable and
    watchpoint set variable, and so before p, print, call and po: functions
    and global variables that COMMAND names are those of the frame's
    interpreter. lldb by itself takes the first copy. COMMAND is not run."""

    name = "gorgon here"
    fresh = False

    def run(self, debugger, target, exe_ctx, argument):
        return here.prepare(debugger, target, exe_ctx, argument)


class Label(Command):
    """Switch the labels of private frames on or off.

    Usage: gorgon label on|off

    On, which is the state after import, frames of private code show
    "libfoo.so [interp N]" where lldb shows "JIT(0x...)". It replaces
    ${module.file.basename} in the settings frame-format,
    frame-format-unique, thread-format and thread-stop-format; off puts it
    back. In formats of your own write ${script.frame:gorgon.frame_label}."""

    name = "gorgon label"

    def run(self, debugger, target, exe_ctx, argument):
        if argument not in ("on", "off"):
            raise root.RootError('"on" or "off" expected')
        labels.switch(debugger, argument == "on")
        return f"Labels of private frames are {argument}."


def by_interp(snapshot):
    def order(address):
        found = snapshot.find_object(address)
        return (found.namespace.id if found else -1), address

    return order


def evaluate_addresses(target, exe_ctx, text):
    """A number, an expression, or a function's name with an address for each copy."""
    try:
        return [int(text, 0) & 0xFFFFFFFFFFFFFFFF]
    except ValueError:
        pass
    found = [context.GetSymbol().GetStartAddress().GetLoadAddress(target)
             for context in target.FindSymbols(text, lldb.eSymbolTypeCode)]
    found = [address for address in dict.fromkeys(found) if address != lldb.LLDB_INVALID_ADDRESS]
    if found:
        return found
    options = lldb.SBExpressionOptions()
    options.SetAllowJIT(False)  # nothing may run in the process
    frame = exe_ctx.GetFrame()
    value = frame.EvaluateExpression(text, options) if frame.IsValid() else \
        target.EvaluateExpression(text, options)
    if value.GetError().Fail():
        raise root.RootError(f"{text} is no address: {first_line(value.GetError().GetCString())}")
    error = lldb.SBError()
    address = value.GetValueAsUnsigned(error)
    if error.Fail():
        raise root.RootError(f"{text} is no address")
    return [address]


def first_line(text):
    lines = [line for line in (text or "").splitlines() if "error:" in line]
    return lines[0].split("error:", 1)[1].strip() if lines else (text or "unknown").strip()


CLASSES = (List, Modules, Whose, Symbols, Break, Tbreak, Print, Tls, Bt, Apply, Here, Label)


class Gorgon(Command):
    """Look at private copies of CPython and their extension modules.

    Usage: gorgon COMMAND [ARGUMENTS]"""

    # This class takes the place of the command container in editors: in its console lldb-dap takes the name of a container for that
    # of a variable.

    name = "gorgon"

    def get_long_help(self):
        lines = [f"{cls.name:15} -- {cls.get_short_help(cls)}" for cls in CLASSES]
        return "\n".join([inspect.getdoc(self), "", *lines])

    def __call__(self, debugger, command, exe_ctx, result):
        word, _, argument = command.strip().partition(" ")
        cls = next((cls for cls in CLASSES if cls.name == f"gorgon {word}"), None)
        if cls:
            cls(debugger, {})(debugger, argument, exe_ctx, result)
        else:
            result.SetError(f'gorgon: {f"there is no command {word}" if word else "a command is missing"}; see "help gorgon"')
