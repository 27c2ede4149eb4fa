# SPDX-License-Identifier: MIT
"""Why answers may differ. Habit.excuses names these; GENERAL ones belong to every habit."""

import re

from habits import Excuse, instead, without


def once(text):
    """Lines that follow a line that says the same are left out."""
    found = []
    for line in text.splitlines():
        if not found or line != found[-1]:
            found.append(line)
    return "\n".join(found)


def values_once(text):
    """Values of a variable in several modules as one, without the line that says whose they are."""
    lines = (re.sub(r"^(\(int\) \w+ =) \d+$", r"\1 N", line) for line in text.splitlines() if '; "gorgon print ' not in line)
    return "\n".join(dict.fromkeys(lines))


def blocks(text):
    """[(typed, answer)]"""
    return [tuple(part.partition("\n")[::2]) for part in re.split(r"^> ", text, flags=re.M)[1:]]


def joined(parts):
    return "\n".join(f"> {typed}\n{said}" for typed, said in parts)


def unless(pattern, reduced=lambda said: said):
    """An Excuse.both: after reduced(), answers are the same where what is seen has the pattern."""
    def both(expected, seen):
        left, right = blocks(expected), blocks(seen)
        if [typed for typed, _ in left] != [typed for typed, _ in right]:
            return expected, seen
        pairs = []
        for (typed, a), (_, b) in zip(left, right):
            a, b = reduced(a), reduced(b)
            pairs.append((typed, b, b) if a != b and re.search(pattern, b, re.M) else (typed, a, b))
        return joined((typed, a) for typed, a, _ in pairs), joined((typed, b) for typed, _, b in pairs)
    return both


def without_arguments(said):
    """Frames without arguments and locals, functions without types."""
    said = re.sub(r" \((?:[^()\n]|\([^()\n]*\))*\)(?= (?:at|from) )", " ()", said)
    return re.sub(r"^( {8}.*|No locals\.)\n?", "", said, flags=re.M).rstrip("\n")


def gone(text):
    """Breakpoints that have no place are as those that have one."""
    text = re.sub(r'Function "\w+" not defined\.\nBreakpoint N \(\w+\) pending\.', "Breakpoint N is set", text)
    return re.sub(r" keep y (?:ADDR in \w+ at \S+|<PENDING> \S+)$", " keep y PLACE", text, flags=re.M)


PRIVATE = r"(?:JIT\(ADDR\)|\b(?:cext|cxxext|lateext)\.so|\blibpython3\.\d+\.so\.1\.0)"


def lldb_names(said):
    """Modules without names, frames without arguments and columns, returns without values."""
    said = re.sub(r"^\s+\^$\n?|^Return value: .*\n", "", said, flags=re.M)
    said = re.sub(PRIVATE + r"(?=[`\[.:]|$)", "MODULE", said, flags=re.M)
    said = re.sub(r"(MODULE`[^(\n]*)\(.*\)( const)?(?= at )", r"\1\2", said)
    said = re.sub(r"^((?:breakpoint: )?)::(?=\w+\()", r"\1", said, flags=re.M)  # lldb-dap's names of C++ functions
    said = re.sub(r"( at \w+\.\w+:\d+):\d+(?=,|$)", r"\1", said, flags=re.M)
    said = re.sub(r"^(\[ADDR-ADDR\): \S+:\d+):\d+$", r"\1", said, flags=re.M)
    return re.sub(r"MODULE\.PT_LOAD\[\d+\]\.", "MODULE.", re.sub(r"in PARITY/modules/MODULE:|in MODULE:", "in MODULE:", said))


# What lldb says where there are no variables and no types.
LLDB_LACKS = (r"no variable information is available|no variable named '|use of undeclared identifier|no matching function for call|"
              r"can't find global variable|no type was found|got name from symbols|address expression \"")


