# SPDX-License-Identifier: MIT
"""Ordinary commands mean the copy of the selected frame: expression, print (p, call, po), target variable and
watchpoint set variable.

lldb looks for functions and global variables in all modules. For a name that is not in the frame's own source file it
takes the first copy's, or calls the name ambiguous. So before lldb evaluates an expression, this module defines such names
for the preprocessor, as addresses in the frame's interpreter with their types. The definitions are in a
file that the setting target.expr-prefix names, and are removed before the next expression. Names of local variables
and of the source file need no definition, because lldb finds the right ones, and names that no private object has get none.

lldb calls override() before it runs one of these commands, but does not tell it the thread and frame, which may not be the
selected ones ("breakpoint command add", "gorgon apply"). A nested command is told, so override() runs "gorgon here". A
command that would act on another copy is refused, and the error names the right command. override() cannot run that command
itself: lldb would take that for a failure, and end a file of commands there.

Not handled: expressions that editors evaluate do not come as commands, so that definitions could not be made for each;
editors.py has definitions for them. Conditions of breakpoints do not see the definitions. A function
without types is defined as a function without arguments, so that a call needs a cast, as in any program."""

import contextlib
import os
import re

import lldb

from gorgon_shared import root
from . import process, reference, values

EXPRESSIONS = ("expression", "dwim-print")
COMMANDS = (*EXPRESSIONS, "target variable", "watchpoint set variable", "process save-core")
PREFIX = "target.expr-prefix"
# A string, a character, a member, or a name.
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|(?:\.|->|::)\s*[A-Za-z_]\w*|(?<![\w$.])[A-Za-z_]\w*(?!\w|\s*::)')
QUALIFIED = re.compile(r"(?<![\w.>:])[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+(?!\w|\s*(?:::|\())")
PROGRAM = re.compile(r"(lldb|python)[-\d.]*$")  # not lldb-dap
UNNAMED = r"unnamed|anonymous"  # in lldb's names of types that have none
COPIES_MAX = 1000
FULL = re.compile(r"(-s|--style)[ =]?full\b")

_prefixes = {}  # id of a debugger -> Prefix
_kept = []      # functions that lldb was given, to which it holds no reference


def is_typed():
    """Whether expressions come as commands: an editor's adapter is another program."""
    return bool(PROGRAM.match(os.path.basename(os.path.realpath("/proc/self/exe"))))


def register(debugger):
    """Have lldb call override(). May be repeated: lldb calls the function that it was given last."""
    if not is_typed():
        return
    interpreter = debugger.GetCommandInterpreter()

    def override(*words):
        result = lldb.SBCommandReturnObject()
        interpreter.HandleCommand("gorgon here " + " ".join(words), result)
        for text in (result.GetOutput(), result.GetError()):
            if text:
                debugger.GetErrorFile().Write(text.replace("gorgon here: ", "").encode())
                debugger.GetErrorFile().Flush()
        return not result.Succeeded()

    _kept.append(override)
    # If this lldb does not take functions in Python here, its commands stay as they are.
    with contextlib.suppress(AttributeError, NotImplementedError, TypeError):
        for command in COMMANDS:
            interpreter.SetCommandOverrideCallback(command, override)


def prepare(debugger, target, context, line):
    """Prepare lldb for a command. Returns what to tell the user before lldb runs it. Raises root.RootError when lldb must not."""
    restore(debugger)
    name = next((c for c in COMMANDS if line.startswith(c)), "")
    words, frame = line[len(name):].strip(), context.GetFrame()
    if name == "process save-core":
        return say_of_core(target, words) if process.try_snapshot(target) else ""
    mine = process.object_of_frame(frame)
    if not name or not mine:
        return ""
    objects = values.near_first(mine.namespace.objects, mine.path)
    if name == "target variable":
        return say_whose(target, words)
    if name == "watchpoint set variable":
        refuse_other_copy(target, frame, objects, words)
        return ""
    defined = definitions(target, frame, objects, expression_of(words))
    if defined:
        define(debugger, defined)
    return ""


def say_of_core(target, words):
    """What to say of private code before "process save-core". lldb cannot write modules that it has made from symfiles, by
    default it writes stacks only, and of several modules with one build-id it will know only one."""
    text = ""
    if any((module.GetFileSpec().GetFilename() or "").startswith("JIT(") for module in target.module_iter()):
        text += 'lldb cannot write its modules JIT(...) into a core; after "gorgon symbols all" it has none.\n'
    if not FULL.search(words):
        text += 'This core will have stacks only; with "--style full" it has what private code needs, and one of gcore has it.\n'
    if re.search(r"version 21\.", target.GetDebugger().GetVersionString()):
        text += "lldb 21 writes the stack of one thread only into a core, of any program; a core of gcore has all.\n"
    return text


def expression_of(words):
    """The expression of a command's arguments: "counter + 1" of "-f x -- counter + 1"."""
    if words.startswith("-"):
        _, separator, expression = (" " + words).partition(" -- ")
        if separator:
            return expression
    return words


def definitions(target, frame, objects, expression):
    """[(name, expression with the name's address)] of the names for which lldb might look in another copy."""
    for name in QUALIFIED.findall(expression):
        refuse_qualified(target, objects, name)
    tokens = TOKEN.findall(expression)
    members = {re.sub(r"^\W+", "", token) for token in tokens if token[0] in ".-:"}
    found = []
    for name in dict.fromkeys(token for token in tokens if re.match(r"[A-Za-z_]", token)):
        near = variable_near(target, frame, name)
        place = in_namespace(frame, name, near) if near else find(target, frame, objects, name)
        if place and name in members:
            raise root.RootError(f'{name} is a member and a global name here; "gorgon print &{name}" has its address')
        if place:
            found.append((name, place))
    return found


