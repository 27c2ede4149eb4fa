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


class File:
    """Defined variables and functions by name, the names that other libraries have to define, the sections through which calls
    to other libraries go, the build-id, the address of some code (or 0), and whether the file has debug information."""

    def __init__(self, data):
        self.symbols = {}
        self.imports = set()
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
                    self._read_symbols(data, section, sections[section[6]])
        self.code = next((section[3] for section in sections if section[2] & SHF_EXECINSTR), 0)
        for section in sections:
            if section[1] == SHT_NOTE:
                self._read_note(data[section[4]:section[4] + section[5]])
            if data.startswith(b".plt", sections[shstrndx][4] + section[0]):
                self.linkage.append((section[3], section[3] + section[5]))
            if data.startswith((b".debug_info\0", b".zdebug_info\0"), sections[shstrndx][4] + section[0]):
                self.has_dwarf = True

    def _read_symbols(self, data, table, strings):
        names = data[strings[4]:strings[4] + strings[5]]
        content = data[table[4]:table[4] + table[5]]
        for name, info, _, shndx, value, size in SYM.iter_unpack(content[:len(content) // SYM.size * SYM.size]):
            kind = info & 15
            if shndx != SHN_UNDEF and (shndx == SHN_ABS or kind not in (STT_OBJECT, STT_FUNC, STT_TLS, STT_GNU_IFUNC)):
                continue
            text = names[name:names.find(b"\0", name)].decode("utf-8", "replace")
            if shndx == SHN_UNDEF:
                self.imports.add(text)
            elif text:
                self.symbols.setdefault(text, Symbol(text, kind, value, size, info >> 4 == STB_LOCAL))

    def _read_note(self, note):
        if len(note) < 16:
            return
        name_size, size, kind = struct.unpack_from("<III", note)
        if kind == NT_GNU_BUILD_ID and note[12:16] == b"GNU\0" and name_size == 4:
            self.build_id = note[16:16 + size]

    def calls(self, other):
        """Whether code here can call a function of another File without a pointer to it."""
        return not self.imports.isdisjoint(other.exports)

    @functools.cached_property
    def exports(self):
        return {symbol.name for symbol in self.symbols.values() if not symbol.local}

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
