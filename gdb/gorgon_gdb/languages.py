# SPDX-License-Identifier: MIT
"""What depends on the language of an expression: which words in it are names, and how a text is written.

gdb reads an expression in the language of the selected frame unless the user has set a language. It reads a condition in the
language of the function where the breakpoint is. Most languages of extensions are enough like C here. Fortran and Rust have rules of
their own: 'x' is a text or a character and no quoted name, Fortran has operators like .and. and does not distinguish capital letters."""

import re
import zlib

import gdb

NUMBER = r"\b\d\w*(?:\.\d\w*)?"
NAME = r"(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?!\s*::|\w)"
NO_CAST = "(?P<cast>(?!)(?P<type>))?"

# These expressions find each word that may be the name of a variable. They pass over texts, numbers and members of structures.
C = re.compile(r"""
      (?P<skip> "(?:\\.|[^"\\])*" | '(?:\\.[^']*|[^'\\])'
      | (?:\.|->)\s*[A-Za-z_]\w* | (?:struct|union|enum|class)\s+\w+ | \$\w+ | \b\d[\w.]* )
    | (?P<cast> \(\s*(?P<type>[A-Za-z_][\w\s:]*[\s*]*)\)\s* )?
      (?P<name> (?:'[^']*'::)? (?:::)? [A-Za-z_]\w* (?:::[A-Za-z_]\w*)* (?!\s*::|\w) | '[^']+' )
    """, re.X)
FORTRAN = re.compile(rf"""(?P<skip> '(?:[^']|'')*' | %\s*[A-Za-z_]\w* | \.[A-Za-z]+\. | \$\w+ | \b\d+(?:\.(?![A-Za-z]+\.)\d*)?\w* )
                        | {NO_CAST} (?P<name> {NAME})""", re.X)
RUST = re.compile(rf"""(?P<skip> b?"(?:\\.|[^"\\])*" | b?'(?:\\.[^']*|[^'\\])' | \.\s*[A-Za-z_]\w* | \$\w+ | {NUMBER} )
                     | {NO_CAST} (?P<name> {NAME})""", re.X)
UNLIKE_FILE = re.compile(r"\.(f|for|ftn|f77|f90|f95|f03|f08|rs)\b", re.I)
OPERATOR = re.compile(r"\.(and|or|not|eqv?|neqv?|xor|[lg][te]|true|false)\.", re.I)  # of Fortran
TOKENS = {"fortran": FORTRAN, "rust": RUST}
ALIKE = {"c", "c++", "objective-c", "opencl", "asm", "minimal", "unknown", "auto"}  # "text", * (TYPE *) ADDRESS


def current():
    """The name of the language in which gdb reads what is typed now."""
    fixed = gdb.parameter("language")
    if fixed not in ("auto", "local"):
        return fixed
    try:
        return gdb.selected_frame().language()
    except gdb.error:  # no frame
        return "auto"


def follow_frame():
    """Have gdb read expressions in the language of the selected frame. gdb has selected the frame before a condition is evaluated, but
    when it knew no more than lines of the code."""
    if gdb.parameter("language") == "auto":
        gdb.selected_frame().select()


def token():
    """The expression that finds names in what is typed now."""
    return TOKENS.get(current(), C)


def names(expression):
    """What may be a name in an expression whose language is not known."""
    found = (FORTRAN if OPERATOR.search(expression) else C).finditer(expression)
    return {match["name"] for match in found if match["name"]}


def slot(text, number):
    """A name of a variable of gdb's for something."""
    name = re.sub(r"\W+", "_", text)[:40]
    return f"_gorgon_{name}_{number:x}"


def argument(text, *locations):
    """A text as the argument of a function, to be read at these locations. gdb reads a condition in the language of each place, and gives
    up a place where it cannot; and for a text in Rust it calls malloc() in the program. So where languages are not alike, a variable of
    gdb's has the text."""
    if current() in ALIKE and not any(UNLIKE_FILE.search(location) for location in locations):
        return quoted(text)
    name = slot(text, zlib.crc32(text.encode()))
    gdb.set_convenience_variable(name, text)
    return f"${name}"


def folded(name):
    """A name as gdb's symbols have it."""
    return name.lower() if current() == "fortran" else name


def quoted(text):
    """A text in most languages."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text(value):
    """The text that a function in Python was given. In Rust that is a reference with a length, in Fortran a kind of its own."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT:
        return value["data_ptr"].string(length=int(value["length"]))
    if kind.code == gdb.TYPE_CODE_STRING:
        value = value.cast(kind.target().array(*kind.range()))
    return value.string()
