// SPDX-License-Identifier: MIT
// A provider that is a table of names.

#include "../gorgon.h"

#include <string.h>

bool gorgon_table_find(void *ctx, const char *name, const char *version, void **addr)
{
	const struct gorgon_table_entry *entry = ctx;

	(void)version;
	for (; entry->name; entry++) {
		if (strcmp(entry->name, name))
			continue;
		*addr = entry->addr;
		return true;
	}
	return false;
}
