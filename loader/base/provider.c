// SPDX-License-Identifier: MIT
// Providers that hosts need again and again: a table of names, one of thread-local variables,
// a library that the system has opened, and several providers in an order.
//
// A thread-local variable is answered with the address of the calling thread's. That is enough
// to bind code to it: the module whose block of this thread contains the address has the
// variable in all threads (gorgon_system_find_tls()).

#define _GNU_SOURCE
#include "gorgon.h"

#include <dlfcn.h>
#include <string.h>

void *gorgon_provider_find_symbol(const struct gorgon_provider *provider, const char *name,
				  const char *version)
{
	void *addr;

	return provider->find(provider->ctx, name, version, &addr) ? addr : NULL;
}

void gorgon_provider_close(const struct gorgon_provider *provider)
{
	if (provider->close)
		provider->close(provider->ctx);
}

static bool table_find(void *ctx, const char *name, const char *version, void **addr)
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

struct gorgon_provider gorgon_provider_table(const struct gorgon_table_entry *entries)
{
	return (struct gorgon_provider){.find = table_find, .ctx = (void *)entries};
}

static bool tls_table_find(void *ctx, const char *name, const char *version, void **addr)
{
	const struct gorgon_tls_table_entry *entry = ctx;

	(void)version;
	for (; entry->name; entry++) {
		if (strcmp(entry->name, name))
			continue;
		*addr = entry->addr();
		return true;
	}
	return false;
}

struct gorgon_provider gorgon_provider_tls_table(const struct gorgon_tls_table_entry *entries)
{
	return (struct gorgon_provider){.find = tls_table_find, .ctx = (void *)entries};
}

static bool handle_find(void *ctx, const char *name, const char *version, void **addr)
{
	void *found = version ? dlvsym(ctx, name, version) : dlsym(ctx, name);

	if (found)
		*addr = found;
	else
		dlerror(); // do not leave our misses to the host's next dlerror()
	return found;
}

static void handle_close(void *ctx)
{
	dlclose(ctx);
}

struct gorgon_provider gorgon_provider_handle(void *handle, bool takes)
{
	return (struct gorgon_provider){handle_find, handle, takes ? handle_close : NULL};
}

static bool chain_find(void *ctx, const char *name, const char *version, void **addr)
{
	const struct gorgon_provider *provider = ctx;

	for (; provider->find; provider++)
		if (provider->find(provider->ctx, name, version, addr))
			return true;
	return false;
}

static void chain_close(void *ctx)
{
	const struct gorgon_provider *first = ctx, *provider = first;

	while (provider->find)
		provider++;
	while (provider-- != first)
		gorgon_provider_close(provider);
}

struct gorgon_provider gorgon_provider_chain(const struct gorgon_provider *providers, bool takes)
{
	return (struct gorgon_provider){chain_find, (void *)providers, takes ? chain_close : NULL};
}
