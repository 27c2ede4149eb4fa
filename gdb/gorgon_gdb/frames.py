# SPDX-License-Identifier: MIT
"""In every backtrace a frame of private code shows its library and interpreter:

    #1  0x00007ffff66d159f in list_new from libpython3.11.so.1.0 [interp 1] (n=3) at ...

gdb cannot do so by itself: to it every copy is an object without a name. The lines that gdb
prints at a stop and for "frame" do not go through frame filters."""

import re

import gdb
from gdb.FrameDecorator import FrameDecorator, FrameVars

from . import hooks, process, symbols

NAME = "gorgon"
SHORT = re.compile(r"(?:bt|backtrace|where)\b.*\s-frame-info\s+short-location\b")


class PrivateFrame(FrameDecorator):
    """A frame, with its object and interpreter after the function's name.

    gdb's own decorator looks up the frame's line for each question, which takes most of the time of a backtrace. So this
    decorator looks once, and asks the next decorator only if that is another filter's."""

    def __init__(self, base, frame, label):
        super().__init__(base)
        self.frame = frame
        self.label = label
        self.place = frame.find_sal()
        self.is_gdbs = type(base) is FrameDecorator

    def function(self):
        # The decorator's name of a C++ function would have the types of the arguments, which gdb's own
        # backtraces leave out.
        return f"{self.frame.name() or '??'} from {self.label}"

    def filename(self):
        # For a function without lines the decorator would return the library's name, which the label has already.
        if not self.place.symtab:
            return None
        return self.place.symtab.filename if self.is_gdbs else super().filename()

    def line(self):
        if not self.is_gdbs:
            return super().line()
        return self.place.line if self.place.symtab else None

    def frame_args(self):
        if not self.is_gdbs:
            return super().frame_args()
        return FrameVars(self.frame).fetch_frame_args() if self.place.symtab else None


class WithoutPlace(FrameDecorator):
    """A frame without address and line. Where there is a filter gdb forgets that "bt" was typed with -frame-info."""

    def address(self):
        return None

    filename = line = address


class Filter:
    """Switch it with: disable frame-filter global gorgon

    It is off by itself where there is no private code: while any filter is on gdb 13 leaves out why it cannot follow a stack
    further ("Backtrace stopped: ...") and prints nothing for a function without a name."""

    def __init__(self):
        self.name = NAME
        self.priority = 50
        self.wanted = True

    @property
    def enabled(self):
        snapshot = process.try_snapshot() if self.wanted else None
        return bool(snapshot and snapshot.ranges)

    @enabled.setter
    def enabled(self, wanted):
        self.wanted = wanted

    def filter(self, frames):
        symbols.attach_for_backtrace()
        snapshot = process.snapshot()
        typed = hooks.newest_command()
        last = WithoutPlace if typed and SHORT.match(typed[1]) else lambda frame: frame
        return (last(decorate(frame, snapshot)) for frame in frames)


def decorate(frame, snapshot):
    inferior_frame = frame.inferior_frame()
    found = snapshot.find_object(inferior_frame.pc())
    return PrivateFrame(frame, inferior_frame, found.label) if found else frame


def register():
    # A user's "disable" survives that the script is read again.
    gdb.frame_filters.setdefault(NAME, Filter())