EXCUSES = {
    "names and lines": Excuse("plain lldb has functions and lines of private copies, and neither arguments, variables nor types; their modules "
                              "are `JIT(ADDRESS)`", None, ("plain",), unless(LLDB_LACKS, lldb_names), debugger="lldb"),
    "on through the evaluation loop": Excuse("in an ordinary program lldb 19 ends a backtrace at a function that the compiler has split", None,
                                             both=unless(
        r"_PyEval_EvalFrameDefault", lldb_names), debugger="lldb"),
    "any thread": Excuse("lldb's cores do not say which thread was selected", instead(r"^  \* frame", "    frame"), debugger="lldb"),
    "no stubs' names": Excuse("plain lldb does not name entries of linkage tables", lambda text: re.sub(r" *; symbol stub for: \w+$", "", text, flags=re.M),
                              ("plain",), debugger="lldb"),
    "thread-local locals": Excuse("lldb knows no thread-local variables of code that the system's linker has not loaded, and says so; it "
                                  "lists them among the locals", instead(r"^(depth|inner_depth) = .*", r"\1 = VALUE"), debugger="lldb"),
    "a module each": Excuse("each copy is a module", lambda text: "\n".join(dict.fromkeys(text.splitlines())), debugger="lldb"),
    "a variable each": Excuse("lldb shows that of each module, and a line says whose they are, in this order", values_once, debugger="lldb"),
    "a line each": Excuse("gdb answers for each place of a function, and each copy is one", once, debugger="gdb"),
    "a breakpoint each": Excuse("gdb has one address to a breakpoint of `break *ADDRESS`, so our scripts set one in each copy",
                                once, ("scripts",), debugger="gdb"),
    "gone with the process": Excuse("gdb forgets objects of the JIT interface when the process ends: a breakpoint waits for the next run",
                                    gone, debugger="gdb"),
    "display says whose": Excuse("our scripts show what belongs to the copy, and gdb repeats what it was told",
                                 instead(r'\$gorgon\("(\w+)", \d+\)', r"\1"), ("scripts",), debugger="gdb"),
    "lines only": Excuse("with more than eight interpreters plain gdb has functions and lines, and neither arguments, variables nor types",
                         None, ("plain",), unless(
                             r"^No symbol |^No (?:locals|arguments)\.|^No (?:struct|union|enum|type) |unknown (?:return )?type|"
                             r"^\$N = \{.*\} ADDR <\w+>$|<text variable, no debug info>|^type = void \(void\)$", without_arguments), 9, debugger="gdb"),
    "no helper": Excuse("CPython's commands and printers for gdb come with a libpython that gdb knows as a shared library, or with our scripts",
                        None, ("plain",), unless(r'^Undefined command: "py-|^(?:Value returned is )?\$N = (?:\(\w[\w ]* \*\) )?ADDR\b|^(?:self|args|timeout_obj) = ADDR$'), debugger="gdb"),
    "no number": Excuse("gdb warns that the place of the stop has no number after our scripts have added a copy's debug information, which "
                        "means nothing", without(r"warning: location number not found for breakpoint \w+ address ADDR\.\n?"), ("scripts",), None, 9, debugger="gdb"),
    "whose condition": Excuse("our scripts have conditions evaluated in the copy that comes to the place, and gdb lists what they say",
                              instead(r'((?:stop only if|condition \S+) )\$gorgon_eval\("(.*)"\)$', r"\1\2"), ("scripts",), debugger="gdb"),
    "static members": Excuse("gdb shows a class's static members with each object, and takes the first copy's; `print CLASS::MEMBER` is right",
                             instead(r"\bstatic made = \d+", "static made = N"), ("plain",), debugger="gdb"),
    "displayed anew": Excuse("gdb forgets what it displays when debug information is removed: our scripts display it again, under new numbers",
                             instead(r"^\d+: (?=x/i |\w+ = )", "N: "), ("scripts",), debugger="gdb"),
    "the name before": Excuse("without a folder for names and lines gdb names data by the symbol that lies before it: docs/debugging.md",
                              instead(r" ?<(?:_fini|_GLOBAL_OFFSET_TABLE_)\+\d+>", ""), least=9, debugger="gdb", homes=(False,)),
    "names of other copies": Excuse("without a folder for names and lines our scripts add the lines of one copy of each library, and gdb lists the names "
                                    "that the others have", without(r"\nNon-debugging symbols:(?:\nADDR  .*)+"), ("scripts",), None, 9, "gdb", (False,)),
    "shown again": Excuse("gdb shows where a signal has come before our scripts can add the variables of an extension, which they do with more "
                          "than eight interpreters: they show the frame again, with its arguments", instead(
                              r"^(ADDR in \w+ )\(\)(?: at \S+:\d+)?\n(?:\d+\t.*\n)?#0 +\1(\(.*\) at \S+:\d+)$", r"\1\2"), ("scripts",), None, 9, debugger="gdb"),
    "not of the processor": Excuse("the processor has four hardware breakpoints, and each copy needs one: where there are more copies our "
                                   "scripts set a breakpoint of the ordinary kind, and say so", instead(
                                       r"^(?:Hardware assisted breakpoint N is set|Breakpoint N is set\ngorgon: not a hardware .*)$",
                                       "Breakpoint N is set"), ("scripts",), None, 5, debugger="gdb"),
    "told by libjitreg": Excuse("private objects come by the JIT interface: our scripts stop where that tells gdb of them, and say whose they are",
                                instead(r"^(  Inferior loaded \S+).*\n.*\n.*$", r"\1"), ("scripts",), debugger="gdb"),
    "of no shared library": Excuse("in code without lines gdb says `from LIBRARY`, and it names entries of global offset tables, of libraries "
                                   "that the system's linker has loaded", instead(r"(@plt \(\)) from \S+$|(# ADDR) <\w+@got\.plt>$", r"\1\2"), debugger="gdb"),
    "no frame": Excuse("`gdb.lookup_global_symbol()` knows no frame, so it finds the first copy's", instead(
        r"(lookup_global_symbol.*\n)\d+$", r"\1N"), debugger="gdb"),
    "values of objects": Excuse("CPython's own printers for gdb come with a libpython that gdb knows as a shared library, or with our "
                                "scripts", instead(r"\b((?:self|args|func|callable|kwargs|obj|object)(?: ?= ?))(?:<[^<>\n]*? at remote ADDR>|"
                                                   r"\([^()\n]*\)|ADDR)(?=[,)\n]|$)|\b((?:timeout_obj|obj) ?= ?)(?:0|ADDR)(?=[,)\n]|$)",
                                                   r"\1\2OBJECT"), ("plain",), debugger="gdb"),
}
GENERAL = ("names and lines", "values of objects", "no helper", "lines only", "no number", "whose condition", "displayed anew", "shown again", "the name before",
           "names of other copies")
