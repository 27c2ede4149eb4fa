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

struct locations {
	struct target *target;
	const struct snapshot *snapshot;
	struct file **of_object; // beside snapshot->objects
	struct file **files;
	size_t file_count;
	struct problems problems;
};

struct locations *locations_create(struct target *target, const struct snapshot *snapshot)
{
	struct locations *locations = zalloc(1, sizeof(*locations));

	locations->target = target;
	locations->snapshot = snapshot;
	locations->of_object = zalloc(snapshot->object_count, sizeof(*locations->of_object));
	return locations;
}

void locations_destroy(struct locations *locations)
{
	if (!locations)
		return;
	for (size_t i = 0; i < locations->file_count; i++) {
		library_destroy(locations->files[i]->library);
		free(locations->files[i]->path);
		free(locations->files[i]);
	}
	free(locations->files);
	free(locations->of_object);
	problems_deinit(&locations->problems);
	free(locations);
}

struct problems *locations_problems(struct locations *locations)
{
	return &locations->problems;
}

// Opens the object's symfile in place of a file that is missing; it has this copy's addresses.
static struct library *from_symfile(struct locations *locations, const struct object *object)
{
	uint8_t *data = NULL;

	if (object->symfile_data) {
		data = zalloc(object->symfile_size, 1);
		memcpy(data, object->symfile_data, object->symfile_size);
	} else if (object->symfile && object->symfile_size <= 64u << 20) {
		data = target_copy(locations->target, object->symfile, object->symfile_size);
	}
	return library_create(locations->target, -1, data, object->symfile_size, object->path,
			      NULL);
}

static bool is_same_file(struct locations *locations, const struct object *object, int fd)
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
	problem(&locations->problems, "%s: the file has build-id %s, the target's object %s",
		object->path, *found ? found : "none", expected);
	free(found);
	free(expected);
	return false;
}

