// SPDX-License-Identifier: MIT The table as JSON, and functions by which --stacks writes JSON, too.
// A document is a head with one or two long lists. Each item of a list is one line, which is
// printed and freed before the next item is made, so that a thousand interpreters need no more
// memory than one. The schema is described in gorgon-symdump(1); VERSION changes when readers of
// the earlier schema would fail. Addresses are strings, because many readers keep numbers in 53
// bits.

#define _GNU_SOURCE
#include "symdump.h"

#include "jitreg.h"

#include <json.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

void json_add_string(struct json_object *to, const char *name, const char *value)
{
	json_object_object_add(to, name, value ? json_object_new_string(value) : NULL);
}

void json_add_address(struct json_object *to, const char *name, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%lx", addr);
	json_add_string(to, name, text);
}

void json_add_number(struct json_object *to, const char *name, uint64_t value)
{
	json_object_object_add(to, name, json_object_new_uint64(value));
}

void json_add_namespace(struct json_object *to, const char *name, const struct snapshot *snapshot,
			size_t ns)
{
	const struct namespace *namespace = ns == NO_NS ? NULL : &snapshot->namespaces[ns];
	bool interp = namespace && namespace->interp != GORGON_DEBUG_NO_INTERP;

	json_object_object_add(to, name, namespace ? json_object_new_uint64(namespace->id) : NULL);
	json_object_object_add(to, "interpreter",
			       interp ? json_object_new_int64(namespace->interp) : NULL);
}

static const char *text_of(struct json_object *object)
{
	return json_object_to_json_string_ext(object, JSON_C_TO_STRING_SPACED |
							      JSON_C_TO_STRING_NOSLASHESCAPE);
}

void json_begin(const struct dump *dump, const char *schema, const char *list)
{
	static const char *const sources[] = {"gorgon", "jitreg", "jit"};
	const struct snapshot *snapshot = &dump->snapshot;
	struct json_object *head = json_object_new_object(), *problems = json_object_new_array();
	const char *text;

	json_add_string(head, "schema", schema);
	json_add_number(head, "version", VERSION);
	json_add_string(head, "target", dump->target.pid ? "process" : "core");
	json_object_object_add(head, "pid",
			       dump->target.pid ? json_object_new_int(dump->target.pid) : NULL);
	json_add_string(head, "source", sources[snapshot->source]);
	json_add_number(head, "sequence", snapshot->sequence);
	json_object_object_add(head, "consistent", json_object_new_boolean(snapshot->consistent));
	for (size_t i = 0; i < snapshot->problems.kept; i++)
		json_object_array_add(problems,
				      json_object_new_string(snapshot->problems.lines[i]));
	json_object_object_add(head, "problems", problems);
	text = text_of(head);
	printf("%.*s", (int)(strrchr(text, '}') - text), text);
	json_object_put(head);
	json_next_list(list);
}

void json_next_list(const char *name)
{
	printf(",\n\"%s\": [", name);
}

void json_print_item(struct json_object *item, bool first)
{
	printf("%s\n%s", first ? "" : ",", text_of(item));
	json_object_put(item);
}

void json_end_list(void)
{
	putchar(']');
}

void json_end(void)
{
	printf("\n}\n");
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

static struct json_object *object_json(const struct object *object)
{
	struct json_object *ret = json_object_new_object(), *symfile = NULL, *debug;
	char *id = hex(object->build_id, object->build_id_size);

	json_add_string(ret, "path", *object->path ? object->path : NULL);
	json_add_address(ret, "start", object->start);
	json_add_address(ret, "end", object->end);
	json_add_address(ret, "bias", object->bias);
	json_add_string(ret, "build_id", *id ? id : NULL);
	if (object->symfile) {
		symfile = json_object_new_object();
		json_add_address(symfile, "address", object->symfile);
		json_add_number(symfile, "size", object->symfile_size);
	}
	json_object_object_add(ret, "symfile", symfile);
	if (object->link_map)
		json_add_address(ret, "link_map", object->link_map);
	debug = json_object_new_object();
	json_add_string(debug, "kind", kind_name(object->debug_kind));
	json_add_string(debug, "path", object->debug_path);
	json_object_object_add(ret, "debug", debug);
	free(id);
	return ret;
}

static struct json_object *objects_json(const struct snapshot *snapshot, size_t first, size_t count)
{
	struct json_object *ret = json_object_new_array();

	for (size_t i = first; i < first + count; i++)
		json_object_array_add(ret, object_json(&snapshot->objects[i]));
	return ret;
}

static struct json_object *namespace_json(const struct snapshot *snapshot, size_t i)
{
	const struct namespace *ns = &snapshot->namespaces[i];
	struct json_object *ret = json_object_new_object();
	char python[16];

	json_add_namespace(ret, "id", snapshot, i);
	snprintf(python, sizeof(python), "3.%u", ns->python_minor);
	json_add_string(ret, "python", ns->python_minor ? python : NULL);
	json_add_string(ret, "state", ns->state == GORGON_DEBUG_NS_LIVE        ? "live"
				      : ns->state == GORGON_DEBUG_NS_UNLOADING ? "unloading"
				      : ns->state == GORGON_DEBUG_NS_ABANDONED ? "abandoned"
									       : "unknown");
	json_object_object_add(ret, "thread",
			       ns->thread ? json_object_new_uint64(ns->thread) : NULL);
	json_add_string(ret, "copy_of", *ns->copy_of ? ns->copy_of : NULL);
	json_object_object_add(ret, "objects",
			       objects_json(snapshot, ns->first_object, ns->object_count));
	return ret;
}

int print_json(struct dump *dump)
{
	const struct snapshot *snapshot = &dump->snapshot;

	json_begin(dump, "gorgon-symdump", "namespaces");
	for (size_t i = 0; i < snapshot->ns_count; i++)
		json_print_item(namespace_json(snapshot, i), !i);
	json_end_list();
	// Objects that are in a JIT list only belong to no namespace.
	json_next_list("objects");
	for (size_t i = snapshot->listed_count; i < snapshot->object_count; i++)
		json_print_item(object_json(&snapshot->objects[i]), i == snapshot->listed_count);
	json_end_list();
	json_end();
	return STATUS_OK;
}
