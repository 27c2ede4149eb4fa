// SPDX-License-Identifier: MIT
// Which library an executable needs, and where it looks for it.
//
// Executables are never loaded privately, and image.c refuses them: this reads three kinds of
// entries of their dynamic section and nothing else. A static one has none.

#define _GNU_SOURCE
#include "needs.h"
#include "base/arch.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gorgon_error *needs_bad(const char *path, const char *what)
{
	return gorgon_error_create(GORGON_ERROR_FORMAT, "%s: %s", path, what);
}

static struct gorgon_error *check_machine(const char *path, Elf *elf)
{
	GElf_Ehdr ehdr;
	size_t count;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		return needs_bad(path, "not an ELF file");
	if (gelf_getclass(elf) != ELFCLASS64 || ehdr.e_machine != GORGON_ARCH_MACHINE)
		return gorgon_error_create(
			GORGON_ERROR_MACHINE,
			"%s: class %d and e_machine %u, this process is %s (class %u, %u)", path,
			gelf_getclass(elf), ehdr.e_machine, GORGON_ARCH_NAME, ELFCLASS64,
			GORGON_ARCH_MACHINE);
	if (elf_getshdrnum(elf, &count) || (!count && ehdr.e_shoff))
		return needs_bad(path, "truncated section headers");
	return NULL;
}

// The section with the entries, which says where their names are; NULL: static.
static Elf_Data *find_dynamic(Elf *elf, GElf_Shdr *ret)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, ret);)
		if (ret->sh_type == SHT_DYNAMIC)
			return elf_getdata(scn, NULL);
	return NULL;
}

// What is found points into the file.
static struct gorgon_error *needs_find(const char *path, Elf *elf,
				       bool (*matches)(const char *name), const char **name,
				       const char **search_path)
{
	const char *rpath = NULL, *runpath = NULL, *text;
	GElf_Shdr shdr;
	Elf_Data *dynamic = find_dynamic(elf, &shdr);
	GElf_Dyn dyn;

	for (int i = 0; dynamic && gelf_getdyn(dynamic, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_RPATH && dyn.d_tag != DT_RUNPATH)
			continue;
		text = elf_strptr(elf, shdr.sh_link, dyn.d_un.d_val);
		if (!text)
			return needs_bad(path, "a name of PT_DYNAMIC is not in DT_STRTAB");
		if (dyn.d_tag == DT_RPATH)
			rpath = text;
		else if (dyn.d_tag == DT_RUNPATH)
			runpath = text;
		else if (!*name && matches(text))
			*name = text;
	}
	*search_path = runpath ?: rpath;
	return NULL;
}

static struct gorgon_error *needs_copy(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? &gorgon_error_nomem : NULL;
}

static struct gorgon_error *read_file(const char *path, Elf *elf, bool (*matches)(const char *name),
				      char **name, char **search_path)
{
	const char *found = NULL, *found_path = NULL;
	struct gorgon_error *err;

	if ((err = check_machine(path, elf)) ||
	    (err = needs_find(path, elf, matches, &found, &found_path)) ||
	    (err = needs_copy(found, name)))
		return err;
	if ((err = needs_copy(found_path, search_path)))
		free(*name);
	return err;
}

struct gorgon_error *gorgon_needs_find(const char *path, bool (*matches)(const char *name),
				       char **name, char **search_path)
{
	struct gorgon_error *err;
	Elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return gorgon_error_create_os(errno, "%s", path);
	elf_version(EV_CURRENT);
	errno = 0;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf) {
		err = errno == ENOMEM ? &gorgon_error_nomem
				      : gorgon_error_create(GORGON_ERROR_FORMAT, "%s: libelf: %s",
							    path, elf_errmsg(-1));
		close(fd);
		return err;
	}
	err = read_file(path, elf, matches, name, search_path);
	elf_end(elf);
	close(fd);
	return err;
}
