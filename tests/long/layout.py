# SPDX-License-Identifier: MIT
"""What the tools that make wheels leave in shared objects: read from the files, in a few words.

auditwheel puts libraries beside the modules under names with a hash and gives all of them paths with
$ORIGIN; patchelf moves string tables and other parts to new segments at the end; each linker has its
own idea of the rest."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

# libgfortran-040039e1-0352e75f.so.5.0.0, libssl-3a1b2c3d.so.3
HASHED = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{8})?\.so")


def is_shared_object(path):
    with open(path, "rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16:18] == b"\3\0"


def segments(text):
    """[(address, size, flags)] of the PT_LOADs in readelf's output."""
    return [(int(m[1], 16), int(m[2], 16), m[3].replace(" ", "")) for m in
            re.finditer(r"^  LOAD +0x\w+ 0x(\w+) 0x\w+ 0x\w+ 0x(\w+) ([RWE ]{3}) 0x\w+$", text, re.M)]


def traits(path):
    """The words for one file."""
    text = subprocess.run(["readelf", "-dlrW", path], capture_output=True, text=True, errors="replace", check=True,
                          env=dict(os.environ, LC_ALL="C")).stdout
    loads = segments(text)
    found = set()
    if HASHED.search(os.path.basename(path)):
        found.add("bundled under hashed names")
    if re.search(r"\((RPATH|RUNPATH)\).*\$ORIGIN", text):
        found.add("with $ORIGIN")
    strings = re.search(r"\(STRTAB\) +0x(\w+)", text)
    place = [i for i, (address, size, _) in enumerate(loads) if strings and address <= int(strings[1], 16) < address + size]
    if place and place[0] > 0:
        found.add("with moved string tables")
    if len(loads) > 4:
        found.add("with more than 4 segments")
    if "(RELR)" in text:
        found.add("with RELR")
    if "R_X86_64_TLSDESC" in text:
        found.add("with TLSDESC")
    if "STATIC_TLS" in text:
        found.add("with initial-exec TLS")
    elif re.search(r"^  TLS ", text, re.M):
        found.add("with TLS")
    if not re.search(r"\(GNU_HASH\)", text):
        found.add("without GNU_HASH")
    return found


ORDER = ["bundled under hashed names", "with $ORIGIN", "with moved string tables", "with more than 4 segments", "with RELR",
         "with TLSDESC", "with TLS", "with initial-exec TLS", "without GNU_HASH"]


def describe(paths):
    """"12 files, 3 with moved string tables, ..." of those that are shared objects."""
    paths = sorted({os.path.realpath(path) for path in paths if is_shared_object(path)})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(traits, paths))
    counts = [(sum(word in one for one in found), word) for word in ORDER]
    parts = [f"{len(paths)} file{'s' if len(paths) != 1 else ''}"] + [f"{count} {word}" for count, word in counts if count]
    return ", ".join(parts)
