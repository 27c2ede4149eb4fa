// SPDX-License-Identifier: MIT
// Names of zones, each kept once for the life of the process: tm_zone points to them.

#include "zone.h"

#include <stdlib.h>
#include <string.h>

struct name {
	struct name *next;
	char text[];
};

static struct name *all_names; // few: no zone has many, and each is here once

const char *gorgon_zone_name(const char *text, size_t size)
{
	struct name *name = all_names;

	while (name && (strncmp(name->text, text, size) || name->text[size]))
		name = name->next;
	if (name)
		return name->text;
	name = malloc(sizeof(*name) + size + 1);
	if (!name)
		return NULL;
	name->next = all_names;
	memcpy(name->text, text, size);
	name->text[size] = '\0';
	all_names = name;
	return name->text;
}
