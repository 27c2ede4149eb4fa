// SPDX-License-Identifier: MIT
/* See jitreg_world.h. */
#define _GNU_SOURCE 1
#include "jitreg_world.h"
#include "../jitreg/models.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char events[4096];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t size = strlen(events);
	va_list args;

	va_start(args, format);
	vsnprintf(events + size, sizeof(events) - size, format, args);
	va_end(args);
}

const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static void note_listing(const struct jitreg_listing *listing)
{
	const struct jitreg_model *t = listing->model;

	if (t->kind != JITREG_SYMFILE_PACK) {
		note("%s%s ", base_name(t->path), listing->with_lines.bytes ? ":lines" : "");
		return;
	}
	for (size_t i = 0; i < t->member_count; i++)
		note("%s%s", i ? " " : "[", base_name(t->members[i].model->path));
	note("] ");
}

void on_stop(void)
{
	const struct jitreg_listing *listing =
		(const struct jitreg_listing *)__jit_debug_descriptor.relevant_entry;
	bool comes = __jit_debug_descriptor.action_flag == JIT_REGISTER_FN;

	assert_int_equal(jitreg_debug_root.sequence % 2, 0);
	assert_memory_equal(listing->debug.base.symfile_addr, "\177ELF", 4);
	// A symfile without content, which is in no list.
	if (listing->debug.base.symfile_size < 256) {
		note(comes ? "( " : ") ");
		return;
	}
	note(comes ? "+" : "-");
	note_listing(listing);
}

static void on_moved(void *ctx, const struct jitreg_info *info)
{
	static const char *const kinds[] = {":full", ":lean", ":pack"};
	struct image *image = ctx;

	image->info = *info;
	image->moves++;
	note("%s%s ", image->name, info->symfile ? kinds[info->symfile_kind] : ":gone");
}

int try_enter(struct jitreg_group *group, uint64_t base, uint64_t off, uint64_t size,
	      const char *name, uint32_t flags, struct image *ret)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = util_path(name),
		.fd = -1,
		.flags = flags,
		.bias = base + off,
		.start = base + off,
		.end = base + off + size,
		.group = group,
		.symfile_changed = on_moved,
		.ctx = ret,
	};

	*ret = (struct image){.name = name};
	return jitreg_register(&image, &ret->entry);
}

void enter_at(struct jitreg_group *group, uint64_t base, uint64_t off, const char *name,
	      uint32_t flags, struct image *ret)
{
	assert_int_equal(try_enter(group, base, off, IMAGE_SIZE, name, flags, ret), 0);
	assert_int_equal(ret->moves, 1);
}

const struct place layout[SIDE_BY_SIDE] = {
	{"self.so", 0x10000},
	{"names.so", 0x19000},
	{"link.so", 0x100000},
};

void assert_apart(const struct image *images, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_non_null(images[i].info.symfile);
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(images[i].info.symfile, images[k].info.symfile);
	}
}

void assert_together(const struct image *images, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(images[i].info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_non_null(images[i].info.symfile);
		assert_ptr_equal(images[i].info.symfile, images[0].info.symfile);
	}
}

void world_enter(struct world *w, unsigned number)
{
	assert_int_equal(jitreg_group_create(BASE(number), &w->group), 0);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		enter_at(w->group, BASE(number), layout[i].off, layout[i].name, JITREG_NAMES_ONLY, &w->images[i]);
		assert_int_equal(w->images[i].info.symfile_kind, JITREG_SYMFILE_PACK);
	}
	assert_apart(w->images, SIDE_BY_SIDE);
}

void world_leave(struct world *w)
{
	jitreg_group_close(w->group);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++)
		jitreg_unregister(w->images[i].entry);
	jitreg_group_destroy(w->group);
}

void world_join(struct world *w)
{
	assert_int_equal(jitreg_group_pack(w->group), 0);
	assert_together(w->images, SIDE_BY_SIDE);
}

void world_pack(struct world *w, unsigned number)
{
	world_enter(w, number);
	world_join(w);
}

void assert_nothing_left(void)
{
	uint64_t count;

	assert_int_equal(jitreg_count(), 0);
	assert_null(__jit_debug_descriptor.first_entry);
	jitreg_trim();
	assert_int_equal(jitreg_model_count(), 0);
	assert_int_equal(jitreg_kept(&count), 0);
	assert_int_equal(count, 0);
}

const Elf64_Shdr *section(const struct jitreg_info *info, const char *name)
{
	return jitreg_file_section(info->symfile, name);
}

const char *companion_of(const struct jitreg_info *info)
{
	const Elf64_Shdr *link = section(info, ".gnu_debuglink");

	return link ? (const char *)info->symfile + link->sh_offset : NULL;
}

bool find_name(const uint8_t *bytes, bool relative, const char *name, unsigned *binding,
	       uint64_t *address)
{
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ((const Elf64_Ehdr *)bytes)->e_shoff);
	const Elf64_Shdr *symtab = jitreg_file_section(bytes, ".symtab");
	const Elf64_Sym *syms = (const Elf64_Sym *)(bytes + symtab->sh_offset);
	const char *strtab = (const char *)bytes + shdrs[symtab->sh_link].sh_offset;

	for (size_t i = 1; i < symtab->sh_size / sizeof(*syms); i++) {
		if (strcmp(strtab + syms[i].st_name, name) != 0)
			continue;
		*binding = ELF64_ST_BIND(syms[i].st_info);
		*address = syms[i].st_value + (relative ? shdrs[syms[i].st_shndx].sh_addr : 0);
		return true;
	}
	return false;
}

uint64_t vaddr_of(const char *library, const char *name)
{
	uint64_t address = 0;
	unsigned binding;
	size_t size;
	uint8_t *bytes = util_read(util_path(library), &size);

	assert_true(find_name(bytes, false, name, &binding, &address));
	free(bytes);
	return address;
}

struct jitreg_range text_of(const char *library)
{
	struct jitreg_range text;
	const Elf64_Shdr *shdr;
	size_t size;
	uint8_t *bytes = util_read(util_path(library), &size);

	shdr = jitreg_file_section(bytes, ".text");
	assert_non_null(shdr);
	text = (struct jitreg_range){shdr->sh_addr, shdr->sh_addr + shdr->sh_size};
	free(bytes);
	return text;
}

/* Files with lines, and companions without lines, have other endings or longer names, and do not count. */
size_t count_companions(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.' && !strstr(entry->d_name, ".lines") &&
			 strlen(entry->d_name) != 32 + strlen(".debug");
	if (dir)
		closedir(dir);
	return count;
}

const char *use_cache(const char *name)
{
	static char folder[300];

	assert_int_equal(util_run("rm -rf %s", name), 0);
	setenv("XDG_CACHE_HOME", util_path(name), 1);
	snprintf(folder, sizeof(folder), "%s/gorgon", util_path(name));
	return folder;
}

void check_pack_with_companion(const char *folder)
{
	struct world w;

	jitreg_trim();
	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_memory_equal(companion_of(&w.images[0].info), folder, strlen(folder));
	world_leave(&w);
}
