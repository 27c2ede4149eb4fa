// SPDX-License-Identifier: MIT
/*
 * A host for the debugger checks of jitreg: maps a library N times by hand and
 * registers every copy.
 *
 *     jitreg_host LIBRARY N run      call snake_enter() in every copy
 *     jitreg_host LIBRARY N wait     the same, but stay in the last copy until killed
 *     jitreg_host LIBRARY N map      only map and register; nothing is relocated
 *
 *
 * Steps are marked by functions to set breakpoints on: all_registered(),
 * in_callback(), one_unregistered(), all_unregistered(). The memory of copies that
 * are gone is used for something else, and nobody may write there.
 */
#define _GNU_SOURCE 1
#include "../jitreg/jitreg.h"

#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES_MAX 4096

typedef int snake_enter_fn(int number, int value, int (*callback)(int));

struct copy {
	uint64_t bias, start, end;
	struct jitreg_entry *entry;
};

static const char *file; // the whole library, read-only
static struct copy copies[COPIES_MAX];
static uint64_t page_size;
static int last_number;
static int waiting;

void all_registered(int count);
void one_unregistered(int count);
void all_unregistered(int count);
int in_callback(int value);

__attribute__((noinline)) void all_registered(int count)
{
	__asm__ volatile("" : : "r"(count) : "memory");
}

__attribute__((noinline)) void one_unregistered(int count)
{
	__asm__ volatile("" : : "r"(count) : "memory");
}

__attribute__((noinline)) void all_unregistered(int count)
{
	__asm__ volatile("" : : "r"(count) : "memory");
}

__attribute__((noinline)) int in_callback(int value)
{
	if (waiting && value == last_number + 10) {
		printf("waiting %d\n", getpid());
		fflush(stdout);
		for (;;)
			pause();
	}
	return value;
}

static const Elf64_Phdr *phdrs(void)
{
	return (const Elf64_Phdr *)(file + ((const Elf64_Ehdr *)file)->e_phoff);
}

static size_t phdr_count(void)
{
	return ((const Elf64_Ehdr *)file)->e_phnum;
}

static void map_copy(struct copy *copy, int fd)
{
	uint64_t size = 0;
	char *base;

	for (size_t i = 0; i < phdr_count(); i++) {
		const Elf64_Phdr *p = &phdrs()[i];

		if (p->p_type == PT_LOAD)
			size = (p->p_vaddr + p->p_memsz + page_size - 1) & -page_size;
	}
	base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		err(1, "mmap");
	for (size_t i = 0; i < phdr_count(); i++) {
		const Elf64_Phdr *p = &phdrs()[i];
		uint64_t head = p->p_vaddr % page_size;
		int prot = PROT_READ | (p->p_flags & PF_W ? PROT_WRITE : 0) |
			   (p->p_flags & PF_X ? PROT_EXEC : 0);
		char *at = base + p->p_vaddr - head;

		if (p->p_type != PT_LOAD)
			continue;
		if (mmap(at, p->p_memsz + head, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED ||
		    (p->p_filesz && mmap(at, p->p_filesz + head, prot, MAP_PRIVATE | MAP_FIXED, fd,
					 (off_t)(p->p_offset - head)) == MAP_FAILED))
			err(1, "mmap");
		if (p->p_flags & PF_W && p->p_memsz > p->p_filesz)
			memset(base + p->p_vaddr + p->p_filesz, 0, p->p_memsz - p->p_filesz);
	}
	copy->bias = copy->start = (uint64_t)base;
	copy->end = copy->start + size;
}

static const Elf64_Dyn *find_dynamic(const struct copy *copy, Elf64_Sxword tag)
{
	for (size_t i = 0; i < phdr_count(); i++) {
		const Elf64_Dyn *dyn = (const Elf64_Dyn *)(copy->bias + phdrs()[i].p_vaddr);

		if (phdrs()[i].p_type != PT_DYNAMIC)
			continue;
		for (; dyn->d_tag != DT_NULL; dyn++) {
			if (dyn->d_tag == tag)
				return dyn;
		}
	}
	return NULL;
}

static void relocate_copy(const struct copy *copy)
{
	const Elf64_Dyn *rela = find_dynamic(copy, DT_RELA), *size = find_dynamic(copy, DT_RELASZ);
	const Elf64_Rela *r;

	if (!rela || !size)
		return;
	r = (const Elf64_Rela *)(copy->bias + rela->d_un.d_ptr);
	for (size_t n = size->d_un.d_val / sizeof(*r); n; n--, r++) {
		uint64_t type = ELF64_R_TYPE(r->r_info);

		if (type != R_X86_64_RELATIVE && type != R_AARCH64_RELATIVE)
			errx(1, "relocation type %lu in a library without imports", type);
		*(uint64_t *)(copy->bias + r->r_offset) = copy->bias + (uint64_t)r->r_addend;
	}
}

static snake_enter_fn *find_enter(const struct copy *copy)
{
	const Elf64_Dyn *symtab = find_dynamic(copy, DT_SYMTAB);
	const Elf64_Dyn *strtab = find_dynamic(copy, DT_STRTAB);
	const Elf64_Dyn *hash = find_dynamic(copy, DT_HASH);
	const Elf64_Sym *sym;

	if (!symtab || !strtab || !hash)
		errx(1, "the library needs DT_HASH (-Wl,--hash-style=sysv)");
	sym = (const Elf64_Sym *)(copy->bias + symtab->d_un.d_ptr);
	for (uint32_t n = ((const uint32_t *)(copy->bias + hash->d_un.d_ptr))[1]; n; n--, sym++) {
		if (!strcmp((const char *)(copy->bias + strtab->d_un.d_ptr + sym->st_name),
			    "snake_enter"))
			return (snake_enter_fn *)(copy->bias + sym->st_value);
	}
	errx(1, "no snake_enter");
}

static void register_copy(struct copy *copy, const char *path, int fd)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = path,
		.fd = fd,
		.bias = copy->bias,
		.start = copy->start,
		.end = copy->end,
	};
	int r = jitreg_register(&image, &copy->entry);

	if (r)
		errx(1, "jitreg_register: %s", strerror(-r));
}

