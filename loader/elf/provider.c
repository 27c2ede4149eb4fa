// SPDX-License-Identifier: MIT
// Providers that hosts need again and again: a table of names, a library that the system
// has opened, and several providers in an order.

#define _GNU_SOURCE
#include "../gorgon.h"

#include <dlfcn.h>
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

bool gorgon_handle_find(void *ctx, const char *name, const char *version, void **addr)
{
	void *found = version ? dlvsym(ctx, name, version) : dlsym(ctx, name);

	if (found)
		*addr = found;
	return found;
}

bool gorgon_chain_find(void *ctx, const char *name, const char *version, void **addr)
{
	const struct gorgon_provider *provider = ctx;

	for (; provider->find; provider++)
		if (provider->find(provider->ctx, name, version, addr))
			return true;
	return false;
}
