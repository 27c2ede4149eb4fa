// SPDX-License-Identifier: MIT
// The table as JSON, and what --stacks needs to write JSON, too. A document is written as it is
// made, an object to a line, and never in memory as a whole. The schema is described in
// gorgon-symdump(1); VERSION counts changes that a reader of the earlier one would not survive.
// Addresses are strings, because many readers keep numbers in 53 bits.

#define _GNU_SOURCE
#include "symdump.h"

#include "jitreg.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 1

// Names are clean: valid UTF-8 without control characters.
void json_string(const char *text)
{
	if (!text) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (size_t plain; *text; text += plain + !!text[plain]) {
		plain = strcspn(text, "\"\\");
		fwrite(text, 1, plain, stdout);
		if (text[plain])
			printf("\\%c", text[plain]);
	}
	putchar('"');
}

void json_namespace(const struct snapshot *snapshot, size_t ns, const char *name)
{
	const struct namespace *namespace = ns == NO_NS ? NULL : &snapshot->namespaces[ns];

	if (namespace)
		printf("\"%s\": %lu, \"interpreter\": ", name, namespace->id);
	else
		printf("\"%s\": null, \"interpreter\": ", name);
	if (namespace && namespace->interp != GORGON_DEBUG_NO_INTERP)
		printf("%u", namespace->interp);
	else
		printf("null");
}

void json_begin(const struct dump *dump, const char *schema)
{
	static const char *const sources[] = {"gorgon", "jitreg", "jit"};
	const struct snapshot *snapshot = &dump->snapshot;

	printf("{\n\"schema\": \"%s\", \"version\": %d,\n", schema, VERSION);
	if (dump->target.pid)
		printf("\"target\": \"process\", \"pid\": %d,\n", dump->target.pid);
	else
		printf("\"target\": \"core\", \"pid\": null,\n");
	printf("\"source\": \"%s\", \"sequence\": %lu, \"consistent\": %s,\n\"problems\": [",
	       sources[snapshot->source], snapshot->sequence,
	       snapshot->consistent ? "true" : "false");
	for (size_t i = 0; i < snapshot->problems.kept; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		json_string(snapshot->problems.lines[i]);
	}
	printf("],\n");
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[JITREG_DEBUG_NAMES] = "names",
		[JITREG_DEBUG_BUILD_ID] = "build-id",
		[JITREG_DEBUG_SELF] = "self",
		[JITREG_DEBUG_LINK] = "link",
	};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "unknown";
}

static void put_object(const struct object *object)
{
	char *id = hex(object->build_id, object->build_id_size);

	printf("{\"path\": ");
	json_string(*object->path ? object->path : NULL);
	printf(", \"start\": \"0x%lx\", \"end\": \"0x%lx\", \"bias\": \"0x%lx\", \"build_id\": ",
	       object->start, object->end, object->bias);
	json_string(*id ? id : NULL);
	if (object->symfile)
		printf(", \"symfile\": {\"address\": \"0x%lx\", \"size\": %lu}", object->symfile,
		       object->symfile_size);
	else
		printf(", \"symfile\": null");
	if (object->link_map)
		printf(", \"link_map\": \"0x%lx\"", object->link_map);
	printf(", \"debug\": {\"kind\": \"%s\", \"path\": ", kind_name(object->debug_kind));
	json_string(object->debug_path);
	printf("}}");
	free(id);
}

static void put_objects(const struct snapshot *snapshot, size_t first, size_t count)
{
	printf("\"objects\": [");
	for (size_t i = first; i < first + count; i++) {
		fputs(i > first ? ",\n" : "\n", stdout);
		put_object(&snapshot->objects[i]);
	}
	putchar(']');
}

static void put_namespace(const struct snapshot *snapshot, size_t i)
{
	const struct namespace *ns = &snapshot->namespaces[i];

	putchar('{');
	json_namespace(snapshot, i, "id");
	if (ns->python_minor)
		printf(", \"python\": \"3.%u\"", ns->python_minor);
	else
		printf(", \"python\": null");
	printf(", \"state\": \"%s\"", ns->state == GORGON_DEBUG_NS_LIVE        ? "live"
				      : ns->state == GORGON_DEBUG_NS_UNLOADING ? "unloading"
									       : "unknown");
	if (ns->thread)
		printf(", \"thread\": %lu, ", ns->thread);
	else
		printf(", \"thread\": null, ");
	put_objects(snapshot, ns->first_object, ns->object_count);
	putchar('}');
}

int print_json(struct dump *dump)
{
	const struct snapshot *snapshot = &dump->snapshot;

	json_begin(dump, "gorgon-symdump");
	printf("\"namespaces\": [");
	for (size_t i = 0; i < snapshot->ns_count; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		put_namespace(snapshot, i);
	}
	printf("],\n");
	// Those that only a JIT list has belong to no namespace.
	put_objects(snapshot, snapshot->listed_count, snapshot->object_count - snapshot->listed_count);
	printf("\n}\n");
	return STATUS_OK;
}
