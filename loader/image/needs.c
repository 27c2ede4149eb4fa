// SPDX-License-Identifier: MIT
// Which library an executable needs, and where it looks for it.
//
// Executables are never loaded privately, and image.c refuses them: this reads three kinds of
// entries of their PT_DYNAMIC and nothing else. A static one has none.

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

struct file {
	const char *path;
	Elf *elf;
	const char *start;
	size_t size;
	size_t phdr_count;
	Elf_Data *dynamic; // or NULL: static
	const char *strings;
	size_t strings_size;
};

static struct gorgon_error *needs_bad(const struct file *file, const char *what)
{
	return gorgon_error_create(GORGON_ERROR_FORMAT, "%s: %s", file->path, what);
}

// libelf has not given something: the file's fault, unless there was no memory for it. errno was 0.
static struct gorgon_error *needs_failed(const struct file *file, const char *what)
{
	return errno == ENOMEM ? &gorgon_error_nomem : needs_bad(file, what);
}

// All of the file, which libelf reads into memory where it could not map it.
static struct gorgon_error *read_bytes(struct file *file)
{
	errno = 0;
	file->start = elf_rawfile(file->elf, &file->size);
	return file->start ? NULL : needs_failed(file, "cannot be read");
}

static struct gorgon_error *check_machine(const struct file *file)
{
	GElf_Ehdr ehdr;

	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &ehdr))
		return needs_bad(file, "not an ELF file");
	if (gelf_getclass(file->elf) != ELFCLASS64 || ehdr.e_machine != GORGON_ARCH_MACHINE)
		return gorgon_error_create(
			GORGON_ERROR_MACHINE,
			"%s: class %d and e_machine %u, this process is %s (class %u, %u)",
			file->path, gelf_getclass(file->elf), ehdr.e_machine, GORGON_ARCH_NAME,
			ELFCLASS64, GORGON_ARCH_MACHINE);
	return NULL;
}

// The bytes from @vaddr to the end of its segment's part of the file, or NULL.
static const char *needs_at(const struct file *file, uint64_t vaddr, size_t *size)
{
	GElf_Phdr ph;

	for (size_t i = 0; i < file->phdr_count; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    vaddr < ph.p_vaddr || vaddr - ph.p_vaddr >= ph.p_filesz)
			continue;
		if (ph.p_offset > file->size || ph.p_filesz > file->size - ph.p_offset)
			return NULL;
		*size = ph.p_filesz - (vaddr - ph.p_vaddr);
		return file->start + ph.p_offset + (vaddr - ph.p_vaddr);
	}
	return NULL;
}

static struct gorgon_error *read_dynamic(struct file *file)
{
	GElf_Phdr ph = {0};
	GElf_Dyn dyn;

	errno = 0;
	if (elf_getphdrnum(file->elf, &file->phdr_count))
		return needs_failed(file, "truncated program headers");
	for (size_t i = 0; i < file->phdr_count && ph.p_type != PT_DYNAMIC; i++)
		if (!gelf_getphdr(file->elf, (int)i, &ph))
			return needs_failed(file, "truncated program headers");
	if (ph.p_type != PT_DYNAMIC)
		return NULL;
	file->dynamic =
		elf_getdata_rawchunk(file->elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_DYN);
	if (!file->dynamic)
		return needs_failed(file, "PT_DYNAMIC is not in the file");
	for (int i = 0; gelf_getdyn(file->dynamic, i, &dyn) && dyn.d_tag != DT_NULL; i++)
		if (dyn.d_tag == DT_STRTAB)
			file->strings = needs_at(file, dyn.d_un.d_ptr, &file->strings_size);
	return file->strings ? NULL : needs_bad(file, "DT_STRTAB is not in the file");
}

static const char *needs_string(const struct file *file, uint64_t offset)
{
	if (offset >= file->strings_size ||
	    !memchr(file->strings + offset, 0, file->strings_size - offset))
		return NULL;
	return file->strings + offset;
}

// What is found points into the file.
static struct gorgon_error *needs_find(const struct file *file, bool (*matches)(const char *name),
				 const char **name, const char **search_path)
{
	const char *rpath = NULL, *runpath = NULL, *text;
	GElf_Dyn dyn;

	*name = NULL;
	for (int i = 0; gelf_getdyn(file->dynamic, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_RPATH && dyn.d_tag != DT_RUNPATH)
			continue;
		text = needs_string(file, dyn.d_un.d_val);
		if (!text)
			return needs_bad(file, "a name of PT_DYNAMIC is not in DT_STRTAB");
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

static struct gorgon_error *read_file(struct file *file, bool (*matches)(const char *name),
				      char **name, char **search_path)
{
	const char *found = NULL, *found_path = NULL;
	struct gorgon_error *err;

	if ((err = check_machine(file)) || (err = read_bytes(file)) || (err = read_dynamic(file)) ||
	    (file->dynamic && (err = needs_find(file, matches, &found, &found_path))) ||
	    (err = needs_copy(found, name)))
		return err;
	if ((err = needs_copy(found_path, search_path)))
		free(*name);
	return err;
}

struct gorgon_error *gorgon_needs_find(const char *path, bool (*matches)(const char *name),
				       char **name, char **search_path)
{
	struct file file = {.path = path};
	struct gorgon_error *err;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return gorgon_error_create_os(errno, "%s", path);
	elf_version(EV_CURRENT);
	errno = 0;
	file.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!file.elf) {
		err = errno == ENOMEM ? &gorgon_error_nomem
				      : gorgon_error_create(GORGON_ERROR_FORMAT, "%s: libelf: %s",
							    path, elf_errmsg(-1));
		close(fd);
		return err;
	}
	err = read_file(&file, matches, name, search_path);
	elf_end(file.elf);
	close(fd);
	return err;
}
