// SPDX-License-Identifier: MIT
// The table as JSON. The schema is described in gorgon-symdump(1); VERSION counts changes
// that a reader of the earlier one would not survive. Addresses are strings, because many
// readers keep numbers in 53 bits.

#define _GNU_SOURCE
#include "symdump.h"

#include "jitreg.h"

#include <json.h>
#include <stdlib.h>

#define VERSION 1

static void add_string(struct json_object *to, const char *name, const char *value)
{
	json_object_object_add(to, name, value ? json_object_new_string(value) : NULL);
}

static void add_address(struct json_object *to, const char *name, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%lx", addr);
	add_string(to, name, text);
}

static void add_number(struct json_object *to, const char *name, uint64_t value)
{
	json_object_object_add(to, name, json_object_new_uint64(value));
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

	add_string(ret, "path", *object->path ? object->path : NULL);
	add_address(ret, "start", object->start);
	add_address(ret, "end", object->end);
	add_address(ret, "bias", object->bias);
	add_string(ret, "build_id", *id ? id : NULL);
	if (object->symfile) {
		symfile = json_object_new_object();
		add_address(symfile, "address", object->symfile);
		add_number(symfile, "size", object->symfile_size);
	}
	json_object_object_add(ret, "symfile", symfile);
	if (object->link_map)
		add_address(ret, "link_map", object->link_map);
	debug = json_object_new_object();
	add_string(debug, "kind", kind_name(object->debug_kind));
	add_string(debug, "path", object->debug_path);
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

static struct json_object *namespace_json(const struct snapshot *snapshot,
					  const struct namespace *ns)
{
	struct json_object *ret = json_object_new_object();
	char python[16];

	add_number(ret, "id", ns->id);
	json_object_object_add(
		ret, "interpreter",
		ns->interp == GORGON_DEBUG_NO_INTERP ? NULL : json_object_new_int64(ns->interp));
	snprintf(python, sizeof(python), "3.%u", ns->python_minor);
	add_string(ret, "python", ns->python_minor ? python : NULL);
	add_string(ret, "state",
		   ns->state == GORGON_DEBUG_NS_LIVE        ? "live"
		   : ns->state == GORGON_DEBUG_NS_UNLOADING ? "unloading"
							    : "unknown");
	json_object_object_add(ret, "thread",
			       ns->thread ? json_object_new_uint64(ns->thread) : NULL);
	json_object_object_add(ret, "objects",
			       objects_json(snapshot, ns->first_object, ns->object_count));
	return ret;
}

int print_json(struct dump *dump)
{
	static const char *const sources[] = {"gorgon", "jitreg", "jit"};
	const struct snapshot *snapshot = &dump->snapshot;
	struct json_object *ret = json_object_new_object(), *list = json_object_new_array();

	add_string(ret, "schema", "gorgon-symdump");
	add_number(ret, "version", VERSION);
	add_string(ret, "target", dump->target.pid ? "process" : "core");
	json_object_object_add(ret, "pid",
			       dump->target.pid ? json_object_new_int(dump->target.pid) : NULL);
	add_string(ret, "source", sources[snapshot->source]);
	add_number(ret, "sequence", snapshot->sequence);
	json_object_object_add(ret, "consistent", json_object_new_boolean(snapshot->consistent));
	for (size_t i = 0; i < snapshot->problems.kept; i++)
		json_object_array_add(list, json_object_new_string(snapshot->problems.lines[i]));
	json_object_object_add(ret, "problems", list);
	list = json_object_new_array();
	for (size_t i = 0; i < snapshot->ns_count; i++)
		json_object_array_add(list, namespace_json(snapshot, &snapshot->namespaces[i]));
	json_object_object_add(ret, "namespaces", list);
	// Those that only a JIT list has belong to no namespace.
	json_object_object_add(
		ret, "objects",
		objects_json(snapshot, snapshot->listed_count,
			     snapshot->object_count - snapshot->listed_count));
	puts(json_object_to_json_string_ext(ret, JSON_C_TO_STRING_PRETTY |
							 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(ret);
	return STATUS_OK;
}
