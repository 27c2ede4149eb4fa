# SPDX-License-Identifier: MIT
"""The symbol tables of a library's file, for names that no debug information describes.

Knows no debugger. Reads 64-bit little-endian ELF (gABI chapter 4), as the loader does. A file that
cannot be read, or is of another kind, counts as a file without symbols: the right file may lie on another machine."""

import collections
import functools
import os
import struct

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
SHDR = struct.Struct("<IIQQQQIIQQ")
SYM = struct.Struct("<IBBHQQ")
IDENT = b"\x7fELF\x02\x01"
SHT_SYMTAB, SHT_NOTE, SHT_DYNSYM = 2, 7, 11
SHF_ALLOC, SHF_EXECINSTR = 2, 4
SHN_UNDEF, SHN_ABS = 0, 0xFFF1
STT_OBJECT, STT_FUNC, STT_TLS, STT_GNU_IFUNC = 1, 2, 6, 10
STB_LOCAL = 0
NT_GNU_BUILD_ID = 3
SECTIONS_MAX, NAMES_MAX = 1024, 1 << 16

Symbol = collections.namedtuple("Symbol", "name kind value size local")


def sections(read, flags=SHF_ALLOC):
    """[(name, header)] of the sections of an ELF file that have these flags; read(off, size) returns bytes. Raises ValueError."""
    header = EHDR.unpack(read(0, EHDR.size))
    shoff, shnum, shstrndx = header[6], header[12], header[13]
    if header[0][:6] != IDENT or not shstrndx < shnum <= SECTIONS_MAX:
        raise ValueError("no ELF file")
    table = list(SHDR.iter_unpack(read(shoff, shnum * SHDR.size)))
    names = read(table[shstrndx][4], min(table[shstrndx][5], NAMES_MAX))
    found = [(text_at(names, s[0]), s) for s in table if s[2] & flags == flags]
    if not found:
        raise ValueError("no section of memory")
    return found


def entries(content):
    return SYM.iter_unpack(content[:len(content) // SYM.size * SYM.size])


def text_at(names, off):
    return names[off:names.find(b"\0", off)]


class File:
    """Defined variables and functions by name, the names that other libraries have to define, the build-id, the address of some
    code (or 0), and whether the file has debug information. Names are read when somebody asks for them, since a library has thousands."""

    def __init__(self, data):
        self.tables = []  # (section type, symbols, names), the fullest first
        self.build_id = b""
        self.code = 0
        self.has_dwarf = False
        if data[:6] != IDENT or len(data) < EHDR.size:
            return
        header = EHDR.unpack_from(data)
        shoff, shnum, shstrndx = header[6], header[12], header[13]
        if shoff + shnum * SHDR.size > len(data) or shstrndx >= shnum:
            return
        sections = [SHDR.unpack_from(data, shoff + i * SHDR.size) for i in range(shnum)]

        def content(section):
            return data[section[4]:section[4] + section[5]]

        # .symtab first: it has local names, too.
        self.tables = [(kind, content(section), content(sections[section[6]])) for kind in (SHT_SYMTAB, SHT_DYNSYM)
                       for section in sections if section[1] == kind and section[6] < shnum]
        self.code = next((section[3] for section in sections if section[2] & SHF_EXECINSTR), 0)
        for section in sections:
            if section[1] == SHT_NOTE:
                self._read_note(content(section))
            if data.startswith((b".debug_info\0", b".zdebug_info\0"), sections[shstrndx][4] + section[0]):
                self.has_dwarf = True

    @functools.cached_property
    def symbols(self):
        found = {}
        for _, content, names in self.tables:
            for name, info, _, shndx, value, size in entries(content):
                kind = info & 15
                if shndx in (SHN_UNDEF, SHN_ABS) or kind not in (STT_OBJECT, STT_FUNC, STT_TLS, STT_GNU_IFUNC):
                    continue
                text = text_at(names, name).decode("utf-8", "replace")
                if text:
                    found.setdefault(text, Symbol(text, kind, value, size, info >> 4 == STB_LOCAL))
        return found

    @functools.cached_property
    def dynamic_names(self):
        """(names that other libraries have to define, names that the file defines for others), as bytes."""
        found = set(), set()
        for kind, content, names in self.tables:
            if kind == SHT_DYNSYM:
                for name, info, _, shndx, _, _ in entries(content):
                    if info >> 4 != STB_LOCAL:
                        found[shndx != SHN_UNDEF].add(text_at(names, name))
        return found

    def _read_note(self, note):
        if len(note) < 16:
            return
        name_size, size, kind = struct.unpack_from("<III", note)
        if kind == NT_GNU_BUILD_ID and note[12:16] == b"GNU\0" and name_size == 4:
            self.build_id = note[16:16 + size]

    def calls(self, other):
        """Whether code here can call a function of another File without a pointer to it."""
        return not self.dynamic_names[0].isdisjoint(other.dynamic_names[1])

    @functools.cached_property
    def thread_local(self):
        return [symbol for symbol in self.symbols.values() if symbol.kind == STT_TLS]


@functools.lru_cache(maxsize=256)
def _read(path, _mtime):
    with open(path, "rb") as file:
        return File(file.read())


def read(path):
    """The File at a path; a File without symbols when there is no file."""
    try:
        return _read(path, os.stat(path).st_mtime_ns)
    except OSError:
        return File(b"")
