# SPDX-License-Identifier: MIT
"""Run a program in an ordinary python3 and say who has written to code or tables of others by then.

Usage: writers.py PROGRAM; the last line of the output is JSON:
    code    [[object, function]]: bytes of its code that are not the file's, and the function that they begin in
    tables  [[object, name, target]]: an address in its table of functions leads into an object that defines no such name
    asks    [object]: may write: needs mprotect() or pkey_mprotect()

Code is compared with the file where the kernel says that pages of it were written (smaps). A table has the addresses
of functions of other objects (JUMP_SLOT, GLOB_DAT): which object each leads to, and whether that has the name."""

import bisect
import json
import os
import re
import runpy
import struct
import sys
import traceback

R_GLOB_DAT, R_JUMP_SLOT = 6, 7
STT_TLS = 6


class Elf:
    """What of a mapped file says where names and tables are."""

    def __init__(self, path, bias):
        self.path, self.bias = path, bias
        with open(path, "rb") as file:
            self.data = file.read()
        phoff, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * size) for i in range(count)]
        dynamic = next((s for s in self.segments if s[0] == 2), None)
        self.tags, self.needed = {}, []
        for at in range(dynamic[2], dynamic[2] + dynamic[5], 16) if dynamic else ():
            tag, value = struct.unpack_from("<QQ", self.data, at)
            if not tag:
                break
            self.tags.setdefault(tag, value)
        self.names = self._names() if 6 in self.tags else []

    def offset(self, vaddr):
        return next(vaddr - s[3] + s[2] for s in self.segments if s[0] == 1 and s[3] <= vaddr < s[3] + s[5])

    def _names(self):
        """[(name, address, size, defined, type)] of all dynamic symbols: those up to the string table, as linkers lay them out,
        or as many as the relocations and hash tables are about."""
        strings, at = self.offset(self.tags[5]), self.offset(self.tags[6])
        count = (strings - at) // 24 if strings > at else 0
        names = []
        for i in range(count):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at + i * 24)
            end = self.data.find(b"\0", strings + name)
            names.append((self.data[strings + name:end].decode(errors="replace"), value, size, section != 0, info & 15))
        return names

    def known(self):
        """Names that an address in it may have: its own, and those of functions whose addresses a program that is linked to one
        place has in itself."""
        return {name for name, value, _, defined, _ in self.names if defined or value}

    def asks(self):
        return {name for name, _, _, defined, _ in self.names if not defined} & {"mprotect", "pkey_mprotect"}

    def slots(self):
        """(address, name) of each address of a function that the linker has filled in."""
        for start, size in ((7, 8), (23, 2)):  # DT_RELA, DT_JMPREL
            at = self.offset(self.tags[start]) if self.tags.get(start) else 0
            for i in range(at, at + self.tags.get(size, 0) if at else 0, 24):
                place, info, _ = struct.unpack_from("<QQq", self.data, i)
                if info & 0xffffffff in (R_GLOB_DAT, R_JUMP_SLOT) and info >> 32 < len(self.names):
                    name, _, _, _, kind = self.names[info >> 32]
                    if kind in (0, 2, 10):
                        yield self.bias + place, name

    def function_at(self, vaddr):
        found = [(value, name) for name, value, size, defined, kind in self.names if defined and kind in (2, 10) and
                 value <= vaddr < value + max(size, 1)]
        return max(found)[1] if found else hex(vaddr)


def mappings():
    """[(start, end, permissions, offset, path, written bytes)] of files."""
    found = []
    with open("/proc/self/smaps") as file:
        for line in file:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ (\d+) +(/.*)$", line)
            if match:
                found.append([int(match[1], 16), int(match[2], 16), match[3], int(match[4], 16), match[6], 0])
            elif re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                found.append([0, 0, "", 0, "", 0])
            elif line.startswith("Anonymous:"):
                found[-1][5] = int(line.split()[1])
    return [mapping for mapping in found if mapping[4] and not mapping[4].endswith(" (deleted)")]


def objects(maps):
    """{path: Elf} of what was loaded; the first mapping is that of the file's beginning."""
    found = {}
    for start, _, _, offset, path, _ in maps:
        if offset or path in found:
            continue
        try:
            with open(path, "rb") as file:
                if file.read(4) != b"\x7fELF":
                    continue
            elf = Elf(path, 0)
            elf.bias = start - min(s[3] & -4096 for s in elf.segments if s[0] == 1)
            found[path] = elf
        except (OSError, ValueError, StopIteration, struct.error):
            continue  # no library
    return found


def written_code(maps, elves, memory):
    found = set()
    for start, end, permissions, offset, path, written in maps:
        if "x" not in permissions or not written or path not in elves:
            continue
        elf = elves[path]
        memory.seek(start)
        now, file = memory.read(end - start), elf.data[offset:offset + end - start]
        for page in range(0, len(file), 4096):
            if now[page:page + 4096][:len(file) - page] == file[page:page + 4096]:
                continue
            differs = [i for i in range(page, min(page + 4096, len(file))) if now[i] != file[i]]
            for i in differs:
                if i - 1 not in differs:
                    found.add((path, elf.function_at(start + i - elf.bias)))
    return sorted(found)


def written_tables(maps, elves, memory):
    ranges = sorted((start, end, path) for start, end, _, _, path, _ in maps)
    starts = [start for start, _, _ in ranges]
    names = {path: elf.known() for path, elf in elves.items()}
    found = set()
    for path, elf in elves.items():
        for addr, name in elf.slots():
            try:
                memory.seek(addr)
                target, = struct.unpack("<Q", memory.read(8))
            except (OSError, struct.error, ValueError):
                continue
            i = bisect.bisect(starts, target) - 1
            there = ranges[i][2] if i >= 0 and target < ranges[i][1] else None
            # An address inside of the object itself is not bound yet. An address in no file is a compiler's, or 0.
            if there and there != path and there in names and name not in names[there]:
                found.add((path, name, there))
    return sorted(found)


def main(path):
    sys.argv[:] = [path, *sys.argv[2:]]
    status = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else bool(error.code)
    except BaseException:
        traceback.print_exc()
        status = 1
    maps = mappings()
    elves = objects(maps)
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        said = {"code": written_code(maps, elves, memory), "tables": written_tables(maps, elves, memory),
                "asks": sorted(path for path, elf in elves.items() if elf.asks()), "objects": len(elves)}
    sys.stdout.flush()
    print("\n" + json.dumps(said), flush=True)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1])
