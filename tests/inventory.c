// SPDX-License-Identifier: MIT
// The names that private code gets from us, as JSON: an array of objects with "name", "decision",
// "reason", "part" and "title". tools/process.py makes docs/process.md of it.

#include "../loader/elf/replace.h"

#include <json-c/json.h>
#include <stdio.h>

static struct json_object *describe(const struct gorgon_replaced *entry)
{
	static const char *const decisions[] = {
		[GORGON_OWN] = "own", [GORGON_ORDERED] = "ordered"};
	struct json_object *ret = json_object_new_object();

	json_object_object_add(ret, "name", json_object_new_string(entry->name));
	json_object_object_add(ret, "decision", json_object_new_string(decisions[entry->decision]));
	json_object_object_add(ret, "reason", json_object_new_string(entry->reason));
	json_object_object_add(ret, "part", json_object_new_uint64(entry->part));
	json_object_object_add(ret, "title",
			       entry->title ? json_object_new_string(entry->title) : NULL);
	return ret;
}

int main(void)
{
	struct json_object *list = json_object_new_array();
	struct gorgon_replaced entry;

	for (size_t i = 0; gorgon_replace_list(i, &entry); i++)
		if (!entry.is_private)
			json_object_array_add(list, describe(&entry));
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
	return fclose(stdout) ? 1 : 0;
}
