// SPDX-License-Identifier: MIT
// The one table of names that private code gets from us instead of from the system,
// each with its reason. Where a function has to know the caller's namespace it is
// reached through a thunk (thunk.c), which adds the namespace behind its arguments.

#define _GNU_SOURCE
#include "replace.h"
#include "altstack.h"
#include "dl.h"
#include "environment.h"
#include "error.h"
#include "exits.h"
#include "fork.h"
#include "frames.h"
#include "heap.h"
#include "keys.h"
#include "large.h"
#include "malloc_family.h"
#include "locales.h"
#include "memory.h"
#include "registrar.h"
#include "signals.h"
#include "symbol.h"
#include "thread.h"
#include "tls.h"
#include "unwind.h"
#include "../process/lmdb.h"
#include "../process/part.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN UINT32_MAX	  // bound directly, without a namespace
#define DATA  (UINT32_MAX - 1) // the namespace's `environ`

enum when {
	ALWAYS,
	WITH_OUTPUT,	// the host wants what is written
	WITH_ENVIRONMENT, // the namespace has one of its own
	HEAP,		// unless the host provides a malloc
	HEAP_OF_PYTHON, // the same, for libpython's own calls
	REGISTRAR,	// for calls from an object with a JIT descriptor
	LMDB,		// for calls from LMDB
	DEFINED,	// although a private object defines it; never instead of the system's
};

