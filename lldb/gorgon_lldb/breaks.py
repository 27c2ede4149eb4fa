# SPDX-License-Identifier: MIT
"""gorgon break: one breakpoint with a location in each copy, also in copies that are loaded later.

lldb asks a Resolver for locations whenever it hears of a module. It hears of a copy when the copy is
registered, before the copy's first constructor runs. The place is looked up once per library file;
the location in a copy is at this place plus the copy's bias. To lldb it is a breakpoint like any other, which
is listed, disabled, deleted and ignored as a whole."""

import json

import lldb

from gorgon_shared import root
from . import process, reference

_told = set()  # files of which the user was told that they cannot be read


class Resolver:
    """Finds the locations of a breakpoint; lldb creates one for each "gorgon break"."""

    def __init__(self, breakpoint, args, _dict=None):
        self.breakpoint = breakpoint
        self.location = args.GetValueForKey("location").GetStringValue(4096)
        interp = args.GetValueForKey("interp").GetStringValue(32)
        self.interp = int(interp) if interp else None

    def __get_depth__(self):
        return lldb.eSearchDepthModule

    def get_short_help(self):
        return f"gorgon: {self.location} in {whom(self.interp)}"

    def __callback__(self, context):
        target = self.breakpoint.GetTarget()
        for o in process.objects_of_module(target, context.GetModule()):
            if self.interp is None or o.namespace.interp == self.interp:
                self.place(target, context.GetModule(), o)

    def place(self, target, module, o):
        try:
            places = reference.of(o).find_places(self.location)
        except root.RootError as error:
            if o.path not in _told:
                _told.add(o.path)
                target.GetDebugger().GetErrorFile().Write(f"gorgon break: {error}\n".encode())
            return
        for vaddr in places:
            address = in_section(target, module, o.bias + vaddr)
            if address:
                self.breakpoint.AddLocation(address)


def in_section(target, module, address):
    """An address as part of a section of a module, or None if it is in no section. A location without a section
    would stay when its copy goes, and lldb would write a breakpoint into whatever is there then."""
    for section in module.sections:
        start = section.GetLoadAddress(target)
        if start != lldb.LLDB_INVALID_ADDRESS and start <= address < start + section.GetByteSize():
            return lldb.SBAddress(section, address - start)
    return None


def whom(interp):
    return "all interpreters" if interp is None else f"interpreter {interp}"


def create(target, location, interp, condition, once):
    """gorgon break and tbreak. Returns the text to print."""
    args = lldb.SBStructuredData()
    # The number is passed as a text, because lldb 16 and later versions have different functions to read a number.
    args.SetFromJSON(json.dumps({"location": location, "interp": "" if interp is None else str(interp)}))
    breakpoint = target.BreakpointCreateFromScript("gorgon.Resolver", args, lldb.SBFileSpecList(),
                                                   lldb.SBFileSpecList())
    breakpoint.SetOneShot(once)
    if condition:
        breakpoint.SetCondition(condition)
    count = breakpoint.GetNumLocations()
    return f"Breakpoint {breakpoint.GetID()}: {location} in {whom(interp)}, " + (
        f"{count} location{'s' if count != 1 else ''}.\n" if count else "no locations yet (pending).\n")
