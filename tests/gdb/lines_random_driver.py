# SPDX-License-Identifier: MIT
"""Runs inside gdb: random commands. At each stop gdb's Python frames are compared with what Python
says of its own stack."""
import ast
import os
import random

import gdb

PROGRAM = "lines_random.py"
FOLDER, SEED, STEPS = os.environ["FOLDER"], os.environ["SEED"], int(os.environ["STEPS"])
QUESTION = (f"open({FOLDER + '/answer'!r}, 'w').write(repr([(f.f_code.co_qualname, n) for f, n in "
            f"__import__('traceback').walk_stack(__import__('sys')._getframe()) "
            f"if f.f_code.co_filename.endswith({PROGRAM!r})]))")
with open(os.environ["PATH_OF_PROGRAM"]) as file:
    LINES = [n for n, line in enumerate(file, 1) if line.startswith("    ")
             and not any(word in line for word in (" def ", "@", "print("))
             and not ("in __init__" in line and os.environ["PYTHON"].endswith("3.13"))]  # docs/mixed.md
chosen = random.Random(SEED)


def execute(command):
    return gdb.execute(command, to_string=True)


def is_python(frame):
    symtab = frame.find_sal().symtab
    return symtab is not None and os.path.basename(symtab.filename) == PROGRAM


def seen():
    frame, found = gdb.newest_frame(), []
    while frame:
        if is_python(frame):
            found.append((frame.name().partition(".")[2], frame.find_sal().line))
        frame = frame.older()
    return found


def told():
    with open(FOLDER + "/begin") as begin:
        address = begin.read().split()[1]
    execute(f'call ((int (*)(const char *)){address})("{QUESTION}")')
    with open(FOLDER + "/answer") as answer:
        return ast.literal_eval(answer.read())


def check(command):
    frame = gdb.newest_frame()
    # After the last line of a function gdb is in the caller's line already.
    inside = is_python(frame) and frame.pc() != frame.find_sal().pc
    mine, theirs = seen(), told()
    right = mine == theirs or (inside and mine == theirs[1:])
    print("same" if right else f"differs: {command}: gdb {mine}, Python {theirs}")


def choose():
    command = chosen.choice(["next"] * 5 + ["step"] * 3 + ["finish"] * 2 + ["break"] * 4)
    if command == "break":
        command = f"tbreak {PROGRAM}:{chosen.choice(LINES)}"
        done.append(command)
        execute(command)
        command = "continue"
    # Behind the module's own frame there is no Python any more.
    return "next" if command == "finish" and len(seen()) < 2 else command


done = []  # for who reads what went wrong
try:
    execute(f"tbreak {PROGRAM}:{chosen.choice(LINES)}")
    execute("run")
    check("run")
    for _ in range(STEPS):
        command = choose()
        done.append(command)
        execute(command)
        check(command)
    execute("delete")
    print(execute("continue"))
except gdb.error as error:
    print("ended:", error, "after", done)
