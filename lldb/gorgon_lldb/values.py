# SPDX-License-Identifier: MIT
"""gorgon print and gorgon tls: a variable of one copy, and of one thread.

lldb resolves the name of a global variable to the first copy of a library, and knows no
thread-local variables of private copies. The library file (reference.py) has types and link-time addresses,
for thread-local variables offsets in a block. The address in a copy is the link-time address plus the copy's
bias, or the offset plus the thread's block (root.py)."""

import re

import lldb

from gorgon_shared import machines, root, tables
from . import process, reference

# A variable without a known type is shown as a number of these sizes, or as so many bytes at most.
RAW_MAX = 64
LLDB_TYPES = {1: lldb.eBasicTypeUnsignedChar, 2: lldb.eBasicTypeUnsignedShort, 4: lldb.eBasicTypeUnsignedInt,
              8: lldb.eBasicTypeUnsignedLongLong}


def choose(target, frame, interp):
    """The objects in which to look for a name, nearest first: of interpreter N, or of the frame's interpreter."""
    if interp is not None:
        ns = tables.parse_interp(process.snapshot(target), str(interp))
        mine = process.object_of_frame(frame)
        return near_first(ns.objects, mine.path if mine else None)
    process.snapshot(target)  # says what is wrong when there is none
    mine = process.object_of_frame(frame)
    if not mine:
        raise root.RootError("the selected frame is not in an interpreter; -i N chooses one")
    return near_first(mine.namespace.objects, mine.path)


def near_first(objects, path):
    return sorted(objects, key=lambda o: o.path != path)


def split(expression):
    """A variable's name, and the path to a member that follows it."""
    found = re.match(r"[\w:~<>, ]*[\w>](?=$|\.|->|\[)", expression)
    if found and "->" in found[0]:
        found = re.match(r"[\w:]+", expression)
    if not found:
        raise root.RootError(f"{expression} is no name of a variable; members may follow one (book.entries[1])")
    return found[0], expression[found.end():]


def in_unit_of_frame(frame, o, ref, variables):
    """Of several static variables of a name, the variables of the frame's source file, if it has any."""
    if len(variables) < 2 or not o.start <= frame.GetPC() < o.end:
        return variables
    unit = ref.context(frame.GetPC() - o.bias).GetCompileUnit().GetFileSpec()
    mine = [v for v in variables if unit.IsValid() and v.GetDeclaration().GetFileSpec() == unit]
    return mine or variables


def read_value(target, address, name, variable_type):
    value = target.CreateValueFromAddress(name, lldb.SBAddress(address, target), variable_type)
    if value.GetData().GetByteSize():
        return value
    # Cores leave out constants.
    try:
        data, error = lldb.SBData(), lldb.SBError()
        data.SetData(error, reference.reader(target)(address, variable_type.GetByteSize()), target.GetByteOrder(),
                     target.GetAddressByteSize())
    except root.MemoryProblem as problem:
        raise root.RootError(f"{name}: {problem}") from None
    return target.CreateValueFromData(name, data, variable_type)


def show(target, address, name, path, variable_type, wants_address=False):
    value = read_value(target, address, name, variable_type)
    if path:
        value = value.GetValueForExpressionPath(path).Clone(name + path)
    if not value.IsValid():
        raise root.RootError(f"{name} has no member {path}")
    if value.GetError().Fail():
        raise root.RootError(f"{name}{path}: {value.GetError().GetCString()}")
    if wants_address:
        return f"({value.GetType().GetName()} *) &{name}{path} = {value.GetLoadAddress():#x}\n"
    stream = lldb.SBStream()
    value.GetDescription(stream)
    return stream.GetData().rstrip("\n") + "\n"


def raw_type(target, size):
    """The type to show a variable with: a number if there is one of this size, otherwise bytes."""
    if size in LLDB_TYPES:
        return target.GetBasicType(LLDB_TYPES[size])
    return target.GetBasicType(lldb.eBasicTypeUnsignedChar).GetArrayType(min(size, RAW_MAX))


