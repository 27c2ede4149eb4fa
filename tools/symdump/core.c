// SPDX-License-Identifier: MIT A core file, gcore's or the kernel's: PT_LOAD has memory, the note
// NT_FILE the names of mapped files (kernel: binfmt_elf.c, fill_files_note), NT_AUXV the place of
// the vdso. With the kernel's default filter pages of files are left out, so what is needed of
// files comes from the files.

#define _GNU_SOURCE
#include "symdump.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPPED_FILES_MAX 10000000

static int compare_segments(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

// Layout: count, page size, count times (start, end, page number), then count names.
static void read_files_note(struct target *target, const char *data, size_t size,
			    struct problems *problems)
{
	const char *name, *end = data + size;
	uint64_t count, page, entry[3];

	if (size < 16)
		return;
	memcpy(&count, data, 8);
	memcpy(&page, data + 8, 8);
	if (count > MAPPED_FILES_MAX || count > (size - 16) / 24) {
		problem(problems, "%s: its note of mapped files is damaged: %lu files in %zu bytes",
			target->name, count, size);
		return;
	}
	name = data + 16 + count * 24;
	for (uint64_t i = 0; i < count && memchr(name, 0, (size_t)(end - name)); i++) {
		memcpy(entry, data + 16 + i * 24, sizeof(entry));
		if (entry[0] < entry[1])
			target_add_mapping(target, entry[0], entry[1], entry[2] * page, name);
		name += strlen(name) + 1;
	}
}

// The auxiliary vector, which the kernel has given to the program. It has the address of the vdso,
// whose own headers in memory say how large it is.
struct vector {
	Elf64_auxv_t *entries;
	size_t count;
};

static void read_vector(struct vector *vector, const char *data, size_t size)
{
	vector->count = size / sizeof(*vector->entries);
	free(vector->entries);
	vector->entries = zalloc(vector->count, sizeof(*vector->entries));
	memcpy(vector->entries, data, vector->count * sizeof(*vector->entries));
}

static void add_vdso(struct target *target, const struct vector *vector)
{
	uint64_t vdso = 0;

	for (size_t i = 0; i < vector->count && !vdso; i++)
		if (vector->entries[i].a_type == AT_SYSINFO_EHDR)
			vdso = vector->entries[i].a_un.a_val;
	for (size_t i = 0; vdso && i < target->segment_count; i++)
		if (target->segments[i].start == vdso) {
			target_add_mapping(target, vdso, vdso + target->segments[i].size, 0, VDSO);
			return;
		}
}

static void read_notes(struct target *target, const GElf_Phdr *phdr, struct vector *vector,
		       struct problems *problems)
{
	Elf_Data *data = elf_getdata_rawchunk(target->core, (int64_t)phdr->p_offset, phdr->p_filesz,
					      ELF_T_NHDR);
	size_t off = 0, name, desc;
	GElf_Nhdr nhdr;

	while (data && (off = gelf_getnote(data, off, &nhdr, &name, &desc)) > 0) {
		const char *bytes = (char *)data->d_buf + desc;

		if (nhdr.n_namesz != 5 || memcmp((char *)data->d_buf + name, "CORE", 5))
			continue;
		if (nhdr.n_type == NT_FILE)
			read_files_note(target, bytes, nhdr.n_descsz, problems);
		if (nhdr.n_type == NT_AUXV)
			read_vector(vector, bytes, nhdr.n_descsz);
	}
}

// A core that was cut off, for want of room on the disk, is read as far as it goes.
static void keep_rest(struct target *target, uint64_t file_size, GElf_Phdr *phdr)
{
	uint64_t there = phdr->p_offset < file_size ? file_size - phdr->p_offset : 0;

	if (phdr->p_filesz <= there)
		return;
	if (__builtin_add_overflow(target->cut_off, phdr->p_filesz - there, &target->cut_off))
		target->cut_off = UINT64_MAX;
	phdr->p_filesz = there;
}

bool core_open(struct target *target, struct problems *problems)
{
	struct stat st;
	GElf_Ehdr ehdr;
	struct vector vector = {0};
	size_t count;

	target->memory = open(target->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (target->memory < 0 || fstat(target->memory, &st)) {
		problem(problems, "%s: %s", target->name, strerror(errno));
		return false;
	}
	target->core =
		S_ISREG(st.st_mode) ? elf_begin(target->memory, ELF_C_READ_MMAP, NULL) : NULL;
	if (!target->core || !gelf_getehdr(target->core, &ehdr) || ehdr.e_type != ET_CORE ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf_getphdrnum(target->core, &count)) {
		problem(problems, "%s: neither a process id nor a core file (ELF64, little-endian)",
			target->name);
		return false;
	}
	target->core_machine = ehdr.e_machine;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(target->core, (int)i, &phdr) || !phdr.p_filesz)
			continue;
		keep_rest(target, (uint64_t)st.st_size, &phdr);
		if (!phdr.p_filesz)
			continue;
		if (phdr.p_type == PT_NOTE)
			read_notes(target, &phdr, &vector, problems);
		if (phdr.p_type != PT_LOAD || phdr.p_vaddr + phdr.p_filesz < phdr.p_vaddr)
			continue;
		target->segments =
			grow(target->segments, target->segment_count, sizeof(*target->segments));
		target->segments[target->segment_count++] =
			(struct segment){phdr.p_vaddr, phdr.p_filesz, phdr.p_offset};
	}
	if (target->segment_count)
		qsort(target->segments, target->segment_count, sizeof(*target->segments),
		      compare_segments);
	if (!target->mapping_count)
		link_map_read(target, vector.entries, vector.count);
	add_vdso(target, &vector);
	free(vector.entries);
	if (target->mapping_count)
		qsort(target->mappings, target->mapping_count, sizeof(*target->mappings),
		      compare_mappings);
	target->mappings_given = true;
	if (!target->segment_count || !target->mapping_count)
		problem(problems, "%s: a core without %s%s", target->name,
			target->segment_count ? "the names of mapped files" : "memory",
			target->cut_off ? ": its file was cut off" : "");
	return target->segment_count && target->mapping_count;
}

// The segment that contains @addr; if there is none, the first segment behind it.
static size_t find_segment(const struct target *target, uint64_t addr)
{
	size_t low = 0, high = target->segment_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addr - target->segments[middle].start >= target->segments[middle].size &&
		    addr >= target->segments[middle].start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool core_read(const struct target *target, uint64_t addr, void *bytes, size_t size)
{
	for (size_t i = find_segment(target, addr); size; i++) {
		const struct segment *segment;
		uint64_t skip, part;

		if (i == target->segment_count)
			return false;
		segment = &target->segments[i];
		if (addr < segment->start || addr - segment->start >= segment->size)
			return false;
		skip = addr - segment->start;
		part = segment->size - skip < size ? segment->size - skip : size;
		if (pread(target->memory, bytes, part, (off_t)(segment->off + skip)) !=
		    (ssize_t)part)
			return false;
		bytes = (char *)bytes + part;
		addr += part;
		size -= part;
	}
	return true;
}
