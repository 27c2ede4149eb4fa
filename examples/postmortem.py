# SPDX-License-Identifier: MIT
"""Which tenant, library and Python line it was, out of a core of faulty.c:

    gdb -q -batch -x postmortem.py ./faulty core

gdb finds Gorgon's own scripts by itself where they are installed; otherwise `-iex 'source .../gdb/gorgon.py'` names them."""

import re

import gdb


def whose(pc):
    """(number of the interpreter or None, library, function or "") of an address."""
    text = gdb.execute(f"gorgon whose {pc:#x}", to_string=True)
    private = re.match(r"\S+: interpreter (\d+), ([^,\n]+)(?:, ([A-Za-z_][^,+\n]*)\+)?", text)
    if private:
        return int(private[1]), private[2], private[3] or ""
    library = gdb.solib_name(pc) or gdb.current_progspace().filename
    function = re.match(r"(\S+)(?: \+ \d+)? in section", gdb.execute(f"info symbol {pc:#x}", to_string=True))
    return None, library.rpartition("/")[2], function[1] if function else ""


def tenant(number):
    """The name that the host has for an interpreter."""
    names = gdb.parse_and_eval("tenants")
    for i in range(names.type.range()[1] + 1):
        if names[i]["name"] and int(names[i]["interpreter"]) == number:
            return names[i]["name"].string()
    return "none of them"


def place(frame):
    """A frame in words."""
    return f"{frame[2]}() of {frame[1]}" if frame[2] else f"a function of {frame[1]} that has no name"


def main():
    signal = gdb.parse_and_eval("$_siginfo")
    frames, frame = [], gdb.newest_frame()
    while frame and frame.is_valid() and len(frames) < 100:
        frames.append(whose(frame.pc() - (len(frames) > 0)))  # a return address may be behind its function
        frame = frame.older()
    number = next((number for number, _, _ in frames if number is not None), None)
    if number is None:
        print(f"the host itself is at fault, in {place(frames[0])}")
        return
    by = next(i for i, each in enumerate(frames) if each[0] is not None)
    print(f"tenant:   {tenant(number)} (interpreter {number})")
    print(f"signal:   {int(signal['si_signo'])}, address {int(signal['_sifields']['_sigfault']['si_addr']):#x}")
    print(f"library:  {place(frames[0])}" + (f", called by {place(frames[by])}" if by else ""))
    lines = re.findall(r'^ +File "(.+)", line (\d+), in (\S+)', gdb.execute("gorgon bt", to_string=True), re.M)
    for path, line, function in lines[:3]:
        print(f"python:   {path}:{line}, in {function}")


main()