static int open_object(struct locations *locations, const struct object *object)
{
	const struct mapping *mapping = target_find_mapping(locations->target, object->start);
	int fd = -1;

	if (!*object->path)
		return -1;
	if (mapping)
		fd = target_open_mapping(locations->target, mapping);
	if (fd < 0)
		fd = target_open_file(locations->target, object->path);
	if (fd < 0)
		problem(&locations->problems, "%s: no such file%s", object->path,
			locations->target->pid ? "" : "; see --sysroot");
	if (fd >= 0 && !is_same_file(locations, object, fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

static struct file *add_file(struct locations *locations, const char *path)
{
	struct file *file = zalloc(1, sizeof(*file));

	file->path = format("%s", path);
	locations->files = grow(locations->files, locations->file_count, sizeof(*locations->files));
	locations->files[locations->file_count++] = file;
	return file;
}

// Finds or makes the file that stands for the object's symfile. Several objects may have one
// symfile.
static struct file *find_symfile(struct locations *locations, const struct object *object)
{
	struct file *file;

	for (size_t i = 0; i < locations->file_count && object->symfile; i++)
		if (locations->files[i]->symfile == object->symfile)
			return locations->files[i];
	file = add_file(locations, "");
	file->symfile = object->symfile;
	file->library = from_symfile(locations, object);
	return file;
}

static struct file *find_object_file(struct locations *locations, const struct object *object)
{
	struct file **slot = &locations->of_object[object - locations->snapshot->objects];
	struct file *file;
	int fd;

	for (size_t i = 0; i < locations->file_count && !*slot && *object->path; i++) {
		file = locations->files[i];
		if (file->build_id_size == object->build_id_size &&
		    !strcmp(file->path, object->path) &&
		    !memcmp(file->build_id, object->build_id, object->build_id_size))
			*slot = file;
	}
	if (*slot)
		return *slot;
	fd = open_object(locations, object);
	if (fd < 0)
		return *slot = find_symfile(locations, object);
	file = *slot = add_file(locations, object->path);
	memcpy(file->build_id, object->build_id, sizeof(file->build_id));
	file->build_id_size = object->build_id_size;
	file->library =
		library_create(locations->target, fd, NULL, 0, object->path, object->debug_path);
	return file;
}

struct library *locations_library(struct locations *locations, const struct object *object)
{
	return find_object_file(locations, object)->library;
}

uint64_t locations_bias(struct locations *locations, const struct object *object)
{
	return locations_has_file(locations, object) ? object->bias : 0;
}

bool locations_has_file(struct locations *locations, const struct object *object)
{
	return *find_object_file(locations, object)->path;
}

bool locations_has_symbol(struct locations *locations, const struct object *object,
			  const struct symbol *symbol)
{
	return locations_has_file(locations, object) ||
	       (symbol->vaddr >= object->start && symbol->vaddr < object->end);
}

static struct file *find_system_file(struct locations *locations, const struct mapping *mapping)
{
	struct file *file;
	char *path = format("system:%s", mapping->path);
	Elf *elf;
	int fd;

	for (size_t i = 0; i < locations->file_count; i++)
		if (!strcmp(locations->files[i]->path, path)) {
			free(path);
			return locations->files[i];
		}
	file = add_file(locations, path);
	free(path);
	fd = target_open_mapping(locations->target, mapping);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_file_start(elf, &file->start))
		file->library =
			library_create(locations->target, dup(fd), NULL, 0, mapping->path, NULL);
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
static bool find_location(struct locations *locations, uint64_t addr, bool after, bool line,
			  struct location *ret)
{
	const struct mapping *mapping;
	struct library *library = NULL;

	*ret = (struct location){.object = snapshot_find(locations->snapshot, addr - after)};
	if (ret->object) {
		ret->path = ret->object->path;
		ret->vaddr = addr - locations_bias(locations, ret->object);
		library = locations_library(locations, ret->object);
	} else {
		struct file *file;

		mapping = target_find_mapping(locations->target, addr - after);
		mapping = mapping ? first_mapping(locations->target, mapping) : NULL;
		if (!mapping)
			return false;
		file = find_system_file(locations, mapping);
		ret->path = mapping->path;
		ret->vaddr = addr - (mapping->start - file->start);
		library = file->library;
	}
	if (library) {
		ret->symbol = library_find(library, ret->vaddr - after);
		if (ret->object && ret->symbol &&
		    !locations_has_symbol(locations, ret->object, ret->symbol))
			ret->symbol = NULL;
		ret->file = line ? library_find_line(library, ret->vaddr - after, false, &ret->line)
				 : NULL;
	}
	return true;
}

bool location_find(struct locations *locations, uint64_t addr, bool after, struct location *ret)
{
	return find_location(locations, addr, after, true, ret);
}

bool location_find_function(struct locations *locations, uint64_t addr, bool after,
			    struct location *ret)
{
	return find_location(locations, addr, after, false, ret);
}

char *location_text(struct locations *locations, const struct location *location)
{
	char label[32] = "system", *name = clean_text(location->path, strlen(location->path)),
	     *text, *clean;
	const char *begin = location->object ? interp_begin() : "",
		   *end = location->object ? colour_end() : "";

	if (location->object)
		ns_label(locations->snapshot, location->object->ns, label);
	if (location->object && !*name) {
		free(name);
		name = format("jit@0x%lx", location->object->symfile);
	}
	if (location->symbol) {
		clean = symbol_name(location->symbol);
		text = format("%s%s%s  %s!%s+0x%lx", begin, label, end, base_name(name), clean,
			      location->vaddr - location->symbol->vaddr);
		free(clean);
	} else {
		text = format("%s%s%s  %s+0x%lx", begin, label, end, base_name(name),
			      location->vaddr);
	}
	if (location->file) {
		char *without = text;

		clean = clean_text(location->file, strlen(location->file));
		text = format("%s  %s:%d", without, base_name(clean), location->line);
		free(without);
		free(clean);
	}
	free(name);
	return text;
}
