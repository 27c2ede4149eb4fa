// SPDX-License-Identifier: MIT
// From an address to interpreter, library, function and line. A file that many copies
// share is opened once. It is used only if it has the build-id that the target's copy has.

#define _GNU_SOURCE
#include "symdump.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A file in memory, privately loaded or by the system.
struct file {
	char *path;
	uint8_t build_id[64];
	size_t build_id_size;
	uint64_t start;
	uint64_t symfile; // that it was made from, or 0
	struct library *library;
};

struct places {
	struct target *target;
	const struct snapshot *snapshot;
	struct file **of_object; // beside snapshot->objects
	struct file **files;
	size_t file_count;
	struct problems problems;
};

struct places *places_create(struct target *target, const struct snapshot *snapshot)
{
	struct places *places = zalloc(1, sizeof(*places));

	places->target = target;
	places->snapshot = snapshot;
	places->of_object = zalloc(snapshot->object_count, sizeof(*places->of_object));
	return places;
}

void places_destroy(struct places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < places->file_count; i++) {
		library_destroy(places->files[i]->library);
		free(places->files[i]->path);
		free(places->files[i]);
	}
	free(places->files);
	free(places->of_object);
	problems_deinit(&places->problems);
	free(places);
}

struct problems *places_problems(struct places *places)
{
	return &places->problems;
}

// Opens the object's symfile in place of a file that is missing; it has this copy's addresses.
static struct library *from_symfile(struct places *places, const struct object *object)
{
	uint8_t *data = NULL;

	if (object->symfile_data) {
		data = zalloc(object->symfile_size, 1);
		memcpy(data, object->symfile_data, object->symfile_size);
	} else if (object->symfile && object->symfile_size <= 64u << 20) {
		data = target_copy(places->target, object->symfile, object->symfile_size);
	}
	return library_create(places->target, -1, data, object->symfile_size, object->path, NULL);
}

static bool is_same_file(struct places *places, const struct object *object, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	uint8_t id[64] = {0};
	size_t size = elf_build_id(elf, id);
	char *found, *expected;

	elf_end(elf);
	if (!elf || !object->build_id_size ||
	    (size == object->build_id_size && !memcmp(id, object->build_id, size)))
		return elf;
	found = hex(id, size);
	expected = hex(object->build_id, object->build_id_size);
	problem(&places->problems, "%s: the file has build-id %s, the target's object %s",
		object->path, *found ? found : "none", expected);
	free(found);
	free(expected);
	return false;
}

