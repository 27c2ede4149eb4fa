// SPDX-License-Identifier: MIT
// Where the heads of the lists are: variables of known names in the target's files.

#define _GNU_SOURCE
#include "symdump.h"

#include "descriptor.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_MAX 100000

static const char *const names[] = {"gorgon_debug_root", "jitreg_debug_root",
				    "__jit_debug_descriptor", "_PyRuntime"};

enum {
	NAME_COUNT = 4,
};

// The link-time addresses of the names above in a file; 0 for a name that the file does not define.
struct defined {
	const char *path;
	uint64_t start;
	uint64_t vaddr[NAME_COUNT];
};

static void find_in_section(Elf *elf, Elf_Scn *scn, struct defined *defined)
{
	Elf_Data *data;
	GElf_Shdr shdr;
	GElf_Sym sym;

	if (!gelf_getshdr(scn, &shdr) ||
	    (shdr.sh_type != SHT_DYNSYM && shdr.sh_type != SHT_SYMTAB) || !shdr.sh_entsize ||
	    !(data = elf_getdata(scn, NULL)))
		return;
	for (size_t i = 0; i < data->d_size / shdr.sh_entsize && gelf_getsym(data, (int)i, &sym);
	     i++) {
		const char *name;

		if (sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) != STT_OBJECT ||
		    !(name = elf_strptr(elf, shdr.sh_link, sym.st_name)))
			continue;
		for (size_t n = 0; n < NAME_COUNT; n++)
			if (!strcmp(name, names[n]))
				defined->vaddr[n] = sym.st_value;
	}
}

static void find_in_file(const struct target *target, const struct mapping *mapping,
			 struct defined *defined)
{
	int fd = target_open_mapping(target, mapping);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);

	if (elf && elf_file_start(elf, &defined->start))
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));)
			find_in_section(elf, scn, defined);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

static void add_head(uint64_t **list, size_t *count, uint64_t addr)
{
	if (*count >= HEAD_MAX)
		return;
	*list = grow(*list, *count, sizeof(**list));
	(*list)[(*count)++] = addr;
}

// A file that is only mapped to be read, as the loader's own reading and debuggers do, is one
// piece: no variable lies in it. In a core whose files are known from the system's linker, loaded
// files are one piece, too.
static bool is_loaded(const struct target *target, size_t mapping)
{
	const struct mapping *next = &target->mappings[mapping + 1];

	return mapping + 1 < target->mapping_count && next->off &&
	       !strcmp(next->path, next[-1].path);
}

static bool has_version(struct target *target, uint64_t descriptor)
{
	uint32_t version;

	return target_read(target, descriptor, &version, sizeof(version)) && version == 1;
}

void heads_find(struct target *target, struct heads *heads)
{
	struct defined *files = NULL;
	size_t count = 0;

	// A file that is loaded many times is read once.
	for (size_t i = 0; i < target->mapping_count; i++) {
		const struct mapping *mapping = &target->mappings[i];
		uint64_t bias;
		size_t f = 0;

		if (mapping->off)
			continue;
		progress("mapped files", i, target->mapping_count);
		while (f < count && strcmp(files[f].path, mapping->path))
			f++;
		if (f == count) {
			files = grow(files, count, sizeof(*files));
			files[count] = (struct defined){.path = mapping->path};
			find_in_file(target, mapping, &files[count++]);
		}
		bias = mapping->start - files[f].start;
		if (files[f].vaddr[0])
			add_head(&heads->roots, &heads->root_count, bias + files[f].vaddr[0]);
		if (files[f].vaddr[1])
			add_head(&heads->jitregs, &heads->jitreg_count, bias + files[f].vaddr[1]);
		if (files[f].vaddr[2] &&
		    (is_loaded(target, i) || has_version(target, bias + files[f].vaddr[2])))
			add_head(&heads->descriptors, &heads->descriptor_count,
				 bias + files[f].vaddr[2]);
		if (files[f].vaddr[3] && is_loaded(target, i) && heads->runtime_count < HEAD_MAX) {
			heads->runtimes = grow(heads->runtimes, heads->runtime_count,
					       sizeof(*heads->runtimes));
			heads->runtimes[heads->runtime_count++] =
				(struct runtime){mapping->start, bias};
		}
	}
	progress_end();
	free(files);
}

void heads_deinit(struct heads *heads)
{
	free(heads->roots);
	free(heads->jitregs);
	free(heads->descriptors);
	free(heads->runtimes);
	*heads = (struct heads){0};
}

bool jitreg_read(struct target *target, uint64_t addr, uint64_t *sequence, uint64_t *descriptor)
{
	struct jitreg_debug_root root;

	if (!target_read(target, addr, &root, sizeof(root)) ||
	    root.magic != JITREG_DEBUG_ROOT_MAGIC || root.version != JITREG_DEBUG_VERSION ||
	    root.size < sizeof(root) || root.entry_size < sizeof(struct jitreg_debug_entry))
		return false;
	*sequence = root.sequence;
	*descriptor = root.descriptor;
	return true;
}
