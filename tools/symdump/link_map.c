// SPDX-License-Identifier: MIT The names of mapped files for a core that has no note of them
// (NT_FILE): cores that QEMU writes for the program that it runs. The system's linker has a list of
// what it has loaded (struct link_map), where debuggers find it: an entry of the program's dynamic
// section leads to it. The files say how large each is, since QEMU leaves code out of its cores.
// What is mapped by other means, as private copies are, has no name here, and a program that was
// started by a relative name is not found.
//
// Specification: gABI chapter 5, "Dynamic Section" (DT_DEBUG); glibc's <link.h>.

#define _GNU_SOURCE
#include "symdump.h"

#include <gelf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define PHDR_MAX    1024
#define DYN_MAX     1024
#define LIBRARY_MAX 100000
#define PATH_SIZE   4096

static bool read_name(const struct target *target, uint64_t addr, char name[PATH_SIZE])
{
	for (size_t i = 0; i < PATH_SIZE; i++) {
		if (!target_read(target, addr + i, name + i, 1))
			return false;
		if (!name[i])
			return true;
	}
	return false;
}

// Adds a file as a single mapping, from its lowest page to its highest. @phdr_addr: where its
// program headers are in memory; 0: @bias is known. @dynamic is set to the address of its dynamic
// section, unless it is NULL.
static void add_file(struct target *target, const char *name, uint64_t bias, uint64_t phdr_addr,
		     uint64_t *dynamic)
{
	uint64_t start = UINT64_MAX, end = 0, dynamic_vaddr = 0;
	int fd = target_open_file(target, name);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	GElf_Phdr phdr;

	for (int i = 0; elf && i < PHDR_MAX && gelf_getphdr(elf, i, &phdr); i++) {
		if (phdr.p_type == PT_PHDR && phdr_addr)
			bias = phdr_addr - phdr.p_vaddr;
		if (phdr.p_type == PT_DYNAMIC)
			dynamic_vaddr = phdr.p_vaddr;
		if (phdr.p_type != PT_LOAD || phdr.p_vaddr + phdr.p_memsz < phdr.p_vaddr)
			continue;
		if (phdr.p_vaddr - phdr.p_offset < start)
			start = phdr.p_vaddr - phdr.p_offset;
		if (phdr.p_vaddr + phdr.p_memsz > end)
			end = phdr.p_vaddr + phdr.p_memsz;
	}
	if (start < end && bias + start < bias + end)
		target_add_mapping(target, bias + start, bias + end, 0, name);
	if (dynamic && dynamic_vaddr)
		*dynamic = bias + dynamic_vaddr;
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

static uint64_t find_list(const struct target *target, uint64_t dynamic)
{
	struct r_debug debug;
	Elf64_Dyn dyn;

	for (size_t i = 0;
	     i < DYN_MAX && target_read(target, dynamic + i * sizeof(dyn), &dyn, sizeof(dyn));
	     i++) {
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_DEBUG &&
		    target_read(target, dyn.d_un.d_ptr, &debug, sizeof(debug)))
			return (uint64_t)debug.r_map;
	}
	return 0;
}

static void add_list(struct target *target, uint64_t addr)
{
	struct address_set seen = {0};
	char name[PATH_SIZE];
	struct link_map map;

	while (addr && seen.count < LIBRARY_MAX && address_set_add(&seen, addr) &&
	       target_read(target, addr, &map, sizeof(map))) {
		// The program's own entry has no name, and the kernel's library has no file.
		if (read_name(target, (uint64_t)map.l_name, name) && *name == '/')
			add_file(target, name, map.l_addr, 0, NULL);
		addr = (uint64_t)map.l_next;
	}
	address_set_deinit(&seen);
}

void link_map_read(struct target *target, const Elf64_auxv_t *vector, size_t count)
{
	uint64_t phdr_addr = 0, name_addr = 0, dynamic = 0;
	char name[PATH_SIZE];

	for (size_t i = 0; i < count; i++) {
		if (vector[i].a_type == AT_PHDR)
			phdr_addr = vector[i].a_un.a_val;
		else if (vector[i].a_type == AT_EXECFN)
			name_addr = vector[i].a_un.a_val;
	}
	if (phdr_addr && read_name(target, name_addr, name))
		add_file(target, name, 0, phdr_addr, &dynamic);
	if (dynamic)
		add_list(target, find_list(target, dynamic));
}
