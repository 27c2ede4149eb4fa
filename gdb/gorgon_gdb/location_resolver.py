# SPDX-License-Identifier: MIT
"""Where a location lies in a library, found once for all copies.

gdb looks up a name or a line in every object file that it knows, and reads the debug
information of each copy on the way: a second and 80 MB for each copy of an optimised
libpython. So a second gdb (the program that runs this script, started once more) gets one copy of each library, at an address
that tells which library it is. It answers by gdb's own rules: inlined instances, overloads, ends of
prologues, the nearest line with code. It has this gdb's settings, and so the narrowed index of a libpython (index_cache.py).
The answer plus a copy's bias is the place in that copy."""

import json
import os
import subprocess
import tempfile

import gdb

from gorgon_shared import elf, root
from . import files

# Libraries in the second gdb are this far apart.
SPACING = 1 << 36
SECONDS = 300
MARK = "gorgon locations: "
SETTINGS = "debug-file-directory", "sysroot", "index-cache directory", "index-cache enabled"
SCRIPT = """
python
import json
answers = []
for location in json.loads(%r):
    try:
        answers.append([place.address for place in gdb.Breakpoint(location).locations])
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
    return [place(paths, answer) for answer in ask(paths, locations)]


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


def settings():
    """This gdb's settings, as commands. A gdb without a cache of indexes knows no settings of it."""
    for name in SETTINGS:
        try:
            value = gdb.parameter(name)
        except RuntimeError:
            continue
        yield f"set {name} {('off', 'on')[value] if isinstance(value, bool) else value or ''}\n"


def ask(paths, locations):
    """The second gdb's answers."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file:
        file.writelines(settings())
        # gdb gets the first library as its program, because without a program it cannot look at code for the ends of prologues.
        file.write(f'file "{files.find(paths[0])}"\n')
        for i, path in enumerate(paths[1:], 1):
            file.write(f'add-symbol-file "{files.find(path)}" -o {i * SPACING:#x}\n')
        file.write(SCRIPT % (json.dumps(locations), MARK))
        file.flush()
        # The program that runs this script, whatever its name is, with its own Python files.
        command = ["/proc/self/exe", "-data-directory", os.path.dirname(gdb.PYTHONDIR), "-nx", "-nh", "-batch",
                   "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", "-x", file.name]
        try:
            result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                    timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise root.RootError(f"the second gdb, which looks locations up, has no answer after {SECONDS} s") from None
        except OSError as error:
            raise root.RootError(f"the second gdb, which looks locations up: {error}") from None
    for line in result.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line[len(MARK):])
    raise root.RootError("the second gdb, which looks locations up, says: " +
                       " ".join((result.stderr or result.stdout).split()))
