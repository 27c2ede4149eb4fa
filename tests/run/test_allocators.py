# SPDX-License-Identifier: MIT
"""Extensions that are linked to an allocator, and programs under one: each block goes back to where it came from."""

import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest

from harness import GORGON, PYTHON3, SANITIZED, run

# As tcmalloc, jemalloc and mimalloc: malloc() and its family, operator new and delete. A block of somebody else ends the program.
ALLOCATOR = """
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

static const std::size_t SIZE = std::size_t(1) << 30;
static char *arena, *next;

extern "C" {
void *memalign(std::size_t alignment, std::size_t size)
{
    if (!arena) {
        char *made = static_cast<char *>(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        arena = next = made;
    }
    alignment = alignment < 16 ? 16 : alignment;
    char *end, *block, *begin = __atomic_load_n(&next, __ATOMIC_RELAXED);
    do {
        block = reinterpret_cast<char *>((reinterpret_cast<std::size_t>(begin) + 16 + alignment - 1) & ~(alignment - 1));
        end = block + size;
    } while (!__atomic_compare_exchange_n(&next, &begin, end, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    if (end > arena + SIZE)
        abort();
    reinterpret_cast<std::size_t *>(block)[-1] = size;
    return block;
}
void *malloc(std::size_t size) { return memalign(16, size); }
void *aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
void *calloc(std::size_t count, std::size_t size) { return memalign(16, count * size); }
std::size_t malloc_usable_size(void *block) { return block ? static_cast<std::size_t *>(block)[-1] : 0; }
void free(void *block)
{
    if (block && (!arena || block < arena || block >= arena + SIZE))
        abort();
}
void *realloc(void *block, std::size_t size)
{
    void *ret = malloc(size);
    std::size_t old = malloc_usable_size(block);
    free(block);
    return block ? memcpy(ret, block, old < size ? old : size) : ret;
}
int posix_memalign(void **ret, std::size_t alignment, std::size_t size)
{
    *ret = memalign(alignment, size);
    return 0;
}
}
void *operator new(std::size_t size) { return malloc(size); }
void *operator new[](std::size_t size) { return malloc(size); }
void operator delete(void *block) noexcept { free(block); }
void operator delete[](void *block) noexcept { free(block); }
void operator delete(void *block, std::size_t) noexcept { free(block); }
void operator delete[](void *block, std::size_t) noexcept { free(block); }
"""

EXTENSION = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

extern "C" int work(void)
{
    std::size_t sum = 0;
    for (int i = 0; i < 200; i++) {
        char *text = strdup("text of the C library"), *lines = nullptr, *stream = nullptr;
        std::size_t size = 0;
        void *aligned = nullptr;
        if (posix_memalign(&aligned, 64, 100))
            return -1;
        text = static_cast<char *>(realloc(text, 1000));
        std::FILE *file = open_memstream(&stream, &size);
        std::fprintf(file, "line %d", i);
        std::fclose(file);
        if (asprintf(&lines, "%s %d", text, i) < 0)
            return -1;
        std::ostringstream out;
        out << "a line that is longer than what fits into the string itself " << i;
        std::string whole = out.str();
        whole += whole;
        sum += whole.size() + std::strlen(lines) + std::strlen(stream);
        free(text);
        free(lines);
        free(stream);
        free(aligned);
    }
    return static_cast<int>(sum);
}
"""

PROGRAM = "import ctypes; print(ctypes.CDLL({path!r}).work())"


@unittest.skipIf(SANITIZED, "sanitizers have an allocator of their own")
class Allocators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gorgon-allocators-")
        cls.allocator = cls.compile("liballocator.so", ALLOCATOR, "-fno-builtin")
        cls.linked = cls.compile("liblinked.so", EXTENSION, "-Wl,--no-as-needed", cls.allocator)
        cls.own = cls.compile("libown.so", ALLOCATOR + EXTENSION, "-fno-builtin")
        cls.plain = cls.compile("libplain.so", EXTENSION)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def compile(cls, name, source, *options):
        path = os.path.join(cls.folder, name)
        subprocess.run(["g++", "-xc++", "-std=c++17", "-D_GNU_SOURCE", "-O1", "-Wall", "-shared", "-fPIC", "-", "-xnone", *options,
                        f"-Wl,-rpath,{cls.folder}", "-o", path], input=textwrap.dedent(source), text=True, check=True)
        return path

    def check(self, library, env):
        program = PROGRAM.format(path=library)
        alone = run(PYTHON3, "-c", program, env=env)
        self.assertEqual((alone.stderr, alone.returncode), ("", 0))
        ours = run(GORGON, "run", "-n", "2", "-c", program, env=env)
        self.assertEqual((ours.stderr, ours.stdout, ours.returncode), ("", 2 * alone.stdout, 0))

    def test_extension_that_is_linked_to_an_allocator(self):
        self.check(self.linked, {})

    def test_extension_that_contains_an_allocator(self):
        self.check(self.own, {})

    def test_program_under_an_allocator(self):
        for library in (self.plain, self.linked):
            with self.subTest(library):
                self.check(library, {"LD_PRELOAD": self.allocator})


if __name__ == "__main__":
    unittest.main()
