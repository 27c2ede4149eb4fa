// SPDX-License-Identifier: MIT The tables of functions that private code gets from us instead of
// from the system because of how it is loaded, each name with its reason. Functions for what
// belongs to the process are in the tables of ../process. interpose.c binds the names of all
// tables. A function here gets the namespace as its last argument, or what one of the namespace's
// members points to.

#define _GNU_SOURCE
#include "dl.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/tls.h"
#include "ns/unwind.h"
#include "process/kernel/fork.h"
#include "process/kernel/signals.h"
#include "process/libc/locales.h"
#include "process/libc/output.h"
#include "process/lmdb.h"
#include "process/memory/jit_mirror.h"
#include "process/part.h"
#include "process/process.h"
#include "process/threads/altstack.h"
#include "process/threads/pthread_create.h"
#include "process/threads/thread_dtors.h"
#include "process/threads/tsd.h"

#define OF(member) (offsetof(struct gorgon_ns, member) | GORGON_BOUND_POINTER)

static const struct gorgon_bound always[] = {
	{"dlopen", gorgon_dl_open, 2, 0, GORGON_OWN,
	 "CPython and its extensions load into their own namespace"},
	{"dlmopen", gorgon_dlm_open, 3, 0, GORGON_OWN,
	 "the system's linker would load for the process, and its handles are not ours"},
	{"dlsym", gorgon_dl_sym, 2, 0, GORGON_OWN,
	 "the system does not know private objects' symbols"},
	{"dlvsym", gorgon_dl_vsym, 3, 0, GORGON_OWN, "as dlsym"},
	{"dlclose", gorgon_dl_close, 1, 0, GORGON_OWN, "handles of private objects are ours"},
	{"dlerror", gorgon_dl_error, 0, 0, GORGON_OWN,
	 "tells of our failures, not of the system's"},
	{"dladdr", gorgon_dl_addr, 2, 0, GORGON_OWN, "the system does not know private addresses"},
	{"dladdr1", gorgon_dl_addr1, 4, 0, GORGON_OWN, "as dladdr"},
	{"dlinfo", gorgon_dl_info, 3, 0, GORGON_OWN, "handles of private objects are ours"},
	{"dl_iterate_phdr", gorgon_dl_iterate_phdr, 2, 0, GORGON_OWN,
	 "private objects come after the system's; unwinders and profilers ask"},
	{"_dl_find_object", gorgon_unwind_find_object, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "unwinders that were linked into a module ask it for private frames"},
	{"__tls_get_addr", gorgon_tls_get_addr, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "blocks of private TLS modules"},
	{"__cxa_thread_atexit_impl", gorgon_thread_atexit, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "the C library would call a thread_local's destructor after the unload"},
	{"__cxa_thread_atexit", gorgon_thread_atexit, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "as __cxa_thread_atexit_impl; libstdc++'s own would call the C library directly"},
	{"pthread_create", gorgon_thread_create, 4, 0, GORGON_OWN,
	 "a namespace is not unmapped under threads that its code has started"},
	{"__register_atfork", gorgon_register_atfork, 4, 0, GORGON_OWN,
	 "as fork; pthread_atfork calls it"},
	{"pthread_atfork", gorgon_pthread_atfork, 3, 0, GORGON_OWN,
	 "as __register_atfork; old binaries take it from the C library"},
	{"pthread_key_create", gorgon_tsd_create, 2, 0, GORGON_OWN,
	 "a process has 1024 keys; the destructor of a key that outlives the unload is not mapped "
	 "any more"},
	{"pthread_key_delete", gorgon_tsd_delete, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "as pthread_key_create"},
	{"pthread_getspecific", gorgon_tsd_get, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "as pthread_key_create"},
	{"pthread_setspecific", gorgon_tsd_set, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "as pthread_key_create"},
	{"__pthread_key_create", gorgon_tsd_create, 2, 0, GORGON_OWN,
	 "older name of pthread_key_create"},
	{"__pthread_getspecific", gorgon_tsd_get, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "older name of pthread_getspecific"},
	{"__pthread_setspecific", gorgon_tsd_set, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "older name of pthread_setspecific"},
	{"tss_create", gorgon_tss_create, 2, 0, GORGON_OWN, "as pthread_key_create"},
	{"tss_delete", gorgon_tss_delete, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "as pthread_key_create"},
	{"tss_get", gorgon_tsd_get, GORGON_BOUND_PLAIN, 0, GORGON_OWN, "as pthread_key_create"},
	{"tss_set", gorgon_tss_set, GORGON_BOUND_PLAIN, 0, GORGON_OWN, "as pthread_key_create"},
	{"sigaction", gorgon_signal_action, 3, OF(signals), GORGON_OWN,
	 "each copy has its own handlers; the process has one"},
	{"signal", gorgon_signal_set, 2, OF(signals), GORGON_OWN, "as sigaction"},
	{"sigaltstack", gorgon_altstack_set, GORGON_BOUND_PLAIN, 0, GORGON_OWN,
	 "a thread's stack outlives the copy that has asked for it"},
	{"setlocale", gorgon_setlocale, 2, OF(locale), GORGON_OWN,
	 "copies that start at once would decode in each other's locale"},
	{"newlocale", gorgon_newlocale, 3, OF(locale), GORGON_OWN,
	 "\"\" means what the program's own environment says"},
	{"__newlocale", gorgon_newlocale, 3, OF(locale), GORGON_OWN, "as newlocale"},
	{"getenv", gorgon_process_getenv, 1, 0, GORGON_OWN,
	 "the program's own environment; sizes of thread pools"},
	{"secure_getenv", gorgon_process_secure_getenv, 1, 0, GORGON_OWN, "as getenv"},
	{"kill", gorgon_process_kill, 2, 0, GORGON_OWN,
	 "after an unhandled Ctrl-C CPython ends by sending its process SIGINT, which must not end "
	 "the host; a fault is raised on "
	 "the calling thread; what the program handles, ignores or waits for no other program "
	 "gets"},
	{"exit", gorgon_process_exit, 1, 0, GORGON_OWN, "ends the interpreter, never the host"},
};