static const struct {
	const char *name;
	void *target;
	unsigned args; // of the function itself, PLAIN or DATA
	enum when when;
	const char *reason;
} replacements[] = {
	{"dlopen", gorgon_dl_open, 2, ALWAYS,
	 "CPython and its extensions load into their own namespace"},
	{"dlmopen", gorgon_dlm_open, 3, ALWAYS,
	 "the system's linker would load for the process, and its handles are not ours"},
	{"dlsym", gorgon_dl_sym, 2, ALWAYS, "the system does not know private objects' symbols"},
	{"dlvsym", gorgon_dl_vsym, 3, ALWAYS, "as dlsym"},
	{"dlclose", gorgon_dl_close, 1, ALWAYS, "handles of private objects are ours"},
	{"dlerror", gorgon_dl_error, 0, ALWAYS, "tells of our failures, not of the system's"},
	{"dladdr", gorgon_dl_addr, 2, ALWAYS, "the system does not know private addresses"},
	{"dladdr1", gorgon_dl_addr1, 4, ALWAYS, "as dladdr"},
	{"dlinfo", gorgon_dl_info, 3, ALWAYS, "handles of private objects are ours"},
	{"dl_iterate_phdr", gorgon_dl_iterate_phdr, 2, ALWAYS,
	 "private objects come after the system's; unwinders and profilers ask"},
	{"_dl_find_object", gorgon_unwind_find_object, PLAIN, ALWAYS,
	 "unwinders that were linked into a module ask it for private frames"},
	{"__register_frame", gorgon_frames_register, 1, ALWAYS,
	 "a compiler that does not take it back leaves the unwinder with unmapped memory"},
	{"__deregister_frame", gorgon_frames_deregister, 1, ALWAYS, "as __register_frame"},
	{"__tls_get_addr", gorgon_tls_get_addr, PLAIN, ALWAYS, "blocks of private TLS modules"},
	{"__cxa_thread_atexit_impl", gorgon_thread_atexit, PLAIN, ALWAYS,
	 "the C library would call a thread_local's destructor after the unload"},
	{"__cxa_thread_atexit", gorgon_thread_atexit, PLAIN, ALWAYS,
	 "libstdc++'s name of it, which would call the C library's directly"},
	{"__cxa_atexit", gorgon_exits_register, 3, ALWAYS,
	 "at the end of a namespace the last one first, across its objects, as exit() does"},
	{"on_exit", gorgon_exits_register_with_status, 2, ALWAYS, "as __cxa_atexit"},
	{"pthread_create", gorgon_thread_create, 4, ALWAYS,
	 "a namespace is not unmapped under threads that its code has started"},
	{"__register_atfork", gorgon_register_atfork, 4, ALWAYS, "as fork; pthread_atfork calls it"},
	{"pthread_atfork", gorgon_pthread_atfork, 3, ALWAYS, "its older name"},
	{"pthread_key_create", gorgon_key_create, 2, ALWAYS,
	 "there are 1024 in a process; one that outlives the unload calls into unmapped memory"},
	{"pthread_key_delete", gorgon_key_delete, PLAIN, ALWAYS, "as pthread_key_create"},
	{"pthread_getspecific", gorgon_key_get, PLAIN, ALWAYS, "as pthread_key_create"},
	{"pthread_setspecific", gorgon_key_set, PLAIN, ALWAYS, "as pthread_key_create"},
	{"__pthread_key_create", gorgon_key_create, 2, ALWAYS, "older name of pthread_key_create"},
	{"__pthread_getspecific", gorgon_key_get, PLAIN, ALWAYS, "older name of pthread_getspecific"},
	{"__pthread_setspecific", gorgon_key_set, PLAIN, ALWAYS, "older name of pthread_setspecific"},
	{"tss_create", gorgon_tss_create, 2, ALWAYS, "as pthread_key_create"},
	{"tss_delete", gorgon_tss_delete, PLAIN, ALWAYS, "as pthread_key_create"},
	{"tss_get", gorgon_key_get, PLAIN, ALWAYS, "as pthread_key_create"},
	{"tss_set", gorgon_tss_set, PLAIN, ALWAYS, "as pthread_key_create"},
	{"sigaction", gorgon_signal_action, 3, ALWAYS,
	 "each copy has its own handlers; the process has one"},
	{"signal", gorgon_signal_set, 2, ALWAYS, "as sigaction"},
	{"sigaltstack", gorgon_altstack_set, PLAIN, ALWAYS,
	 "a thread's stack outlives the copy that has asked for it"},
	{"setlocale", gorgon_setlocale, 2, ALWAYS,
	 "copies that start at once would decode in each other's locale"},
	{"getenv", gorgon_process_getenv, 1, ALWAYS,
	 "CPython's start-up sets variables while others read; sizes of thread pools"},
	{"secure_getenv", gorgon_secure_getenv, 1, ALWAYS, "as setenv"},
	{"setenv", gorgon_setenv, 3, ALWAYS,
	 "does not move the environment under a getenv; works on the copy's own"},
	{"unsetenv", gorgon_unsetenv, 1, ALWAYS, "as setenv"},
	{"putenv", gorgon_putenv, 1, ALWAYS, "as setenv"},
	{"clearenv", gorgon_clearenv, 0, ALWAYS, "as setenv"},
	{"environ", NULL, DATA, WITH_ENVIRONMENT, "the host has given the copy an environment"},
	{"__environ", NULL, DATA, WITH_ENVIRONMENT, "as environ"},
	{"_environ", NULL, DATA, WITH_ENVIRONMENT, "as environ"},
	{"execv", gorgon_execv, 2, WITH_ENVIRONMENT, "programs get the copy's environment"},
	{"execvp", gorgon_execvp, 2, WITH_ENVIRONMENT, "as execv"},
	{"kill", gorgon_process_kill, 2, ALWAYS,
	 "CPython ends after an unhandled Ctrl-C by sending itself SIGINT: not the host; faults are the thread's"},
	{"getpid", gorgon_lmdb_getpid, 0, LMDB,
	 "LMDB would take the readers of other copies for its own"},
	{"malloc", gorgon_heap_malloc, 1, HEAP_OF_PYTHON,
	 "what CPython leaves behind goes with its namespace"},
	{"calloc", gorgon_heap_calloc, 2, HEAP_OF_PYTHON, "as malloc"},
	{"realloc", gorgon_malloc_python_realloc, 2, HEAP_OF_PYTHON, "as malloc"},
	{"malloc", gorgon_large_malloc, 1, HEAP, "large blocks of extensions are counted"},
	{"calloc", gorgon_large_calloc, 2, HEAP, "as malloc"},
	{"realloc", gorgon_malloc_realloc, 2, HEAP, "as malloc; knows the blocks of both"},
	{"aligned_alloc", gorgon_large_aligned_alloc, 2, HEAP, "as malloc"},
	{"posix_memalign", gorgon_large_posix_memalign, 3, HEAP, "as malloc"},
	{"free", gorgon_malloc_free, PLAIN, HEAP, "knows the blocks of both"},
	{"mmap", gorgon_memory_map, PLAIN, ALWAYS,
	 "memory goes with the namespace that has mapped it"},
	{"mmap64", gorgon_memory_map, PLAIN, ALWAYS, "as mmap"},
	{"munmap", gorgon_memory_unmap, 2, ALWAYS, "as mmap"},
	{"mremap", gorgon_memory_remap, PLAIN, ALWAYS, "as mmap"},
	{"pthread_mutex_unlock", gorgon_registrar_mutex_unlock, 1, REGISTRAR,
	 "what a compiler has registered with debuggers is handed on before it can run"},
	{"__jit_debug_register_code", gorgon_registrar_register_code, 0, DEFINED,
	 "as pthread_mutex_unlock"},
	{"exit", gorgon_process_exit, 1, ALWAYS, "ends the interpreter, never the host"},
	// In the way of every byte.
	{"write", gorgon_process_write, 3, WITH_OUTPUT,
	 "output of the interpreter goes where the host says"},
};