def variable_near(target, frame, name):
    """The variable of the function or of its source file that has this name, or None."""
    value = frame.GetValueForVariablePath(name)
    if not value.IsValid() or value.GetError().Fail():
        return None
    o = process.object_of_address(target, value.GetLoadAddress())
    return value if not o or o is process.object_of_frame(frame) else None


def in_namespace(frame, name, near):
    """A variable of the frame's source file as an expression with its address if it is in a namespace of C++, perhaps one
    without a name: lldb looks for names in namespaces in all modules, even for those of the frame's source file. None: lldb
    finds the right variable."""
    if "::" not in (near.GetName() or "") or frame.GetValueForVariablePath(f"this->{name}").IsValid():
        return None
    kind = near.GetType().GetName() or "anonymous"
    return f"(*({f'__typeof__({name})' if re.search(UNNAMED, kind) else kind} *){near.GetLoadAddress():#x})"


def refuse_qualified(target, objects, name):
    """Refuse a name with namespaces or classes where lldb would take another copy's variable: a qualified name cannot be defined."""
    found = [process.object_of_address(target, value.GetLoadAddress()) for value in target.FindGlobalVariables(name, COPIES_MAX)]
    if any(o in objects for o in found) and any(o and o not in objects for o in found):
        raise root.RootError(f'lldb may take another copy\'s {name}; "gorgon print {name}" shows the frame\'s, and "gorgon print '
                             f'&{name}" its address')


def find(target, frame, objects, name):
    """A name as an expression with its address, or None where no library of the interpreter has it."""
    o, found = values.find_global(frame, objects, name)
    if found:
        vaddr, variable_type, size, _ = found[0]
        return at(target, name, o.bias + vaddr, variable_type, size, "print")
    o, found = values.find_tls(objects, name)
    if found:
        offset, variable_type, size = found[0]
        return at(target, name, values.tls_block(target, frame, o) + offset, variable_type, size, "tls")
    for o, ref in reference.search(objects):
        place, kind = ref.find_function(name)
        if place is not None:
            return f"(({kind}){o.bias + place:#x})"
    return None


def at(target, name, address, variable_type, size, command):
    """A variable as an expression. Raises root.RootError."""
    kind = (variable_type or values.raw_type(target, size)).GetPointerType().GetName()
    if not kind or re.search(UNNAMED, kind):
        raise root.RootError(f'the type of {name} has no name; "gorgon {command} {name}" shows it')
    return f"(*({kind}){address:#x})"


class Prefix:
    """Definitions that lldb puts before expressions, behind the user's own target.expr-prefix."""

    def __init__(self, debugger, text):
        self.text = text
        self.before = (debugger.GetInternalVariableValue(PREFIX, debugger.GetInstanceName()).GetStringAtIndex(0) or "").strip('"')
        if self.before and os.path.isfile(self.before):
            with open(self.before) as file:
                text = file.read() + "\n" + text
        # The file is in no folder, since it would stay there when lldb ends.
        self.file = os.memfd_create("gorgon-prefix")
        os.write(self.file, text.encode())
        debugger.SetInternalVariable(PREFIX, f"/proc/{os.getpid()}/fd/{self.file}", debugger.GetInstanceName())

    def take_back(self, debugger):
        if self.before:
            debugger.SetInternalVariable(PREFIX, self.before, debugger.GetInstanceName())
        else:
            debugger.HandleCommand(f"settings clear {PREFIX}")
        os.close(self.file)


def define(debugger, defined):
    """Have lldb put these definitions before the next expression."""
    _prefixes[debugger.GetID()] = Prefix(debugger, "".join(f"#define {name} {place}\n" for name, place in defined))


def restore(debugger):
    prefix = _prefixes.pop(debugger.GetID(), None)
    if prefix:
        prefix.take_back(debugger)


def say_whose(target, words):
    """A line to show above the variables of all copies: it names their owners, in the order of the variables."""
    text = ""
    for name in (word for word in words.split() if re.fullmatch(r"[\w:]+", word)):
        found = [process.object_of_address(target, value.GetLoadAddress())
                 for value in target.FindGlobalVariables(name, COPIES_MAX)]
        labels = [o.label if o else "the host" for o in found]
        if len(labels) > 1:
            text += f'{name} of {", ".join(labels)}; "gorgon print {name}" shows the frame\'s.\n'
    return text


def refuse_other_copy(target, frame, objects, words):
    """Refuse "watchpoint set variable [-w KIND] [-s SIZE] NAME" where lldb would take another copy's variable: it finds
    variables of the frame's source file itself."""
    name = words.split()[-1] if words else ""
    variable = re.match(r"[\w:]*", name)[0]
    if not variable or variable_near(target, frame, variable):
        return
    o, found = values.find_global(frame, objects, variable)
    if found:
        vaddr, variable_type, size, _ = found[0]
        size = variable_type.GetByteSize() if variable_type else size
        right = f"watchpoint set expression {words[:-len(name)]}-s {size} -- {o.bias + vaddr:#x}" if name == variable \
            else f'"gorgon print &{name}", and "watchpoint set expression"'
        raise root.RootError(f"lldb takes the first copy's {variable}; that of {o.label} is watched by: {right}")
