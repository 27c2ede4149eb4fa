# SPDX-License-Identifier: MIT
"""Code that is in no file, and what debuggers are to show of it: for gdb's and lldb's tests."""

import os

TEXT = """def {0}(n):
    made = n + 1
    return made

answer = {0}(4)
"""
# What runs the text of a function: {kind: (program, name of the text's file)}.
KINDS = {
    "exec": ("exec({text!r}, {{}})", "<string>"),
    "exec_of_bytes": ("exec({text!r}.encode(), {{}})", "<string>"),
    "exec_in_exec": ("exec('exec({text!r}, {{}})')".replace("{text!r}", "{twice}"), "<string>"),
    "in_a_thread": ("import threading\nthread = threading.Thread(target=lambda: exec({text!r}, {{}}))\nthread.start()\nthread.join()", "<string>"),
    "compiled": ("code = compile({text!r}, 'made by hand', 'exec')\nexec(code, {{}})", "made by hand"),
    "cell": ("import ast\nmodule = ast.parse({text!r}, '/tmp/ipykernel_1/4711.py')\nspace = {{}}\n"  # as IPython runs cells
             "for node in module.body:\n"
             "    exec(compile(ast.Module([node], []), '/tmp/ipykernel_1/4711.py', 'exec'), space)", "4711.py"),
    "template": ("with open('page.html', 'w') as file:\n    file.write('<p>\\n' * 9)\n"
                 "exec(compile({text!r}, 'page.html', 'exec'), {{}})", "page.html"),
    "zipped": ("import sys, threading, zipfile\nname = str(threading.get_native_id()) + '.zip'\n"  # several interpreters make one
               "with zipfile.ZipFile(name, 'w') as archive:\n"
               "    archive.writestr('zipped_module.py', {text!r})\nsys.path.insert(0, name)\nimport zipped_module", "zipped_module.py"),
}
# Code that is not to have lines: a library's, and a text of one line.
LEFT_OUT = """import collections, dataclasses
@dataclasses.dataclass
class Point:
    x: int
    y: int = 2
Pair = collections.namedtuple("Pair", "a b")
exec("def single(n): return n\\n", globals())
print(Point(1), Pair(1, 2), single(3))
"""


def text_of(kind):
    return TEXT.format(kind)


def write_program(folder):
    """A program that runs a text of each kind, and the names that texts have."""
    parts = [program.format(text=text_of(kind), twice=repr(text_of(kind)).replace("\\", "\\\\").replace("'", "\\'"))
             for kind, (program, _) in KINDS.items()]
    path = os.path.join(folder, "texts.py")
    with open(path, "w") as file:
        file.write(LEFT_OUT + "\n".join(parts) + "\nprint('end')\n")
    return path
