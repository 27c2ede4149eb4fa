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

Symbol = collections.namedtuple("Symbol", "name kind value size local")


def content_of(data, section):
    return data[section[4]:section[4] + section[5]]


class File:
    """Whether the file has symbols, the build-id, the sections through which calls to other libraries go, the address of some
    code (or 0), and whether the file has debug information. Symbols are read when they are asked for: a libpython has 10,000."""

    def __init__(self, data):
        self._tables = []  # (kind, content, names) of each table of symbols
        self.build_id = b""
        self.linkage = []  # (start, end) of each .plt
        self.code = 0
        self.has_dwarf = False
        if data[:6] != IDENT or len(data) < EHDR.size:
            return
        header = EHDR.unpack_from(data)
        shoff, shnum, shstrndx = header[6], header[12], header[13]
        if shoff + shnum * SHDR.size > len(data) or shstrndx >= shnum:
            return
        sections = [SHDR.unpack_from(data, shoff + i * SHDR.size) for i in range(shnum)]
        # .symtab first: it has local names, too.
        for kind in (SHT_SYMTAB, SHT_DYNSYM):
            for section in sections:
                if section[1] == kind and section[6] < shnum:
                    self._tables.append((kind, content_of(data, section), content_of(data, sections[section[6]])))
        self.code = next((section[3] for section in sections if section[2] & SHF_EXECINSTR), 0)
        for section in sections:
            if section[1] == SHT_NOTE:
                self._read_note(content_of(data, section))
            if data.startswith(b".plt", sections[shstrndx][4] + section[0]):
                self.linkage.append((section[3], section[3] + section[5]))
            if data.startswith((b".debug_info\0", b".zdebug_info\0"), sections[shstrndx][4] + section[0]):
                self.has_dwarf = True

    @property
    def has_symbols(self):
        return any(content for _, content, _ in self._tables)

    def _entries(self, *kinds):
        for of_kind, content, names in self._tables:
            for name, info, _, shndx, value, size in SYM.iter_unpack(content[:len(content) // SYM.size * SYM.size]) if of_kind in kinds else ():
                text = names[name:names.find(b"\0", name)]
                if text:
                    yield text, info, shndx, value, size

    @functools.cached_property
    def symbols(self):
        """{name: Symbol} of defined variables and functions."""
        found = {}
        for name, info, shndx, value, size in self._entries(SHT_SYMTAB, SHT_DYNSYM):
            if shndx not in (SHN_UNDEF, SHN_ABS) and info & 15 in (STT_OBJECT, STT_FUNC, STT_TLS, STT_GNU_IFUNC):
                text = name.decode("utf-8", "replace")
                found.setdefault(text, Symbol(text, info & 15, value, size, info >> 4 == STB_LOCAL))
        return found

    @functools.cached_property
    def _dynamic(self):
        """(names that other libraries have to define, names that others can use)"""
        entries = [(name, shndx == SHN_UNDEF) for name, _, shndx, *_ in self._entries(SHT_DYNSYM)]
        return tuple({name for name, undefined in entries if undefined is which} for which in (True, False))

    def calls(self, other):
        """Whether code here can call a function of another File without a pointer to it."""
        return not self._dynamic[0].isdisjoint(other._dynamic[1])

    def _read_note(self, note):
        if len(note) < 16:
            return
        name_size, size, kind = struct.unpack_from("<III", note)
        if kind == NT_GNU_BUILD_ID and note[12:16] == b"GNU\0" and name_size == 4:
            self.build_id = note[16:16 + size]

    def is_linkage(self, address):
        return any(start <= address < end for start, end in self.linkage)

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
