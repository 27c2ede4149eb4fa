#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""List every message of the libraries, the commands, the package and the debuggers' scripts, out of their sources.

Usage: messages.py

Prints a line for each message: the file that it is in, a tab, and the message with <> in place of each value. The name of
the program in front of it ("gorgon: ") is left out. tests/run/test_documents_errors.py compares the list with tools/MESSAGES.md.

The sources are read as text and not compiled: a message is what is literal in a call of one of the functions below. Texts
that are put together at run time, such as the system's text for errno, are values. Not here: what `gorgon doctor` says,
which has its own advice; what gorgon_faults_report() writes; and messages that belong to the C library or to a debugger
and that Gorgon only repeats."""

import ast
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Functions and macros in C that get a message's text, and what the message is then; {} is the text.
FUNCTIONS = {
    "gorgon_error_create": "{}",
    "gorgon_error_create_os": "{}: <>",
    "gorgon_error_prefix": "{}: <>",
    "PyErr_SetString": "{}",
    "PyErr_Format": "{}",
    "tool_usage": "{}",
    "problem": "{}",
    "usage": "{}",
    "fprintf": "{}",
}
# The same for static functions, which have a meaning in their file only.
STATIC = {
    "loader/image/*.c": {"bad": "<>: {}", "needs_bad": "<>: {}"},
    "loader/copy/rewrite.c": {"bad": "<>: {}"},
    "tools/exec*.c": {"tool_text": "{}"},
    "loader/isolate/copy.c": {"copy_refuse": "isolation by copy: {}; isolation by the loader can do that"},
    "loader/load/reloc.c": {"tls_error": "<>: thread-local symbol <>: {}"},
    "loader/python/values/value.c": {"refuse_value": "<>: {}", "refuse_value_at": "<>: {}"},
    "loader/python/arrays/dlpack.c": {"refuse_tensor": "{}"},
    "loader/python/arrays/data_handler.c": {"refuse": "{}"},
}
# Texts that a table has: the entries of an array, or what a function returns.
TABLES = [
    ("loader/python/calls/call.c", r'\[GORGON_INTERP_\w+\] = "([^"]*)"', "interpreter <>: {}"),
    ("loader/python/arrays/received.c", r'return "([^"]*)";', "{}"),
]
# A debugger shows these exceptions of the scripts as a message; the scripts catch all others themselves.
SHOWN = {"GdbError", "RootError", "MemoryProblem", "NoType"}
# Exceptions of the package that other code catches, or that are what Python itself would say.
CAUGHT = {"AttributeError", "FallbackToBackend", "KeyError", "NotImplementedError", "StopIteration"}

# Forms that only have a place for another message.
FORMS = {"<> (gorgon-symdump --help)", "isolation by copy: <>; isolation by the loader can do that"}
# What these files print says what is there, and never that something is wrong.
TOLD = {"tools/loaded.c"}

CALL = re.compile(r"\b([a-z_A-Z]+)\)?\s*\(")
PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*)|//[^\n]*|/\*.*?\*/|([(){}\[\],;])', re.S)
CONVERSION = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:(?:hh|h|ll|l|z|j|t)?[a-zA-Z]|(?=<>))")


def literals(text, start):
    """The literal text of each argument of a call whose bracket is before @start, or None where there is none."""
    depth, found = 1, [None]
    for piece in PIECE.finditer(text, start):
        literal, word, mark = piece.groups()
        if depth == 1 and literal is not None:
            found[-1] = (found[-1] or "") + literal
        elif depth == 1 and word and word.isupper() and found[-1]:  # PRIx64, or a macro with a text
            found[-1] += "<>"
        elif mark in ("(", "[", "{"):
            depth += 1
        elif mark in (")", "]", "}"):
            depth -= 1
            if not depth:
                break
        elif mark == "," and depth == 1:
            found.append(None)
    return found


def plain(text):
    """A format of printf() with <> for each value, and without what stands around the message."""
    text = CONVERSION.sub("<>", text.replace("<><>", "<>")).replace("<><>", "<>").replace("%%", "%")
    text = text.replace('\\"', '"').replace("\\r", "").replace("\\033[K", "").removesuffix("\\n")
    return re.sub(r"^gorgon(?:-symdump)?: ", "", text)


def of_c(name, text):
    """The messages of a C file."""
    functions = dict(FUNCTIONS)
    for pattern, more in STATIC.items():
        if re.fullmatch(pattern.replace("*", "[^/]*"), name):
            functions |= more
    for call in CALL.finditer(text):
        function = call[1]
        if function not in functions or text[:call.start()].endswith("define "):
            continue
        found = literals(text, call.end())
        if function == "fprintf":
            if not re.match(r'"gorgon(-symdump)?: ', text[call.end():].partition(",")[2].lstrip()):
                continue
        if function == "usage":  # its two arguments stand one after the other
            found = ["".join("<>" if part is None else part for part in found)]
        message = next(filter(None, found), "")
        message = functions[function].format(plain(message)) if message else ""
        if message not in ("", "<>"):
            yield message
    for file, pattern, template in TABLES:
        if file == name:
            yield from (template.format(entry) for entry in re.findall(pattern, text))


def spoken(node):
    """What an expression of Python says."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "<>"
    if isinstance(node, ast.JoinedStr):
        return "".join(map(spoken, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return spoken(node.left) + spoken(node.right)
    return "<>"


def of_python(name, text):
    """The messages of a Python file."""
    scripts = name.startswith(("gdb/", "lldb/", "debuggers/"))
    for node in ast.walk(ast.parse(text)):
        raised = isinstance(node, ast.Raise)
        call = node.exc if raised else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        kind = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        message = re.sub("(?:<>)+", "<>", spoken(call.args[0])).rstrip("\n")
        if raised:
            wanted = kind in SHOWN if scripts else kind not in CAUGHT
        else:
            wanted = kind in ("SetError", "warn") or kind == "write" and message.startswith("gorgon: ")
        message = message.removeprefix("gorgon: ")
        if wanted and re.search(r"[a-z]", message):
            yield message


def of_shell(_name, text):
    """The messages of a shell script."""
    for message in re.findall(r'\bfail "([^"]*)"', text):
        yield re.sub(r"\$\w+", "<>", message)


def messages():
    """{message: [file]}, in the order of the files."""
    found = {}
    for pattern in ("loader/**/*.c", "python/gorgon/*.c", "tools/**/*.c", "loader/python/**/*.py", "python/*.py", "python/gorgon/*.py",
                    "gdb/gorgon_gdb/*.py", "lldb/gorgon_lldb/*.py", "debuggers/gorgon_shared/*.py", "tools/*.sh"):
        for path in sorted(glob.glob(f"{ROOT}/{pattern}", recursive=True)):
            name = os.path.relpath(path, ROOT)
            with open(path) as file:
                text = file.read()
            read = {".c": of_c, ".py": of_python, ".sh": of_shell}[os.path.splitext(name)[1]]
            for message in [] if name in TOLD else read(name, text):
                if message in FORMS:
                    continue
                files = found.setdefault(message, [])
                if name not in files:
                    files.append(name)
    return found


if __name__ == "__main__":
    for message, files in messages().items():
        print(f"{files[0]}\t{message}")