static void describe(const struct copy *copy, int number)
{
	static const char *const kinds[] = {"names", "build-id", "self", "link"};
	struct jitreg_info info;

	jitreg_entry_get_info(copy->entry, &info);
	printf("copy %d bias %#lx end %#lx symfile %p size %lu debug %s %s\n", number, copy->bias,
	       copy->end, info.symfile, info.symfile_size, kinds[info.debug_kind],
	       info.debug_path ? info.debug_path : "-");
}

static void reuse_memory(const struct copy *copy)
{
	if (mmap((void *)copy->start, copy->end - copy->start, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		err(1, "mmap");
}

static bool is_untouched(const struct copy *copy)
{
	for (const char *p = (const char *)copy->start; p < (const char *)copy->end; p++) {
		if (*p)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	int count, fd, sum = 0;
	struct stat st;

	if (argc != 4)
		errx(2, "usage: jitreg_host LIBRARY N run|wait|map");
	count = atoi(argv[2]);
	page_size = (uint64_t)getpagesize();
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || count < 1 || count > COPIES_MAX)
		err(2, "%s", argv[1]);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		err(1, "mmap");
	waiting = !strcmp(argv[3], "wait");
	last_number = count;

	for (int i = 0; i < count; i++) {
		map_copy(&copies[i], fd);
		if (strcmp(argv[3], "map") != 0)
			relocate_copy(&copies[i]);
		register_copy(&copies[i], argv[1], fd);
		describe(&copies[i], i + 1);
	}
	fflush(stdout);
	all_registered(count);
	for (int i = 0; i < count && strcmp(argv[3], "map") != 0; i++)
		sum += find_enter(&copies[i])(i + 1, 10, in_callback);
	for (int i = 0; i < count; i++) {
		jitreg_unregister(copies[i].entry);
		reuse_memory(&copies[i]);
		if (i == 0)
			one_unregistered(count - 1);
	}
	all_unregistered(count);
	for (int i = 0; i < count; i++) {
		if (!is_untouched(&copies[i]))
			errx(1, "somebody wrote where copy %d had been", i + 1);
	}
	printf("sum %d\n", sum);
	return 0;
}
