# SPDX-License-Identifier: MIT
"""The file of a library as it is on disk, once for all of its copies.

Copies differ by their biases alone. So names, lines and types come from the file, with
its debug information, and an address in a copy is the file's address plus the bias. The files are opened in a debugger of
their own: nothing of this shows in the user's targets, and no copy needs "gorgon symbols"."""

import contextlib
import os
import re

import lldb

from gorgon_shared import python, root
from . import files, inflated, libraries, process

MATCHES_MAX = 64  # definitions of one name in one library

_references = {}  # (path, time of the last change, size) -> Reference
_debugger = None


def own_debugger():
    global _debugger
    if _debugger is None:
        _debugger = lldb.SBDebugger.Create(False)
        # lldb reports what is wrong with a file to the user's debugger, too.
        _debugger.SetErrorFile(lldb.SBFile.Create(open(os.devnull, "w"), borrow=False))
        _debugger.SetInternalVariable("target.preload-symbols", "false", _debugger.GetInstanceName())
    return _debugger


class Reference:
    """One library file. Addresses are link-time addresses."""

    def __init__(self, o):
        self.target = own_debugger().CreateTarget("")
        files.keep_indexes(own_debugger())
        # Opened by the copy's own link: if the user's target has this link, too ("gorgon symbols"), lldb reads the file only once.
        self.module = self.target.AddModule(libraries.link_to(own_debugger(), o), None, None, inflated.debug_file(own_debugger(), o))
        if not self.module.IsValid():
            raise root.RootError(f"lldb cannot read {o.path}")
        self.build_id = (self.module.GetUUIDString() or "").replace("-", "").lower()
        self.places = {}

    def find_places(self, location):
        """Where a breakpoint at a function or at file:line has to be, as lldb itself decides it."""
        if location not in self.places:
            line = re.fullmatch(r"(.+):(\d+)", location)
            breakpoint = self.target.BreakpointCreateByLocation(line[1], int(line[2])) if line else \
                self.target.BreakpointCreateByName(location)
            self.places[location] = [place.GetAddress().GetFileAddress() for place in breakpoint.locations]
            self.target.BreakpointDelete(breakpoint.GetID())
        return self.places[location]

    def find_globals(self, name):
        """[SBValue]: types and addresses of the global variables of that name, static ones too."""
        return list(self.module.FindGlobalVariables(self.target, name, MATCHES_MAX))

    def find_symbols(self, name):
        return [context.GetSymbol() for context in self.module.FindSymbols(name)]

    def find_function(self, name):
        """(link-time address, type of a pointer to it) of a function of C; (None, None): there is none."""
        for context in self.module.FindFunctions(name, lldb.eFunctionNameTypeFull | lldb.eFunctionNameTypeBase):
            function, symbol = context.GetFunction(), context.GetSymbol()
            # extern "C" functions of C++ are ::name(int) to lldb.
            plain = function.IsValid() and not (function.GetMangledName() or "").startswith("_Z") and \
                re.sub(r"^::|\(.*", "", function.GetName())
            if plain == name:
                result, taken = function.GetType().GetFunctionReturnType(), function.GetType().GetFunctionArgumentTypes()
                arguments = [taken.GetTypeAtIndex(i).GetName() for i in range(taken.GetSize())]
                return function.GetStartAddress().GetFileAddress(), \
                    f"{result.GetName() or 'void'} (*)({', '.join(arguments) or 'void'})"
            if symbol.IsValid() and not function.IsValid() and symbol.GetType() == lldb.eSymbolTypeCode:
                return symbol.GetStartAddress().GetFileAddress(), "void (*)(void)"
        return None, None

    def has_method(self, name):
        """Whether a class has a function of that name."""
        return any(context.GetFunction().IsValid() for context in self.module.FindFunctions(name, lldb.eFunctionNameTypeMethod))

    def read_constant(self, vaddr, size):
        """Bytes of a section that the process cannot have written to, or None."""
        address = self.module.ResolveFileAddress(vaddr)
        if not address.IsValid() or address.GetSection().GetPermissions() & lldb.ePermissionsWritable:
            return None
        error = lldb.SBError()
        data = self.target.ReadMemory(address, size, error)
        return data if error.Success() and len(data) == size else None

    def context(self, vaddr):
        address = self.module.ResolveFileAddress(vaddr)
        return self.module.ResolveSymbolContextForAddress(address, lldb.eSymbolContextEverything)


def of(o):
    """The Reference of an object. Raises root.RootError when the file is not that of the process.

    While an object is being registered, its build-id is not known yet; then any file of that name will do."""
    try:
        stat = os.stat(o.path)
    except OSError:
        raise root.RootError(f"{o.path} is not there") from None
    key = o.path, stat.st_mtime_ns, stat.st_size
    if key not in _references:
        _references[key] = Reference(o)
    if o.build_id and _references[key].build_id != o.build_id.hex():
        raise root.RootError(f"{o.path} has build-id {_references[key].build_id or 'none'}, the process has loaded "
                             f"{o.build_id.hex()}: the file has been replaced")
    return _references[key]


def reader(target):
    """Reads memory of the process. Constants of private code, which cores leave out, are read from the files."""
    read_process, snapshot = process.reader(target.GetProcess()), process.snapshot(target)

    def read(address, size):
        try:
            return read_process(address, size)
        except root.MemoryProblem:
            o = snapshot.find_object(address)
            data = of(o).read_constant(address - o.bias, size) if o else None
            if data is None:
                raise
            return data

    return read


def python_of(target, libpython):
    """The python.Python of a copy, which reads CPython's own structures. Raises root.RootError."""
    symbols = [s for s in of(libpython).find_symbols("_PyRuntime") if s.GetStartAddress().IsValid()]
    if not symbols:
        raise root.RootError(f"{libpython.name} has no symbol _PyRuntime")
    runtime = libpython.bias + symbols[0].GetStartAddress().GetFileAddress()
    return python.Python(reader(target), runtime, libpython.namespace.python_minor)


def search(objects):
    """(object, Reference) of each object whose file can be read."""
    for o in objects:
        with contextlib.suppress(root.RootError):
            yield o, of(o)
