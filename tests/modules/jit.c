// SPDX-License-Identifier: MIT
// A compiler with a registrar of its own, as LLVM and CPython have: jit_add() makes a
// function and tells debuggers its name, jit_call() calls it, and it calls jit_bottom().
//
// JIT_GUARDED: a mutex of the C library guards the list. JIT_RESETS: the descriptor is as
// before after each call, as CPython leaves it. JIT_LATE: the code becomes executable
// after it was registered, not before. Visibility and linking decide whether
// __jit_debug_register_code is called directly: modules.mk.

#define _GNU_SOURCE
#include "machine.h"
#include <elf.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default"), noinline))
#define PAGE 4096
#define COUNT 16

struct entry {
	struct entry *next, *prev;
	const void *symfile;
	uint64_t size;
};

struct descriptor {
	uint32_t version, action;
	struct entry *relevant, *first;
};

struct symfile {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[4]; // none, .text, .symtab, .strtab
	Elf64_Sym symbols[2];
	char strings[64]; // of sections and symbols
};

struct descriptor __jit_debug_descriptor = {.version = 1};

void __attribute__((noinline, noipa)) __jit_debug_register_code(void)
{
	__asm__ volatile("" : : : "memory");
}

#if defined(JIT_GUARDED)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

static struct {
	struct entry entry;
	struct symfile symfile;
	uint8_t *code;
} functions[COUNT];

static void tell(uint32_t action, struct entry *entry)
{
	__jit_debug_descriptor.action = action;
	__jit_debug_descriptor.relevant = entry;
	__jit_debug_register_code();
#if defined(JIT_RESETS)
	__jit_debug_descriptor.action = 0;
	__jit_debug_descriptor.relevant = NULL;
#endif
}

static void lock_list(void)
{
#if defined(JIT_GUARDED)
	pthread_mutex_lock(&mutex);
#endif
}

static void unlock_list(void)
{
#if defined(JIT_GUARDED)
	pthread_mutex_unlock(&mutex);
#endif
}

static void link_entry(struct entry *entry)
{
	lock_list();
	entry->prev = NULL;
	entry->next = __jit_debug_descriptor.first;
	if (entry->next)
		entry->next->prev = entry;
	__jit_debug_descriptor.first = entry;
	tell(1, entry);
	unlock_list();
}

static void unlink_entry(struct entry *entry)
{
	lock_list();
	if (entry->prev)
		entry->prev->next = entry->next;
	else
		__jit_debug_descriptor.first = entry->next;
	if (entry->next)
		entry->next->prev = entry->prev;
	tell(2, entry);
	// A reader that still reads this entry reads too late.
	memset(entry, 0xff, sizeof(*entry));
	unlock_list();
}

static void describe(struct symfile *symfile, const char *name, const uint8_t *code, size_t size)
{
	static const char sections[] = "\0.text\0.symtab\0.strtab";

	*symfile = (struct symfile){
		.ehdr = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1},
			 .e_type = ET_DYN,
			 .e_machine = TEST_MACHINE,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shoff = offsetof(struct symfile, shdrs),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3},
		.shdrs = {[1] = {.sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_addr = (uintptr_t)code, .sh_size = size, .sh_addralign = 16},
			  [2] = {.sh_name = 7, .sh_type = SHT_SYMTAB, .sh_link = 3, .sh_info = 1,
				 .sh_offset = offsetof(struct symfile, symbols),
				 .sh_size = sizeof(symfile->symbols), .sh_entsize = sizeof(Elf64_Sym),
				 .sh_addralign = 8},
			  [3] = {.sh_name = 15, .sh_type = SHT_STRTAB,
				 .sh_offset = offsetof(struct symfile, strings),
				 .sh_size = sizeof(symfile->strings), .sh_addralign = 1}},
		.symbols = {[1] = {.st_name = sizeof(sections), .st_shndx = 1,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_value = (uintptr_t)code, .st_size = size}},
	};
	memcpy(symfile->strings, sections, sizeof(sections));
	strncpy(symfile->strings + sizeof(sections), name, sizeof(symfile->strings) - sizeof(sections) - 1);
}

API int jit_bottom(int value)
{
	__asm__ volatile("" : "+r"(value)); // a place to stop
	return value;
}

static int free_place(void)
{
	int i = 0;

	while (functions[i].code)
		if (++i == COUNT)
			abort();
	return i;
}

// Makes a function and tells debuggers its name; returns its number, or -1 without memory.
API int jit_add(const char *name)
{
	static const uint8_t code[] = TEST_CODE_CALL;
	int number = free_place();
	uint8_t *place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		return -1;
	memcpy(place, code, sizeof(code));
	__builtin___clear_cache((char *)place, (char *)place + sizeof(code));
	functions[number].code = place;
	functions[number].entry.symfile = &functions[number].symfile;
	functions[number].entry.size = sizeof(struct symfile);
	describe(&functions[number].symfile, name, place, sizeof(code));
#if !defined(JIT_LATE)
	mprotect(place, PAGE, PROT_READ | PROT_EXEC);
#endif
	link_entry(&functions[number].entry);
#if defined(JIT_LATE)
	mprotect(place, PAGE, PROT_READ | PROT_EXEC);
#endif
	return number;
}

// Registers something that is no object file.
API int jit_add_broken(const char *name)
{
	int number = jit_add(name);

	unlink_entry(&functions[number].entry);
	functions[number].entry.symfile = &functions[number].symfile;
	functions[number].entry.size = sizeof(struct symfile);
	functions[number].symfile.shdrs[2].sh_offset = UINT64_MAX - 8;
	link_entry(&functions[number].entry);
	return number;
}

static int call(int number, int value, int (*then)(int))
{
	int (*function)(int value, int (*then)(int)) =
		(int (*)(int, int (*)(int)))(uintptr_t)functions[number].code;

	return function(value, then);
}

API int jit_call(int number, int value)
{
	return call(number, value, jit_bottom) + 1;
}

static int wait_for(int seconds)
{
	unsigned left = sleep((unsigned)seconds);

	__asm__ volatile("" : "+r"(left)); // no tail call: it has a frame
	return (int)left;
}

// Calls the function, which stays in jit_bottom() for @seconds.
API int jit_wait(int number, int seconds)
{
	return call(number, seconds, wait_for) + 1;
}

API void jit_remove(int number)
{
	unlink_entry(&functions[number].entry);
	munmap(functions[number].code, PAGE);
	functions[number].code = NULL;
}

// What another thread may do meanwhile: memory becomes executable.
API void jit_protect(void)
{
	void *place = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(place, PAGE, PROT_READ | PROT_EXEC);
	munmap(place, PAGE);
}

// Where the code is, and the file that describes it.
API const void *jit_code(int number)
{
	return functions[number].code;
}

API const void *jit_symfile(int number, uint64_t *size)
{
	*size = sizeof(struct symfile);
	return &functions[number].symfile;
}
