# SPDX-License-Identifier: MIT
"""Ordinary commands mean the copy of the selected frame: expression, print (p, call, po), target variable and
watchpoint set variable.

lldb looks for functions and global variables in all modules, and takes the first copy of those that are not
of the frame's own source file, or calls them ambiguous. So before it evaluates an expression such names are
defined, for the preprocessor, as addresses in the frame's interpreter with their types: that is the
setting target.expr-prefix, a file. It is taken back before the next expression. Names of local variables
and of the source file are left alone: lldb has these right; so are all that no private object has.

lldb asks override() before it runs one of these commands. It does not say in which thread and frame (those of
"breakpoint command add" or "gorgon apply" are not the selected ones); a nested command hears of that,
"gorgon here". A command that would act on another copy is refused, with the one that is right. To do it in
lldb's place would count as a failure there, and end files of commands.

Not handled: expressions that editors evaluate do not come as commands, and would see definitions of an
earlier command; what they have is in editors.py. Conditions of breakpoints do not see them. Functions
without types are functions without arguments, so that a call needs a cast, as in any program."""

import contextlib
import os
import re

import lldb

from . import process, reference, root, values

EXPRESSIONS = ("expression", "dwim-print")
COMMANDS = (*EXPRESSIONS, "target variable", "watchpoint set variable", "process save-core")
PREFIX = "target.expr-prefix"
# A text, a character, a member, or a name.
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|(?:\.|->|::)\s*[A-Za-z_]\w*|(?<![\w$.])[A-Za-z_]\w*(?!\w|\s*::)')
PROGRAM = re.compile(r"(lldb|python)[-\d.]*$")  # not lldb-dap
COPIES_MAX = 1000
FULL = re.compile(r"(-s|--style)[ =]?full\b")

_prefixes = {}  # id of a debugger -> Prefix
_kept = []      # lldb does not hold the functions that it is given


def is_typed():
    """Whether expressions come as commands: an editor's adapter is another program."""
    return bool(PROGRAM.match(os.path.basename(os.path.realpath("/proc/self/exe"))))


def register(debugger):
    """Also again: the latest counts."""
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
    # Where lldb does not take functions of Python here its commands remain as they are.
    with contextlib.suppress(AttributeError, NotImplementedError, TypeError):
        for command in COMMANDS:
            interpreter.SetCommandOverrideCallback(command, override)


def prepare(debugger, target, context, line):
    """Returns what is to be said before lldb runs the command. Raises root.RootError when it must not."""
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
    """What "process save-core" needs for private code. lldb cannot write modules that it has made of symfiles, and by
    default it writes stacks only; of modules with one build-id it then knows one."""
    text = ""
    if any((module.GetFileSpec().GetFilename() or "").startswith("JIT(") for module in target.module_iter()):
        text += 'lldb cannot write its modules JIT(...) into a core; after "gorgon symbols all" it has none.\n'
    if not FULL.search(words):
        text += 'This core will have stacks only; with "--style full" it has what private code needs, and one of gcore has it.\n'
    return text


def expression_of(words):
    """counter + 1, of "-f x -- counter + 1"."""
    if words.startswith("-"):
        _, separator, expression = (" " + words).partition(" -- ")
        if separator:
            return expression
    return words


def definitions(target, frame, objects, expression):
    """[(name, expression with its address)] of names that lldb might look for in another copy."""
    tokens = TOKEN.findall(expression)
    members = {re.sub(r"^\W+", "", token) for token in tokens if token[0] in ".-:"}
    found = []
    for name in dict.fromkeys(token for token in tokens if re.match(r"[A-Za-z_]", token)):
        place = None if is_near(target, frame, name) else find(target, frame, objects, name)
        if place and name in members:
            raise root.RootError(f'{name} is a member and a global name here; "gorgon print &{name}" has its address')
        if place:
            found.append((name, place))
    return found


def is_near(target, frame, name):
    """A variable of the function or of its source file."""
    value = frame.GetValueForVariablePath(name)
    if not value.IsValid() or value.GetError().Fail():
        return False
    o = process.object_of_address(target, value.GetLoadAddress())
    return not o or o is process.object_of_frame(frame)


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
    if not kind or re.search(r"unnamed|anonymous", kind):
        raise root.RootError(f'the type of {name} has no name; "gorgon {command} {name}" shows it')
    return f"(*({kind}){address:#x})"


class Prefix:
    """Definitions that lldb puts before expressions, behind those that it had been told to put there."""

    def __init__(self, debugger, text):
        self.text = text
        self.before = (debugger.GetInternalVariableValue(PREFIX, debugger.GetInstanceName()).GetStringAtIndex(0) or "").strip('"')
        if self.before and os.path.isfile(self.before):
            with open(self.before) as file:
                text = file.read() + "\n" + text
        # In no folder, where it would stay when lldb ends.
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
    """For the next expression."""
    _prefixes[debugger.GetID()] = Prefix(debugger, "".join(f"#define {name} {place}\n" for name, place in defined))


def restore(debugger):
    prefix = _prefixes.pop(debugger.GetID(), None)
    if prefix:
        prefix.take_back(debugger)


def say_whose(target, words):
    """Above what lldb shows of all copies, in this order."""
    text = ""
    for name in (word for word in words.split() if re.fullmatch(r"[\w:]+", word)):
        found = [process.object_of_address(target, value.GetLoadAddress())
                 for value in target.FindGlobalVariables(name, COPIES_MAX)]
        labels = [o.label if o else "the host" for o in found]
        if len(labels) > 1:
            text += f'{name} of {", ".join(labels)}; "gorgon print {name}" shows the frame\'s.\n'
    return text


def refuse_other_copy(target, frame, objects, words):
    """watchpoint set variable [-w KIND] [-s SIZE] NAME: lldb has those of the frame's source file right."""
    name = words.split()[-1] if words else ""
    variable = re.match(r"[\w:]*", name)[0]
    if not variable or is_near(target, frame, variable):
        return
    o, found = values.find_global(frame, objects, variable)
    if found:
        vaddr, variable_type, size, _ = found[0]
        size = variable_type.GetByteSize() if variable_type else size
        right = f"watchpoint set expression {words[:-len(name)]}-s {size} -- {o.bias + vaddr:#x}" if name == variable \
            else f'"gorgon print &{name}", and "watchpoint set expression"'
        raise root.RootError(f"lldb takes the first copy's {variable}; that of {o.label} is watched by: {right}")
