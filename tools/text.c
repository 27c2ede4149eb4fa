// SPDX-License-Identifier: MIT
// Names out of files are made printable, as they are in the library's messages.

#include "tool.h"

#include "printable.h"

#include <json.h>
#include <stdlib.h>
#include <string.h>

void tool_add_text(struct json_object *to, const char *name, const char *value)
{
	size_t size = value ? strlen(value) : 0;
	char *clean = value ? malloc(4 * size + 1) : NULL;

	if (value && !clean)
		abort();
	if (clean)
		gorgon_make_printable(value, size, clean);
	json_object_object_add(to, name, clean ? json_object_new_string(clean) : NULL);
	free(clean);
}
