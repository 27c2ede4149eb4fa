// SPDX-License-Identifier: MIT
// The names that private code gets from us, as JSON: an array of objects with "name", "decision",
// "reason", "part" and "title". tools/process.py makes loader/process/NAMES.md of it.

#include "process/part.h"

#include <json-c/json.h>
#include <stdio.h>

// Whether private code gets a name of this part although nothing is denied to it.
static bool is_decision(const struct gorgon_part *part)
{
	return part->when != GORGON_WHEN_DEFINED && part->when != GORGON_WHEN_NO_FORK && part->when != GORGON_WHEN_NO_EXEC;
}

static struct json_object *describe(const struct gorgon_bound *bound, size_t part)
{
	static const char *const decisions[] = {
		[GORGON_OWN] = "own", [GORGON_ORDERED] = "ordered"};
	const char *title = gorgon_parts[part]->title;
	struct json_object *ret = json_object_new_object();

	json_object_object_add(ret, "name", json_object_new_string(bound->name));
	json_object_object_add(ret, "decision", json_object_new_string(decisions[bound->decision]));
	json_object_object_add(ret, "reason", json_object_new_string(bound->reason));
	json_object_object_add(ret, "part", json_object_new_uint64(gorgon_parts[part]->loader_only ? 0 : part));
	json_object_object_add(ret, "title", title ? json_object_new_string(title) : NULL);
	return ret;
}

int main(void)
{
	struct json_object *list = json_object_new_array();

	for (size_t p = 0; gorgon_parts[p]; p++)
		for (size_t i = 0; i < gorgon_parts[p]->bound_count; i++)
			if (is_decision(gorgon_parts[p]))
				json_object_array_add(list, describe(&gorgon_parts[p]->bound[i], p));
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
	return fclose(stdout) ? 1 : 0;
}
