// SPDX-License-Identifier: MIT
// The system provider: symbols from libraries that the system's linker loaded.
//
// Order of a look-up, chosen to give what an ordinary load would give:
//
//  1. the process's global scope (RTLD_DEFAULT). It comes first because of copy
//     relocations (stdout, environ live in the executable) and of interposers
//     (a host's own malloc, a sanitizer's runtime): both must be the same for
//     private and shared code. dlvsym() wants the exact version and so skips an
//     interposer that has no versions; dlsym() finds it. When the two disagree and
//     the answers come from different files, it is an interposer and wins.
//  2. the library that the version need names, when it is open here;
//  3. the shared dependencies of the object, then of the namespace.
//
// CPython's API is never taken from here: a host that is linked to libpython, or is
// python3, has those names in its global scope.
//
// Thread-local variables of shared libraries are given as the system's module id and
// an offset, which the real __tls_get_addr understands.

#define _GNU_SOURCE
#include "system.h"
#include "base/error.h"
#include "policy.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct gorgon_system_library *libraries;

static struct gorgon_system_library *find_open(const char *name)
{
	struct gorgon_system_library *library = libraries;

	while (library && strcmp(library->name, name))
		library = library->next;
	return library;
}

struct gorgon_error *gorgon_system_dlopen(const char *name, int flags, void **ret)
{
	void *handle = dlopen(name, flags);

	if (!handle)
		return gorgon_error_create(GORGON_ERROR_MISSING, "%s", dlerror());
	// This is the host's libpython, or a libpython in which nobody has started Python.
	if (dlsym(handle, "Py_GetVersion")) {
		dlclose(handle);
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: needs a libpython, which is private: it cannot be "
					   "shared with the process", name);
	}
	dlerror(); // as below
	*ret = handle;
	return NULL;
}

struct gorgon_error *gorgon_system_open(const char *name, const char *requester,
					struct gorgon_system_library **ret)
{
	struct gorgon_system_library *library = find_open(name);
	struct gorgon_error *err, *reason;
	void *handle;

	if (library) {
		*ret = library;
		return NULL;
	}
	reason = gorgon_system_dlopen(name, RTLD_NOW | RTLD_LOCAL, &handle);
	if (reason) {
		err = gorgon_error_create(gorgon_error_code(reason),
					  "%s: needs %s, which is shared: %s", requester, name,
					  gorgon_error_message(reason));
		gorgon_error_destroy(reason);
		return err;
	}
	library = calloc(1, sizeof(*library));
	if (!library || !(library->name = strdup(name))) {
		free(library);
		dlclose(handle);
		return &gorgon_error_nomem;
	}
	library->handle = handle;
	library->next = libraries;
	libraries = library;
	*ret = library;
	return NULL;
}

char *gorgon_system_path(const char *name)
{
	void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	struct link_map *map;
	char *path = NULL;

	if (!handle) {
		dlerror(); // as in gorgon_system_find()
		return NULL;
	}
	if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && *map->l_name == '/')
		path = strdup(map->l_name);
	dlclose(handle);
	return path;
}

static void *find_in(void *handle, const struct gorgon_symbol_query *query)
{
	return query->version ? dlvsym(handle, query->name, query->version)
			      : dlsym(handle, query->name);
}

static const void *file_of(const void *addr)
{
	Dl_info info;

	return dladdr(addr, &info) ? info.dli_fbase : NULL;
}

static void *find_global(const struct gorgon_symbol_query *query)
{
	void *plain = dlsym(RTLD_DEFAULT, query->name);
	void *exact;

	if (!query->version || !plain)
		return query->version ? find_in(RTLD_DEFAULT, query) : plain;
	exact = find_in(RTLD_DEFAULT, query);
	if (!exact || exact == plain)
		return exact;
	return file_of(plain) != file_of(exact) ? plain : exact;
}