#define COUNT (sizeof(replacements) / sizeof(*replacements))

// Those of them whose state is one in the process, used by one at a time. Of all others each
// namespace has its own.
static const char *const ordered[] = {
	"getenv", "secure_getenv", "setenv", "unsetenv", "putenv", "clearenv",
	"fork", "forkpty", "mprotect", "pthread_mutex_unlock",
};

static bool host_provides_malloc(const struct gorgon_ns *ns, const struct gorgon_object *object)
{
	const struct gorgon_provider *own = object && object->opts ? object->opts->provider : NULL;

	return (own && gorgon_provider_find_symbol(own, "malloc", NULL)) ||
	       (ns->opts.provider && gorgon_provider_find_symbol(ns->opts.provider, "malloc", NULL));
}

static bool is_python(const struct gorgon_object *object)
{
	struct gorgon_symbol_query query = gorgon_symbol_query("PyMem_RawMalloc", NULL);

	return object && gorgon_symbol_find(object->image, &query);
}

static bool has_registrar(const struct gorgon_ns *ns, const struct gorgon_object *object)
{
	return ns->opts.debug != GORGON_DEBUG_OFF && object &&
	       gorgon_registrar_descriptor(object->image);
}

static bool applies(const struct gorgon_ns *ns, const struct gorgon_object *object, enum when when)
{
	switch (when) {
	case WITH_OUTPUT:
		return ns->opts.write_output != NULL;
	case WITH_ENVIRONMENT:
		return ns->environment != NULL;
	case HEAP:
		return !host_provides_malloc(ns, object);
	case HEAP_OF_PYTHON:
		return is_python(object) && !host_provides_malloc(ns, object);
	case REGISTRAR:
		return has_registrar(ns, object);
	case LMDB:
		return object && gorgon_lmdb_is(object->image);
	case DEFINED:
		return false;
	default:
		return true;
	}
}

// --- all of them: those above, and those of the parts of ../process ----------------------------

// Where an entry stands, so that a name is found without looking at all of them.
struct known {
	const char *name;
	size_t index; // of its thunk: the order of the tables
};

static struct known *known; // by name, and by index where a name is in a table twice
static size_t known_count;

static int compare_known(const void *a, const void *b)
{
	const struct known *first = a, *second = b;
	int order = strcmp(first->name, second->name);

	return order ?: first->index < second->index ? -1 : first->index > second->index;
}

// Without memory the list stays empty, and gorgon_replace_init() says so.
static void make_known(void)
{
	size_t count = COUNT, n = 0;
	struct known *list;

	for (size_t p = 0; p < gorgon_part_count; p++)
		count += gorgon_parts[p]->bound_count;
	list = calloc(count, sizeof(*list));
	if (!list)
		return;
	for (; n < COUNT; n++)
		list[n] = (struct known){replacements[n].name, n};
	for (size_t p = 0; p < gorgon_part_count; p++)
		for (size_t i = 0; i < gorgon_parts[p]->bound_count; i++, n++)
			list[n] = (struct known){gorgon_parts[p]->bound[i].name, n};
	qsort(list, count, sizeof(*list), compare_known);
	known = list;
	known_count = count;
}