static int open_object(struct places *places, const struct object *object)
{
	const struct mapping *mapping = target_find_mapping(places->target, object->start);
	int fd = -1;

	if (!*object->path)
		return -1;
	if (mapping)
		fd = target_open_mapping(places->target, mapping);
	if (fd < 0)
		fd = target_open_file(places->target, object->path);
	if (fd < 0)
		problem(&places->problems, "%s: no such file%s", object->path,
			places->target->pid ? "" : "; see --sysroot");
	if (fd >= 0 && !is_same_file(places, object, fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

static struct file *add_file(struct places *places, const char *path)
{
	struct file *file = zalloc(1, sizeof(*file));

	file->path = format("%s", path);
	places->files = grow(places->files, places->file_count, sizeof(*places->files));
	places->files[places->file_count++] = file;
	return file;
}

// Finds or makes the file that stands for the object's symfile. Several objects may have one
// symfile.
static struct file *find_symfile(struct places *places, const struct object *object)
{
	struct file *file;

	for (size_t i = 0; i < places->file_count && object->symfile; i++)
		if (places->files[i]->symfile == object->symfile)
			return places->files[i];
	file = add_file(places, "");
	file->symfile = object->symfile;
	file->library = from_symfile(places, object);
	return file;
}

static struct file *find_object_file(struct places *places, const struct object *object)
{
	struct file **slot = &places->of_object[object - places->snapshot->objects];
	struct file *file;
	int fd;

	for (size_t i = 0; i < places->file_count && !*slot && *object->path; i++) {
		file = places->files[i];
		if (file->build_id_size == object->build_id_size &&
		    !strcmp(file->path, object->path) &&
		    !memcmp(file->build_id, object->build_id, object->build_id_size))
			*slot = file;
	}
	if (*slot)
		return *slot;
	fd = open_object(places, object);
	if (fd < 0)
		return *slot = find_symfile(places, object);
	file = *slot = add_file(places, object->path);
	memcpy(file->build_id, object->build_id, sizeof(file->build_id));
	file->build_id_size = object->build_id_size;
	file->library =
		library_create(places->target, fd, NULL, 0, object->path, object->debug_path);
	return file;
}

struct library *places_library(struct places *places, const struct object *object)
{
	return find_object_file(places, object)->library;
}

uint64_t places_bias(struct places *places, const struct object *object)
{
	return places_has_file(places, object) ? object->bias : 0;
}

bool places_has_file(struct places *places, const struct object *object)
{
	return *find_object_file(places, object)->path;
}

bool places_has_symbol(struct places *places, const struct object *object,
		       const struct symbol *symbol)
{
	return places_has_file(places, object) ||
	       (symbol->vaddr >= object->start && symbol->vaddr < object->end);
}

static struct file *find_system_file(struct places *places, const struct mapping *mapping)
{
	struct file *file;
	char *path = format("system:%s", mapping->path);
	Elf *elf;
	int fd;

	for (size_t i = 0; i < places->file_count; i++)
		if (!strcmp(places->files[i]->path, path)) {
			free(path);
			return places->files[i];
		}
	file = add_file(places, path);
	free(path);
	fd = target_open_mapping(places->target, mapping);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_file_start(elf, &file->start))
		file->library =
			library_create(places->target, dup(fd), NULL, 0, mapping->path, NULL);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return file;
}

// The first mapping of the file that @mapping is a part of.
static const struct mapping *first_mapping(const struct target *target,
					   const struct mapping *mapping)
{
	while (mapping->off && mapping > target->mappings &&
	       !strcmp(mapping[-1].path, mapping->path))
		mapping--;
	return mapping->off ? NULL : mapping;
}

// The symfile's names are at run-time addresses, a file's are not.
static bool find_place(struct places *places, uint64_t addr, bool after, bool line,
		       struct place *ret)
{
	const struct mapping *mapping;
	struct library *library = NULL;

	*ret = (struct place){.object = snapshot_find(places->snapshot, addr - after)};
	if (ret->object) {
		ret->path = ret->object->path;
		ret->vaddr = addr - places_bias(places, ret->object);
		library = places_library(places, ret->object);
	} else {
		struct file *file;

		mapping = target_find_mapping(places->target, addr - after);
		mapping = mapping ? first_mapping(places->target, mapping) : NULL;
		if (!mapping)
			return false;
		file = find_system_file(places, mapping);
		ret->path = mapping->path;
		ret->vaddr = addr - (mapping->start - file->start);
		library = file->library;
	}
	if (library) {
		ret->symbol = library_find(library, ret->vaddr - after);
		if (ret->object && ret->symbol &&
		    !places_has_symbol(places, ret->object, ret->symbol))
			ret->symbol = NULL;
		ret->file = line ? library_find_line(library, ret->vaddr - after, false, &ret->line)
				 : NULL;
	}
	return true;
}

bool place_find(struct places *places, uint64_t addr, bool after, struct place *ret)
{
	return find_place(places, addr, after, true, ret);
}

bool place_find_function(struct places *places, uint64_t addr, bool after, struct place *ret)
{
	return find_place(places, addr, after, false, ret);
}

char *place_text(struct places *places, const struct place *place)
{
	char label[32] = "system", *name = clean_text(place->path, strlen(place->path)), *text,
	     *clean;
	const char *begin = place->object ? interp_begin() : "",
		   *end = place->object ? colour_end() : "";

	if (place->object)
		ns_label(places->snapshot, place->object->ns, label);
	if (place->object && !*name) {
		free(name);
		name = format("jit@0x%lx", place->object->symfile);
	}
	if (place->symbol) {
		clean = symbol_name(place->symbol);
		text = format("%s%s%s  %s!%s+0x%lx", begin, label, end, base_name(name), clean,
			      place->vaddr - place->symbol->vaddr);
		free(clean);
	} else {
		text = format("%s%s%s  %s+0x%lx", begin, label, end, base_name(name),
			      place->vaddr);
	}
	if (place->file) {
		char *without = text;

		clean = clean_text(place->file, strlen(place->file));
		text = format("%s  %s:%d", without, base_name(clean), place->line);
		free(without);
		free(clean);
	}
	free(name);
	return text;
}
