#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the code keeps to the floors of docs/architecture.md: a file uses files of its own folder and of floors
below, and no files use each other in a circle. Whether the walks of the document are true: the code has each call
in them, and each leads to the same floor or down. Usage: architecture.py DOCUMENT OBJECTS [PYTHON-PACKAGE...]

What a file uses is read from the symbol tables of the object files (calls, data and addresses alike), and from the
imports of the debuggers' scripts. A file and its part for a machine (process/kernel/children.c,
machine/x86_64/process/kernel/children.S) count as one file."""

import ast
import os
import re
import subprocess
import sys


def floors_of(document):
    """The folders in the block of the document that begins with ```floors, the lowest first."""
    with open(document) as file:
        block = re.search(r"^```floors\n(.*?)^```", file.read(), re.M | re.S)
    if not block:
        raise SystemExit(f"{document}: no block ```floors")
    return [line.split()[0] for line in block[1].splitlines() if line.strip()]


def walks_of(document):
    """Pairs of caller and callee, each as (floor, function), in blocks that begin with ```walk: the function called first,
    and below each function, further in, those that it calls."""
    with open(document) as file:
        blocks = re.findall(r"^```walk\n(.*?)^```", file.read(), re.M | re.S)
    for block in blocks:
        callers = []
        for line in block.splitlines():
            floor, space, function = re.match(r"(\S+)( +)(\w+)", line).groups()
            at = len(floor + space)
            callers = [caller for caller in callers if caller[0] < at]
            if callers:
                yield callers[-1][1:], (floor, function)
            callers.append((at, floor, function))


def is_left_over(file, root):
    """Whether the source of an object file was moved or removed since it was compiled."""
    return os.path.isdir(os.path.join(root, file.split("/")[0])) and not any(
        os.path.exists(os.path.join(root, file + end)) for end in (".c", ".S"))


def floor_name(file):
    """loader/process/children for loader/machine/x86_64/process/children."""
    return re.sub(r"/machine/\w+/", "/", file)


def object_uses(folder, root):
    """{file: {other file: a symbol of the other file that the first one refers to}}, and the same with all symbols:
    {file: symbols}, {symbol: file that defines it}"""
    files, wanted, defined = {}, {}, {}
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".o"):
                path = os.path.join(parent, name)
                files[path] = re.sub(r"_asm$", "", os.path.relpath(path, folder)[:-2])
    files = {path: floor_name(file) for path, file in files.items() if not is_left_over(file, root)}
    for line in subprocess.run(["nm", "-A", *files], capture_output=True, text=True, check=True).stdout.splitlines():
        path, _, rest = line.rpartition(":")
        *_, kind, symbol = rest.split()
        if kind == "U":
            wanted.setdefault(files[path], set()).add(symbol)
        elif kind in "TDBRVWC":
            defined[symbol] = files[path]
    uses = {file: {} for file in files.values()}
    for file, symbols in wanted.items():
        for symbol in sorted(symbols):
            if defined.get(symbol, file) != file:
                uses[file].setdefault(defined[symbol], symbol)
    return uses, wanted, defined


def python_uses(package):
    """The same for the modules of a Python package, by their imports."""
    uses = {}
    for name in os.listdir(package):
        if name.endswith(".py"):
            with open(os.path.join(package, name)) as file:
                tree = ast.parse(file.read())
            found = uses.setdefault(name[:-3], {})
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.level == 1:
                    for module in [node.module] if node.module else [alias.name for alias in node.names]:
                        found.setdefault(module.split(".")[0], "import")
    return {file: {other: why for other, why in found.items() if other in uses and other != file}
            for file, found in uses.items()}


def circles(uses):
    """Lists of files that use each other in a circle (Tarjan's strongly connected components)."""
    order, low, stack, found = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        stack.append(file)
        for other in uses.get(file, {}):
            if other not in order:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], order[other])
        if low[file] == order[file]:
            circle = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for file in sorted(uses):
        if file not in order:
            visit(file)
    return found


def floor_problems(uses, floors):
    houses = {floor.split("/")[0] for floor in floors}
    for file in sorted(uses):
        floor = os.path.dirname(file)
        if floor.split("/")[0] not in houses:
            continue  # a symbol that a test defines
        if floor not in floors:
            yield f"{file}: no floor {floor}/ in the document"
            continue
        for other, symbol in sorted(uses[file].items()):
            above = os.path.dirname(other)
            if above in floors and floors.index(above) > floors.index(floor):
                yield f"{file} uses {symbol} of {other}, which is on a higher floor"


def walk_problems(walks, floors, wanted, defined):
    for (floor, caller), (below, callee) in walks:
        file, other = defined.get(caller, ""), defined.get(callee, "")
        if os.path.dirname(other) != below:
            yield f"walk: {callee} is in {other or 'no file'}, expected {below}/"
        elif file != other and callee not in wanted.get(file, ()):
            yield f"walk: {file or caller} does not use {callee}"
        elif floors.index(below) > floors.index(floor):
            yield f"walk: {caller} to {callee} leads up, from {floor} to {below}"


def circle_problems(uses):
    for circle in circles(uses):
        edges = [f"{file} uses {other} ({symbol})" for file in circle
                 for other, symbol in sorted(uses[file].items()) if other in circle]
        yield f"a circle of {len(circle)} files: " + "; ".join(edges)


def main(document, objects, *packages):
    uses, wanted, defined = object_uses(objects, os.path.dirname(os.path.dirname(os.path.abspath(document))))
    uses = {file: found for file, found in uses.items() if not file.startswith("tests/")}
    if not uses:
        raise SystemExit(f"{objects}: no object files")
    floors = floors_of(document)
    problems = [*floor_problems(uses, floors), *circle_problems(uses),
                *walk_problems(walks_of(document), floors, wanted, defined)]
    for package in packages:
        problems += circle_problems(python_uses(package))
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
