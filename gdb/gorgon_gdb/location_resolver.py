# SPDX-License-Identifier: MIT
"""Where a location lies in a library, found once for all copies.

gdb looks up a name or a line in every object file that it knows, and reads the debug
information of each copy on the way: a second and 80 MB for each copy of an optimised
libpython. So a second gdb (the program that runs this script, started once more) gets one copy of each library, at an address
that tells which library it is. It answers by gdb's own rules: inlined instances, overloads, ends of
prologues, the nearest line with code. Of an optimised library it reads only the units with code of the function
(function_units.py). Parts of a function that the compiler has split off and put back into it are left out
(split_parts.py). The answer plus a copy's bias is the place in that copy. Answers are kept (location_cache.py)."""

import json
import os
import subprocess
import tempfile

import gdb

from gorgon_shared import dwarf_index, elf, function_units, root
from . import files, location_cache, split_parts

# Libraries in the second gdb are this far apart.
SPACING = 1 << 36
SECONDS = 300
MARK = "gorgon locations: "
SCRIPT = """
python
import json
with open(%r) as file:
    question = json.load(file)

not_called = set(question["not called"])

def is_called(address):
    block, blocks = gdb.block_for_pc(address), []
    while block:
        if block.function:
            blocks.append((block.function.name, block.function.line, block.start))
        block = block.superblock
    return not any(inner[:2] == outer[:2] and inner[2] in not_called for inner, outer in zip(blocks, blocks[1:]))

answers = []
for location in question["locations"]:
    try:
        places = [place.address for place in gdb.Breakpoint(location).locations]
        answers.append([address for address in places if is_called(address)])
    except gdb.error as error:
        answers.append(str(error))
print(%r + json.dumps(answers))
end
"""


def find(paths, locations):
    """For each location, {path: [address in the file]} of the libraries that have it. Raises
    root.RootError for a location that no library could ever have."""
    if not paths or not locations:
        return [{}] * len(locations)
    keys = {location: location_cache.key(paths, [SCRIPT, SPACING, location]) for location in locations}
    found = {location: location_cache.read(keys[location]) for location in locations}
    missing = [location for location in locations if found[location] is None]
    if missing:
        told, doubts = ask(paths, missing)
        found.update(zip(missing, told))
        for location, answer in zip(missing, told):
            if isinstance(answer, list) and not doubts:
                location_cache.write(keys[location], answer)
    return [place(paths, found[location]) for location in locations]


def place(paths, answer):
    if isinstance(answer, str):
        raise root.RootError(answer)
    found = {}
    for address in answer:
        path, vaddr = paths[address // SPACING], address % SPACING
        # If no library defines a name, gdb takes the entry of the procedure linkage table, which every caller has.
        if not elf.read(files.find(path)).is_linkage(vaddr):
            found.setdefault(path, []).append(vaddr)
    return found


def search(folder, paths, locations):
    """Write indexes into a folder that spare gdb reading units without these locations. Returns whether that was possible, and
    the addresses of places that are to be left out. (It is not possible if any library needs gdb's own index, because gdb
    would then write that index into the folder, which takes long.)"""
    found, not_called, possible = {}, [], all(map(dwarf_index.is_name, locations))
    names = list(filter(dwarf_index.is_name, locations))
    for i, path in enumerate(paths):
        file = elf.read(files.find(path))
        debug = files.find(path) if file.has_dwarf else location_cache.debug_file(file.build_id) if file.build_id else None
        if not debug:
            continue
        library = dwarf_index.read(debug) if file.build_id else None
        functions = function_units.read(library, names) if library else None
        if functions:
            not_called += [i * SPACING + vaddr for name in names for vaddr in split_parts.find(functions, name)]
            found[file.build_id.hex()] = function_units.index(functions, names)
        possible &= functions is not None
    if not possible:
        return False, not_called
    os.mkdir(folder)
    for build_id, content in found.items():
        with open(os.path.join(folder, f"{build_id}.gdb-index"), "wb") as file:
            file.write(content)
    return bool(found), not_called


def ask(paths, locations):
    """The second gdb's answers, and whether it has warned, perhaps of debug information that is missing today."""
    with tempfile.TemporaryDirectory() as folder:
        question, script, indexes = (os.path.join(folder, name) for name in ("locations", "script.gdb", "indexes"))
        narrowed, not_called = search(indexes, paths, locations)
        with open(question, "w") as file:
            json.dump({"locations": locations, "not called": not_called}, file)
        with open(script, "w") as file:
            for name in ("debug-file-directory", "sysroot"):
                file.write(f"set {name} {gdb.parameter(name) or ''}\n")
            if narrowed:
                file.write(f"set index-cache directory {indexes}\nset index-cache enabled on\n")
            # The first library is loaded as the program: otherwise gdb has no code in which to find ends of prologues.
            file.write(f'file "{files.find(paths[0])}"\n')
            for i, path in enumerate(paths[1:], 1):
                file.write(f'add-symbol-file "{files.find(path)}" -o {i * SPACING:#x}\n')
            file.write(SCRIPT % (question, MARK))
        # The program that runs this script, whatever its name is, with its own Python files.
        command = ["/proc/self/exe", "-data-directory", os.path.dirname(gdb.PYTHONDIR), "-nx", "-nh", "-batch",
                   "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", "-x", script]
        try:
            result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                    timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise root.RootError(f"the second gdb, which looks locations up, has no answer after {SECONDS} s") from None
        except OSError as error:
            raise root.RootError(f"the second gdb, which looks locations up: {error}") from None
    for line in result.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line[len(MARK):]), "warning" in result.stderr.lower()
    raise root.RootError("the second gdb, which looks locations up, says: " +
                       " ".join((result.stderr or result.stdout).split()))
