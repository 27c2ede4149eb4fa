// SPDX-License-Identifier: MIT
// The one table of names that private code gets from us instead of from the system,
// each with its reason. Where a function has to know the caller's namespace it is
// reached through a thunk (thunk.c), which adds the namespace behind its arguments.

#define _GNU_SOURCE
#include "replace.h"
#include "signals.h"
#include "dl.h"
#include "error.h"
#include "keys.h"
#include "locales.h"
#include "memory.h"
#include "thread.h"
#include "tls.h"
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN UINT32_MAX // bound directly, without a namespace

static const struct {
	const char *name;
	void *target;
	unsigned args; // of the function itself, or PLAIN
	const char *reason;
} replacements[] = {
	{"dlopen", gorgon_dl_open, 2,
	 "CPython and its extensions load into their own namespace"},
	{"dlsym", gorgon_dl_sym, 2, "the system does not know private objects' symbols"},
	{"dlvsym", gorgon_dl_vsym, 3, "as dlsym"},
	{"dlclose", gorgon_dl_close, 1, "handles of private objects are ours"},
	{"dlerror", gorgon_dl_error, 0, "tells of our failures, not of the system's"},
	{"dladdr", gorgon_dl_addr, 2, "the system does not know private addresses"},
	{"dladdr1", gorgon_dl_addr1, 4, "as dladdr"},
	{"dlinfo", gorgon_dl_info, 3, "handles of private objects are ours"},
	{"dl_iterate_phdr", gorgon_dl_iterate_phdr, 2,
	 "private objects come after the system's; unwinders and profilers ask"},
	{"_dl_find_object", gorgon_unwind_find_object, PLAIN,
	 "unwinders that were linked into a module ask it for private frames"},
	{"__tls_get_addr", gorgon_tls_get_addr, PLAIN, "blocks of private TLS modules"},
	{"__cxa_thread_atexit_impl", gorgon_thread_atexit, PLAIN,
	 "the C library would call a thread_local's destructor after the unload"},
	{"__cxa_thread_atexit", gorgon_thread_atexit, PLAIN,
	 "libstdc++'s name of it, which would call the C library's directly"},
	{"pthread_create", gorgon_thread_create, 4,
	 "a namespace is not unmapped under threads that its code has started"},
	{"pthread_key_create", gorgon_key_create, 2,
	 "there are 1024 in a process; one that outlives the unload calls into unmapped memory"},
	{"pthread_key_delete", gorgon_key_delete, PLAIN, "as pthread_key_create"},
	{"pthread_getspecific", gorgon_key_get, PLAIN, "as pthread_key_create"},
	{"pthread_setspecific", gorgon_key_set, PLAIN, "as pthread_key_create"},
	{"__pthread_key_create", gorgon_key_create, 2, "older name of pthread_key_create"},
	{"__pthread_getspecific", gorgon_key_get, PLAIN, "older name of pthread_getspecific"},
	{"__pthread_setspecific", gorgon_key_set, PLAIN, "older name of pthread_setspecific"},
	{"tss_create", gorgon_tss_create, 2, "as pthread_key_create"},
	{"tss_delete", gorgon_tss_delete, PLAIN, "as pthread_key_create"},
	{"tss_get", gorgon_key_get, PLAIN, "as pthread_key_create"},
	{"tss_set", gorgon_tss_set, PLAIN, "as pthread_key_create"},
	{"sigaction", gorgon_signal_action, 3,
	 "each copy has its own handlers; the process has one"},
	{"signal", gorgon_signal_set, 2, "as sigaction"},
	{"setlocale", gorgon_setlocale, 2,
	 "copies that start at once would decode in each other's locale"},
	{"getenv", gorgon_process_getenv, 1,
	 "CPython's start-up sets variables while others read; sizes of thread pools"},
	{"secure_getenv", gorgon_secure_getenv, PLAIN, "as setenv"},
	{"setenv", gorgon_setenv, PLAIN, "does not move the environment under a getenv"},
	{"unsetenv", gorgon_unsetenv, PLAIN, "as setenv"},
	{"putenv", gorgon_putenv, PLAIN, "as setenv"},
	{"kill", gorgon_process_kill, 2,
	 "CPython ends after an unhandled Ctrl-C by sending itself SIGINT: not the host"},
	{"mmap", gorgon_memory_map, PLAIN, "memory goes with the namespace that has mapped it"},
	{"mmap64", gorgon_memory_map, PLAIN, "as mmap"},
	{"munmap", gorgon_memory_unmap, 2, "as mmap"},
	{"mremap", gorgon_memory_remap, PLAIN, "as mmap"},
	{"exit", gorgon_process_exit, 1, "ends the interpreter, never the host"},
	{"write", gorgon_process_write, 3, "output of the interpreter goes where the host says"},
};

#define COUNT (sizeof(replacements) / sizeof(*replacements))

// write() is in the way of every byte: replaced only when the host wants its output.
static bool applies(const struct gorgon_ns *ns, size_t i)
{
	if (replacements[i].target == (void *)gorgon_process_write)
		return ns->opts.write_output != NULL;
	return true;
}

struct gorgon_error *gorgon_replace_init(struct gorgon_ns *ns, const struct gorgon_thunk *more,
					 size_t count)
{
	struct gorgon_thunk *list = calloc(COUNT + count, sizeof(*list));
	struct gorgon_error *err;

	if (!list)
		return &gorgon_error_nomem;
	for (size_t i = 0; i < COUNT; i++) {
		bool plain = replacements[i].args == PLAIN;

		list[i] = (struct gorgon_thunk){replacements[i].target,
						plain ? 0 : replacements[i].args, ns};
	}
	if (count)
		memcpy(list + COUNT, more, count * sizeof(*list));
	err = gorgon_thunks_create(list, COUNT + count, &ns->thunks);
	free(list);
	return err;
}

void *gorgon_replace_thunk(const struct gorgon_ns *ns, size_t index)
{
	return gorgon_thunks_get(ns->thunks, COUNT + index);
}

void *gorgon_replace_find(const struct gorgon_ns *ns, const char *name)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(replacements[i].name, name) || !applies(ns, i))
			continue;
		return replacements[i].args == PLAIN ? replacements[i].target
						     : gorgon_thunks_get(ns->thunks, i);
	}
	return NULL;
}
