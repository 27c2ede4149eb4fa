// SPDX-License-Identifier: MIT
// --check: whether what the target says of itself is consistent. Prints one line per problem.

#define _GNU_SOURCE
#include "symdump.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_symfile(const struct dump *dump, const struct object *object, const char *label,
			  struct problems *problems)
{
	if (dump->snapshot.source == SOURCE_GORGON && dump->snapshot.has_jit_list &&
	    !address_set_has(&dump->snapshot.jit_symfiles, object->symfile))
		problem(problems,
			"%s: %s: its symfile 0x%lx is in no JIT list: debuggers do not see it",
			label, object->path, object->symfile);
	if (!object->symfile_is_elf)
		problem(problems, "%s: %s: its symfile 0x%lx is no ELF64 file with sections", label,
			object->path, object->symfile);
}

// A library is often loaded by the name of a link to it.
static bool is_file_of(const struct target *target, const struct mapping *mapping, const char *path)
{
	int its_fd = target_open_mapping(target, mapping), fd = target_open_file(target, path);
	struct stat its, st;
	bool same = its_fd >= 0 && fd >= 0 && !fstat(its_fd, &its) && !fstat(fd, &st) &&
		    its.st_dev == st.st_dev && its.st_ino == st.st_ino;

	if (its_fd >= 0)
		close(its_fd);
	if (fd >= 0)
		close(fd);
	return same;
}

// A file that the system's linker has loaded may be a copy under the same name.
static bool is_copy_of(const char *mapped, const char *path)
{
	const char *name = strrchr(mapped, '/'), *original = strrchr(path, '/');

	return name && original && !strncmp(name, original, strlen(original));
}

static void check_mapping(const struct dump *dump, const struct object *object, const char *label,
			  struct problems *problems)
{
	const struct mapping *mapping = target_find_mapping(&dump->target, object->start);
	char *mapped = mapping ? clean_text(mapping->path, strlen(mapping->path)) : NULL;

	// A file that was replaced shows as "NAME (deleted)".
	if (!mapped)
		problem(problems, "%s: %s: no file is mapped at 0x%lx", label, object->path,
			object->start);
	else if (strncmp(mapped, object->path, strlen(object->path)) &&
		 !is_file_of(&dump->target, mapping, object->path) &&
		 !(object->link_map && is_copy_of(mapped, object->path)))
		problem(problems, "%s: %s: at 0x%lx %s is mapped", label, object->path,
			object->start, mapped);
	free(mapped);
}

static void check_object(const struct dump *dump, const struct object *object,
			 struct problems *problems)
{
	char label[32];

	ns_label(&dump->snapshot, object->ns, label);
	if (object->start >= object->end)
		problem(problems, "%s: %s: its range 0x%lx-0x%lx is empty", label, object->path,
			object->start, object->end);
	else if (*object->path)
		check_mapping(dump, object, label, problems);
	if (object->symfile)
		check_symfile(dump, object, label, problems);
	// Opens the file, compares build-ids and says what is wrong.
	locations_library(dump->locations, object);
}

static void check_overlaps(const struct snapshot *snapshot, struct problems *problems)
{
	for (size_t i = 1; i < snapshot->range_count; i++) {
		const struct object *a = snapshot->by_start[i - 1], *b = snapshot->by_start[i];

		// what has no path, as code of JIT compilers and Python lines, may have gaps
		if (b->start < a->end && *a->path && *b->path)
			problem(problems, "%s 0x%lx-0x%lx and %s 0x%lx-0x%lx overlap", a->path,
				a->start, a->end, b->path, b->start, b->end);
	}
}

static void check_namespaces(const struct snapshot *snapshot, struct problems *problems)
{
	for (size_t i = 0; i < snapshot->ns_count; i++) {
		const struct namespace *ns = &snapshot->namespaces[i];
		bool found = !ns->python_object;
		char label[32];

		ns_label(snapshot, i, label);
		for (size_t o = 0; o < ns->object_count && !found; o++)
			found = snapshot->objects[ns->first_object + o].addr == ns->python_object;
		if (!found)
			problem(problems, "%s: its libpython 0x%lx is none of its objects", label,
				ns->python_object);
		if (ns->state > GORGON_DEBUG_NS_ABANDONED)
			problem(problems, "%s: its state is %u; 0 to 2 expected", label, ns->state);
	}
}

int check(struct dump *dump)
{
	struct problems problems = {0};
	const struct problems *all[] = {&dump->snapshot.problems, &problems,
					locations_problems(dump->locations)};
	size_t count = 0;

	if (!dump->snapshot.consistent)
		problem(&problems, "the lists changed while they were read");
	check_namespaces(&dump->snapshot, &problems);
	check_overlaps(&dump->snapshot, &problems);
	for (size_t i = 0; i < dump->snapshot.object_count; i++) {
		progress("objects", i, dump->snapshot.object_count);
		check_object(dump, &dump->snapshot.objects[i], &problems);
	}
	progress_end();
	for (size_t list = 0; list < 3; list++) {
		for (size_t i = 0; i < all[list]->kept; i++)
			puts(all[list]->lines[i]);
		count += all[list]->count;
	}
	if (!count)
		printf("%s: consistent: %zu namespaces, %zu objects\n", dump->target.name,
		       dump->snapshot.ns_count, dump->snapshot.object_count);
	else
		printf("%s: problems: %zu\n", dump->target.name, count);
	problems_deinit(&problems);
	return count ? STATUS_FOUND_NOTHING : STATUS_OK;
}