// The object whose TLS block of this thread contains symbol->addr. Each entry of
// dl_iterate_phdr has its module id and the calling thread's block.
static int match_tls_block(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct gorgon_system_symbol *symbol = ctx;
	uint64_t off = (uintptr_t)symbol->addr - (uintptr_t)info->dlpi_tls_data;

	(void)size;
	if (!info->dlpi_tls_modid || !info->dlpi_tls_data)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_TLS || off >= info->dlpi_phdr[i].p_memsz)
			continue;
		symbol->tls_module = info->dlpi_tls_modid;
		symbol->tls_offset = off;
		return 1;
	}
	return 0;
}

bool gorgon_system_find_tls(struct gorgon_system_symbol *symbol)
{
	return dl_iterate_phdr(match_tls_block, symbol) == 1;
}

// Where a module's block is, for the calling thread; 0: it has none yet.
struct tls_location {
	uint64_t module;
	uintptr_t from_pointer;
};

static int place_tls_block(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct tls_location *place = ctx;

	(void)size;
	if (info->dlpi_tls_modid != place->module || !info->dlpi_tls_data)
		return 0;
	place->from_pointer =
		(uintptr_t)info->dlpi_tls_data - (uintptr_t)__builtin_thread_pointer();
	return 1;
}

static void *place_elsewhere(void *ctx)
{
	dl_iterate_phdr(place_tls_block, ctx);
	return NULL;
}

// In a new thread all static TLS blocks exist; of the dynamic blocks, only those that it has used.
bool gorgon_system_tls_is_static(const struct gorgon_system_symbol *symbol)
{
	struct tls_location here = {.module = symbol->tls_module}, there = here;
	pthread_t thread;

	if (pthread_create(&thread, NULL, place_elsewhere, &there))
		return false;
	pthread_join(thread, NULL);
	dl_iterate_phdr(place_tls_block, &here);
	return here.from_pointer && here.from_pointer == there.from_pointer;
}

bool gorgon_system_find_in(const struct gorgon_symbol_query *query,
			   struct gorgon_system_library *const *deps, size_t count,
			   struct gorgon_system_symbol *ret)
{
	void *addr = NULL;

	*ret = (struct gorgon_system_symbol){0};
	if (gorgon_policy_is_python_symbol(query->name))
		return false;
	for (size_t i = 0; !addr && i < count; i++)
		addr = find_in(deps[i]->handle, query);
	ret->addr = addr;
	if (!addr)
		dlerror(); // do not leave our misses to the host's next dlerror()
	return addr != NULL;
}

bool gorgon_system_find(const struct gorgon_symbol_query *query,
			struct gorgon_system_library *const *deps, size_t count,
			struct gorgon_system_symbol *ret)
{
	struct gorgon_system_library *library;
	void *addr;

	*ret = (struct gorgon_system_symbol){0};
	if (gorgon_policy_is_python_symbol(query->name))
		return false;
	addr = find_global(query);
	if (!addr && query->file && (library = find_open(query->file)))
		addr = find_in(library->handle, query);
	if (!addr)
		return gorgon_system_find_in(query, deps, count, ret);
	ret->addr = addr;
	return true;
}

struct handle_search {
	const struct link_map *first;
	const void *handle;
};

// Called for the first object only, for the lock that the system holds meanwhile: the
// list does not change under us. A handle is the address of an entry.
static int match_handle(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct handle_search *search = ctx;

	(void)info;
	(void)size;
	for (const struct link_map *map = search->first; map; map = map->l_next)
		if (map == search->handle)
			return 1;
	return 2;
}

bool gorgon_system_is_handle(const void *handle)
{
	struct handle_search search = {.handle = handle};
	struct link_map *map = NULL;
	void *program = dlopen(NULL, RTLD_LAZY);

	if (!program)
		return false;
	if (!dlinfo(program, RTLD_DI_LINKMAP, &map))
		search.first = map;
	dlclose(program);
	return dl_iterate_phdr(match_handle, &search) == 1;
}