// For namespaces whose host takes the output, and only for them: this function makes each write
// slower.
static const struct gorgon_bound with_output[] = {
	{"write", gorgon_output_write, 3, 0, GORGON_OWN,
	 "output of the interpreter goes where the host says"},
};

static const struct gorgon_bound registrar[] = {
	{"pthread_mutex_unlock", gorgon_jit_mirror_mutex_unlock, 1, 0, GORGON_ORDERED,
	 "what a compiler has registered with debuggers is handed on before it can run"},
};

static const struct gorgon_bound defined[] = {
	{"__jit_debug_register_code", gorgon_jit_mirror_register_code, 0, 0, GORGON_OWN,
	 "as pthread_mutex_unlock"},
};

static const struct gorgon_bound lmdb[] = {
	{"getpid", gorgon_lmdb_getpid, 0, 0, GORGON_OWN,
	 "LMDB would take the readers of other copies for its own"},
};

#define PART(names, condition)                          \
	{.bound = names,                                \
	 .bound_count = sizeof(names) / sizeof(*names), \
	 .when = condition,                             \
	 .loader_only = true}

// Where a name is in two tables, the first entry that applies counts.
const struct gorgon_part gorgon_loader_parts[GORGON_LOADER_PARTS] = {
	PART(always, GORGON_WHEN_ALWAYS),
	PART(with_output, GORGON_WHEN_WITH_OUTPUT),
	PART(registrar, GORGON_WHEN_REGISTRAR),
	PART(defined, GORGON_WHEN_DEFINED),
	PART(lmdb, GORGON_WHEN_LMDB),
};
