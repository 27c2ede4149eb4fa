# SPDX-License-Identifier: MIT
"""Builds a file of debug information with nothing but names of places, so that gdb can have a breakpoint there.

One breakpoint of gdb's can have many addresses only if it is on a name that has many. So the places get a common name. The file is
added to an object file that gdb knows. It has the sections of that object file, without content (gdb warns of others), and a
further section for the names: when gdb looks for the name of an address, it looks only among names in the section of the
address, and so never finds these.

Knows no debugger. gABI chapter 4."""

from gorgon_shared import elf

SHT_NULL, SHT_STRTAB, SHT_NOBITS = 0, 3, 8
NAME = b".gorgon.places"
GLOBAL_FUNCTION = 0x12
ET_DYN = 3
SECTION_MAX, NAMES_MAX = 1024, 1 << 16


class Strings:
    def __init__(self):
        self.content = bytearray(b"\0")

    def add(self, text):
        at = len(self.content)
        self.content += text + b"\0"
        return at


class Sections(list):
    """[(name, header)], and the machine that the file is for."""

    machine = 0


def sections(read, flags=elf.SHF_ALLOC):
    """The Sections of an ELF file that have these flags; read(off, size) returns bytes. Raises ValueError."""
    header = elf.EHDR.unpack(read(0, elf.EHDR.size))
    shoff, shnum, shstrndx = header[6], header[12], header[13]
    if header[0][:6] != elf.IDENT or not shstrndx < shnum <= SECTION_MAX:
        raise ValueError("no ELF file")
    table = list(elf.SHDR.iter_unpack(read(shoff, shnum * elf.SHDR.size)))
    names = read(table[shstrndx][4], min(table[shstrndx][5], NAMES_MAX))
    found = Sections((names[s[0]:names.find(b"\0", s[0])], s) for s in table if s[2] & flags == flags)
    if not found:
        raise ValueError("no section of memory")
    found.machine = header[2]
    return found


def build(like, places):
    """The file for [(name, address)]; @like is sections() of the object file to which it will be added."""
    names, section_names = Strings(), Strings()
    symbols = bytes(elf.SYM.size) + b"".join(
        elf.SYM.pack(names.add(name.encode()), GLOBAL_FUNCTION, 0, len(like) + 1, address, 1) for name, address in places)
    headers = [elf.SHDR.pack(section_names.add(name), SHT_NOBITS, s[2], s[3], 0, s[5], 0, 0, s[8], 0) for name, s in like]
    lowest = min(s[3] for _, s in like)
    headers.append(elf.SHDR.pack(section_names.add(NAME), SHT_NOBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, lowest, 0, 0, 0, 0, 1, 0))
    kinds = [section_names.add(name) for name in (b".symtab", b".strtab", b".shstrtab")]
    parts = symbols, bytes(names.content), bytes(section_names.content)
    off, count = elf.EHDR.size, len(headers) + 1
    for kind, name, content in zip((elf.SHT_SYMTAB, SHT_STRTAB, SHT_STRTAB), kinds, parts):
        link, size = (count + 1, elf.SYM.size) if kind == elf.SHT_SYMTAB else (0, 0)
        headers.append(elf.SHDR.pack(name, kind, 0, 0, off, len(content), link, 1 if link else 0, 1, size))
        off += len(content)
    header = elf.EHDR.pack((elf.IDENT + b"\1").ljust(16, b"\0"), ET_DYN, like.machine, 1, 0, 0, off, 0, elf.EHDR.size,
                           0, 0, elf.SHDR.size, len(headers) + 1, count + 2)
    return b"".join([header, *parts, bytes(elf.SHDR.size), *headers])