// The first entry of that name, or NULL.
static const struct known *find_known(const char *name)
{
	size_t low = 0, high = known_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(known[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < known_count && !strcmp(known[low].name, name) ? &known[low] : NULL;
}

// The entry of a part that has the @index-th thunk, and the number of that part.
static const struct gorgon_bound *bound_at(size_t index, size_t *part)
{
	index -= COUNT;
	for (*part = 0; index >= gorgon_parts[*part]->bound_count; ++*part)
		index -= gorgon_parts[*part]->bound_count;
	return &gorgon_parts[*part]->bound[index];
}

static bool is_function(unsigned args)
{
	return args != PLAIN && args != DATA;
}

_Static_assert(PLAIN == GORGON_BOUND_PLAIN && DATA == GORGON_BOUND_DATA, "one meaning");

struct gorgon_error *gorgon_replace_init(struct gorgon_ns *ns, const struct gorgon_thunk *more,
					 size_t count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct gorgon_thunk *list;
	struct gorgon_error *err;

	pthread_once(&once, make_known);
	list = known_count ? calloc(known_count + count, sizeof(*list)) : NULL;
	if (!list)
		return &gorgon_error_nomem;
	for (size_t i = 0; i < COUNT; i++)
		list[i] = (struct gorgon_thunk){
			replacements[i].target,
			is_function(replacements[i].args) ? replacements[i].args : 0, ns};
	for (size_t i = COUNT, part; i < known_count; i++) {
		const struct gorgon_bound *bound = bound_at(i, &part);

		list[i] = (struct gorgon_thunk){
			bound->target, is_function(bound->args) ? bound->args : 0,
			ns->parts ? (char *)ns->parts[part] + bound->offset : NULL};
	}
	if (count)
		memcpy(list + known_count, more, count * sizeof(*list));
	err = gorgon_thunks_create(list, known_count + count, &ns->thunks);
	free(list);
	return err;
}

void *gorgon_replace_thunk(const struct gorgon_ns *ns, size_t index)
{
	return gorgon_thunks_get(ns->thunks, known_count + index);
}

static void *address_of_part(const struct gorgon_ns *ns, size_t index)
{
	size_t part;
	const struct gorgon_bound *bound = bound_at(index, &part);

	if (bound->args == GORGON_BOUND_DATA)
		return (char *)ns->parts[part] + bound->offset;
	return bound->args == GORGON_BOUND_PLAIN ? bound->target
						 : gorgon_thunks_get(ns->thunks, index);
}

void *gorgon_replace_find(const struct gorgon_ns *ns, const struct gorgon_object *object,
			  const char *name)
{
	const struct known *entry = find_known(name);

	for (; entry && entry < known + known_count && !strcmp(entry->name, name); entry++) {
		size_t i = entry->index;

		if (i >= COUNT)
			return address_of_part(ns, i);
		if (!applies(ns, object, replacements[i].when))
			continue;
		if (replacements[i].args == DATA)
			return gorgon_environment_list(ns->environment);
		return replacements[i].args == PLAIN ? replacements[i].target
						     : gorgon_thunks_get(ns->thunks, i);
	}
	return NULL;
}

void *gorgon_replace_of_part(const struct gorgon_ns *ns, const char *name)
{
	const struct known *entry = find_known(name);

	for (; entry && entry < known + known_count && !strcmp(entry->name, name); entry++)
		if (entry->index >= COUNT)
			return address_of_part(ns, entry->index);
	return NULL;
}

void *gorgon_replace_defined(const struct gorgon_ns *ns, const struct gorgon_object *definer,
			     const char *name)
{
	if (!has_registrar(ns, definer))
		return NULL;
	for (size_t i = 0; i < COUNT; i++)
		if (replacements[i].when == DEFINED && !strcmp(replacements[i].name, name))
			return gorgon_thunks_get(ns->thunks, i);
	return NULL;
}

const char *gorgon_replace_reason(const char *name)
{
	const struct known *entry = find_known(name);
	size_t part;

	if (!entry)
		return NULL;
	return entry->index < COUNT ? replacements[entry->index].reason
				    : bound_at(entry->index, &part)->reason;
}

static enum gorgon_decision decision_on(const char *name)
{
	for (size_t i = 0; i < sizeof(ordered) / sizeof(*ordered); i++)
		if (!strcmp(ordered[i], name))
			return GORGON_ORDERED;
	return GORGON_OWN;
}

bool gorgon_replace_list(size_t index, struct gorgon_replaced *ret)
{
	const struct gorgon_bound *bound;
	size_t count = COUNT;

	for (size_t p = 0; p < gorgon_part_count; p++)
		count += gorgon_parts[p]->bound_count;
	if (index >= count)
		return false;
	*ret = (struct gorgon_replaced){0};
	if (index < COUNT) {
		ret->name = replacements[index].name;
		ret->reason = replacements[index].reason;
		ret->decision = decision_on(ret->name);
		ret->is_private = replacements[index].when == DEFINED;
		return true;
	}
	bound = bound_at(index, &ret->part);
	ret->name = bound->name;
	ret->reason = bound->reason;
	ret->decision = bound->decision;
	ret->title = gorgon_parts[ret->part++]->title;
	return true;
}