def find_global(frame, objects, name):
    """(object, [(link-time address, type or None, size, declaration)]) of the nearest definition."""
    for o, ref in reference.search(objects):
        variables = in_unit_of_frame(frame, o, ref, [v for v in ref.find_globals(name) if not is_thread_local(v)])
        if variables:
            return o, [(v.GetAddress().GetFileAddress(), v.GetType(), None, str(v.GetDeclaration()))
                       for v in variables]
        symbols = [s for s in ref.find_symbols(name) if s.GetType() == lldb.eSymbolTypeData]
        if symbols:
            return o, [(s.GetStartAddress().GetFileAddress(), None, s.GetSize(), "") for s in symbols[:1]]
    return None, []


def is_thread_local(variable):
    """Whether a variable is thread-local: such a variable of a module that is not loaded has no address."""
    return variable.GetAddress().GetFileAddress() == lldb.LLDB_INVALID_ADDRESS


def print_global(target, frame, interp, expression):
    """gorgon print. Returns the text to print."""
    wants_address = expression.startswith("&")
    name, path = split(expression.removeprefix("&"))
    o, found = find_global(frame, choose(target, frame, interp), name)
    if not found:
        if find_tls(choose(target, frame, interp), name)[1]:
            raise root.RootError(f'{name} is thread-local; "gorgon tls {name}" shows it')
        raise root.RootError(f"no global variable {name} in {whose(target, frame, interp)}")
    text = ""
    for vaddr, variable_type, size, declaration in found:
        if len(found) > 1:
            text += f"{declaration}:\n"
        text += show(target, o.bias + vaddr, name, path, variable_type or raw_type(target, size), wants_address)
    return text


def whose(target, frame, interp):
    return f"interpreter {interp}" if interp is not None else process.object_of_frame(frame).namespace.label


def find_tls(objects, name):
    """(object, [(offset in the block, type or None, size)]) of the nearest definition."""
    for o, ref in reference.search(o for o in objects if o.tls_module or o.static_tls):
        found = definitions_of_tls(ref, name)
        if found:
            return o, found[:1]
    return None, []


def definitions_of_tls(ref, name):
    """[(offset in the block, type or None, size)]

    lldb has no kind for symbols of thread-local variables, and leaves their values, which are offsets in a block, as they
    are."""
    size = sum(s.GetByteSize() for s in tls_sections(ref.module))
    symbols = [s for s in ref.find_symbols(name) if s.GetType() == lldb.eSymbolTypeInvalid
               and s.GetStartAddress().GetFileAddress() < size]
    types = [v.GetType() for v in ref.find_globals(name)] if symbols else []
    return [(s.GetStartAddress().GetFileAddress(), types[0] if types else None, s.GetSize()) for s in symbols]


def tls_sections(module):
    """.tdata and .tbss, in whichever segment lldb shows them."""
    wanted = (".tdata", ".tbss")
    for section in module.sections:
        yield from (s for s in [section, *section] if s.GetName() in wanted)


def tls_block(target, frame, o):
    """The address of the thread-local variables of an object in the frame's thread. Raises root.RootError."""
    thread, registers = frame.GetThread(), machines.thread_pointers(target.GetTriple())
    pointer = next((frame.FindRegister(name).GetValueAsUnsigned(0) for name in registers if frame.FindRegister(name)), 0)
    block = root.tls_block(process.reader(target.GetProcess()), process.snapshot(target), o, thread.GetThreadID(),
                           pointer or None)
    if block is None:
        raise root.RootError(f"thread {thread.GetIndexID()} has not used thread-local variables of {o.label} yet")
    return block


def print_tls(target, frame, interp, expression):
    """gorgon tls. Returns the text to print."""
    name, path = split(expression)
    if not frame.IsValid():
        raise root.RootError("no thread is selected")
    o, found = find_tls(choose(target, frame, interp), name)
    if not found:
        raise root.RootError(f"no thread-local variable {name} in {whose(target, frame, interp)}")
    block = tls_block(target, frame, o)
    offset, variable_type, size = found[0]
    return show(target, block + offset, name, path, variable_type or raw_type(target, size))
