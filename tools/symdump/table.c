// SPDX-License-Identifier: MIT
// Tables and lines for people: interpreters and objects, addresses, symbols.

#define _GNU_SOURCE
#include "symdump.h"

#include "jitreg.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static void print_namespaces(const struct snapshot *snapshot)
{
	printf("%s%-9s  %-6s  %-7s  %-7s  %s%s\n", heading_begin(), "Num", "Python", "Objects",
	       "Thread", "State", colour_end());
	for (size_t i = 0; i < snapshot->ns_count; i++) {
		const struct namespace *ns = &snapshot->namespaces[i];
		char number[32], python[16] = "-", thread[24] = "-";

		if (ns->interp == GORGON_DEBUG_NO_INTERP)
			snprintf(number, sizeof(number), "ns %lu", ns->id);
		else
			snprintf(number, sizeof(number), "%u", ns->interp);
		if (ns->python_minor)
			snprintf(python, sizeof(python), "3.%u", ns->python_minor);
		if (ns->thread)
			snprintf(thread, sizeof(thread), "%lu", ns->thread);
		printf("%s%-9s%s  %-6s  %-7zu  %-7s  %s%s%s\n", interp_begin(), number,
		       colour_end(), python, ns->object_count, thread,
		       ns->state == GORGON_DEBUG_NS_LIVE        ? "live"
		       : ns->state == GORGON_DEBUG_NS_UNLOADING ? "unloading"
		       : ns->state == GORGON_DEBUG_NS_ABANDONED ? "abandoned"
								: "?",
		       *ns->copy_of ? ", copy of " : "", ns->copy_of);
	}
	putchar('\n');
}

static char *debug_text(const struct object *object)
{
	if (object->link_map)
		return format("as any library of the system's linker");
	switch (object->debug_kind) {
	case JITREG_DEBUG_SELF:
		return format("in the library");
	case JITREG_DEBUG_BUILD_ID:
	case JITREG_DEBUG_LINK:
		return format("%s", object->debug_path ?: "?");
	default:
		return format("names only");
	}
}

static void print_object(const struct snapshot *snapshot, const struct object *object)
{
	char label[32], *id = hex(object->build_id, object->build_id_size),
			*debug = debug_text(object);

	printf("%s%-9s%s  %s\n", interp_begin(), ns_label(snapshot, object->ns, label),
	       colour_end(), *object->path ? object->path : "(no file)");
	printf("           0x%lx-0x%lx  bias 0x%lx", object->start, object->end, object->bias);
	if (object->symfile)
		printf("  symfile 0x%lx+0x%lx", object->symfile, object->symfile_size);
	printf("\n           build-id %s  debug info: %s\n", *id ? id : "none", debug);
	free(id);
	free(debug);
}

int print_table(struct dump *dump)
{
	const struct snapshot *snapshot = &dump->snapshot;
	size_t interps = 0;

	for (size_t i = 0; i < snapshot->ns_count; i++)
		interps += snapshot->namespaces[i].interp != GORGON_DEBUG_NO_INTERP;
	if (snapshot->source == SOURCE_GORGON)
		printf("%s: interpreters: %zu, private objects: %zu\n\n", dump->target.name,
		       interps, snapshot->listed_count);
	else
		printf("%s: no interpreters; objects in JIT lists: %zu\n\n", dump->target.name,
		       snapshot->object_count);
	if (snapshot->ns_count)
		print_namespaces(snapshot);
	for (size_t i = 0; i < snapshot->object_count; i++)
		print_object(snapshot, &snapshot->objects[i]);
	return STATUS_OK;
}

static bool parse_address(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 0);
	return !errno && *text >= '0' && *text <= '9' && !*end;
}

int print_addresses(struct dump *dump)
{
	int status = STATUS_OK;

	for (int i = 0; i < dump->address_count; i++) {
		struct location location;
		uint64_t addr;
		char *text;

		if (!parse_address(dump->addresses[i], &addr)) {
			fprintf(stderr,
				"gorgon-symdump: --addr %s: expected a number, as 0x7f0012345678\n",
				dump->addresses[i]);
			return STATUS_USAGE;
		}
		if (!location_find(dump->locations, addr, false, &location)) {
			printf("0x%lx  in no loaded file\n", addr);
			status = STATUS_FOUND_NOTHING;
			continue;
		}
		text = location_text(dump->locations, &location);
		printf("0x%lx  %s\n", addr, text);
		free(text);
	}
	return status;
}

// Whether the end of a name is a version, or what a compiler adds for a variant of a function
// (.lto_priv.0, .constprop.0). A piece of a function (.cold, .part.0) is another function.
static bool is_addition(const char *text)
{
	return !*text || *text == '@' ||
	       (*text == '.' && !strstr(text, ".cold") && !strstr(text, ".part."));
}

static bool table_matches(const struct symbol *symbol, const char *pattern, bool exact)
{
	size_t length = strlen(pattern);
	char *name;
	bool ret;

	if (exact) // compared without a copy: every name in every copy is compared
		return length && !strncmp(symbol->name, pattern, length) &&
		       is_addition(symbol->name + length);
	name = symbol_name(symbol);
	ret = !fnmatch(pattern, name, 0);
	free(name);
	return ret;
}

static int print_matching(struct dump *dump, bool exact)
{
	bool found = false;

	for (size_t o = 0; o < dump->snapshot.object_count; o++) {
		const struct object *object = &dump->snapshot.objects[o];
		uint64_t bias = locations_bias(dump->locations, object);
		const struct symbol *symbols;
		size_t count =
			library_symbols(locations_library(dump->locations, object), &symbols);

		for (size_t s = 0; s < count; s++) {
			struct location location = {object,      object->path, symbols[s].vaddr,
						    &symbols[s], NULL,         0};
			char *text;

			if (!table_matches(&symbols[s], dump->pattern, exact) ||
			    !locations_has_symbol(dump->locations, object, &symbols[s]))
				continue;
			found = true;
			if (exact)
				location.file = library_find_line(
					locations_library(dump->locations, object), location.vaddr,
					true, &location.line);
			text = location_text(dump->locations, &location);
			printf("0x%lx %6lu  %s\n", bias + symbols[s].vaddr, symbols[s].size, text);
			free(text);
		}
	}
	return found ? STATUS_OK : STATUS_FOUND_NOTHING;
}

int print_symbols(struct dump *dump)
{
	return print_matching(dump, false);
}

int print_find(struct dump *dump)
{
	return print_matching(dump, true);
}
