# SPDX-License-Identifier: MIT
"""Where a location lies in a library, found once for all copies.

gdb looks a name or a line up in every object file that it knows, and reads the debug
information of each copy on the way: a second and 80 MB for each copy of an optimised
libpython. So a second gdb, the same program, gets one copy of each library, at an address
that says which it is, and answers with gdb's own rules: inlined instances, overloads, ends of
prologues, the nearest line with code. Adding a copy's bias gives the place in that copy."""

import json
import os
import subprocess
import tempfile

import gdb

from . import elf, files, root

# Libraries in the second gdb are this far apart.
SPACING = 1 << 36
SECONDS = 300
MARK = "gorgon reference: "
SCRIPT = """
python
import json
answers = []
for location in json.load(open(%r)):
    try:
        places = gdb.Breakpoint(location).locations
        answers.append([place.address for place in places])
    except gdb.error as error:
        answers.append(str(error))
print(%r + json.dumps(answers))
end
"""


def find(paths, locations):
    """For each location, {path: [address in the file]} of the libraries that have it. Raises
    root.RootError for a location that no library could ever have."""
    answers = ask(paths, locations) if paths and locations else [[]] * len(locations)
    return [place(paths, answer) for answer in answers]


def place(paths, answer):
    if isinstance(answer, str):
        raise root.RootError(answer)
    found = {}
    for address in answer:
        path, vaddr = paths[address // SPACING], address % SPACING
        # Where nobody defines a name, gdb takes the way to it, which every caller has one of.
        if not elf.read(files.find(path)).is_linkage(vaddr):
            found.setdefault(path, []).append(vaddr)
    return found


def ask(paths, locations):
    with tempfile.TemporaryDirectory() as folder:
        question, script = (os.path.join(folder, name) for name in ("locations", "script.gdb"))
        with open(question, "w") as file:
            json.dump(locations, file)
        with open(script, "w") as file:
            for name in ("debug-file-directory", "sysroot"):
                file.write(f"set {name} {gdb.parameter(name) or ''}\n")
            # The first as the program: else gdb has no code to find the ends of prologues in.
            file.write(f'file "{files.find(paths[0])}"\n')
            for i, path in enumerate(paths[1:], 1):
                file.write(f'add-symbol-file "{files.find(path)}" -o {i * SPACING:#x}\n')
            file.write(SCRIPT % (question, MARK))
        # The program that runs this script, whatever its name is.
        command = ["/proc/self/exe", "-nx", "-nh", "-batch", "-iex", "set debuginfod enabled off",
                   "-iex", "set auto-load off", "-x", script]
        try:
            result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                    timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise root.RootError(f"the second gdb, which looks locations up: {error}") from None
    for line in result.stdout.splitlines():
        if line.startswith(MARK):
            return json.loads(line[len(MARK):])
    raise root.RootError("the second gdb, which looks locations up, says: " +
                       " ".join((result.stderr or result.stdout).split()))
