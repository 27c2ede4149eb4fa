/* SPDX-License-Identifier: MIT */
/* What the loader keeps per thread. See thread.c. */
#ifndef GORGON_NS_THREAD_H
#define GORGON_NS_THREAD_H

#include "debug_root.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gorgon_ns;
struct gorgon_thread_dtor;

/* One thread's block of one TLS module. */
struct gorgon_tls_slot {
	uint64_t module; /* 0: free; otherwise must equal the module asked for */
	void *block;
};

/* How many times a thread has begun to hold a lock under which it is not interrupted; see
 * ../process/threads/shield.c. */
struct gorgon_shields {
	unsigned all;   /* atomic */
	unsigned whole; /* of them those in which not even a blocking call is interrupted; atomic */
	bool sigint;    /* a SIGINT came meanwhile; atomic */
	bool interrupt; /* an interrupt of the main thread came meanwhile; atomic */
};

/* How many bytes a thread may have counted for a namespace without telling it. */
#define GORGON_UNTOLD_MAX 65536

/* The namespace for which a thread counts blocks of extensions, or NULL, and bytes that the
 * namespace has not been told yet, plus GORGON_UNTOLD_MAX. Both are atomic, and only the thread
 * changes them, until it is taken out of the list or the namespace ends; see
 * ../process/memory/blocks.c. */
struct gorgon_untold {
	struct gorgon_usage *usage;
	uint64_t bytes;
};

/* Begins as struct gorgon_debug_thread, which debuggers read. */
struct gorgon_thread {
	struct gorgon_thread *next, *prev;
	struct gorgon_tls_slot *slots; /* by index of the module */
	size_t slot_count;
	uint64_t tid;
	const void *tp; /* thread pointer */
	struct gorgon_ns *ns; /* whose code started this thread, or NULL */
	/* what pthread_self() returns on it: the thread pointer on x86-64, on aarch64 an address
	 * before it */
	pthread_t pthread;
	uint64_t serial; /* see gorgon_thread_serial() */
	struct gorgon_thread_dtor *dtors; /* newest first */
	char *dl_error;	      /* pending message for dlerror(), or NULL */
	char *dl_error_shown; /* the last one returned; lives until the next dlerror() */
	void **values; /* of keys; see tsd.c */
	size_t value_count;
	/* whose Python is to raise an exception on this thread, or NULL; atomic. Set under the
	 * list's lock; see ../process/interruption.c */
	struct gorgon_ns *interrupt;
	struct gorgon_untold untold;
	unsigned exit_round;
	void *altstack; /* its alternate signal stack, if we have made it; see altstack.c */
	size_t altstack_size;
	bool has_altstack; /* it has been provided with one, or has its own */
	bool dropped;      /* it ends without running private code; see ../process/waiting.c */
	const void *start;  /* what a thread runs that private code has started, or NULL */
	void *stack_bottom; /* of a thread that private code has started, or NULL: unknown */
	unsigned
		/* how often it has the lock of a stream (FILE) that it has asked for; see
		 * ../process/libc/streams.c */
		streams;
	struct gorgon_shields shields;
	/* of a thread that private code has started: the jmp_buf by which it can leave; see
	 * ../process/threads/pthread_create.c */
	void *start_env;
};

#define GORGON_SAME_OFFSET(member)                                                                 \
	_Static_assert(offsetof(struct gorgon_thread, member) ==                                   \
			       offsetof(struct gorgon_debug_thread, member),                       \
		       "struct gorgon_debug_thread")
GORGON_SAME_OFFSET(next);
GORGON_SAME_OFFSET(slots);
GORGON_SAME_OFFSET(slot_count);
GORGON_SAME_OFFSET(tid);
GORGON_SAME_OFFSET(tp);
GORGON_SAME_OFFSET(ns);
#undef GORGON_SAME_OFFSET
_Static_assert(offsetof(struct gorgon_tls_slot, block) == offsetof(struct gorgon_debug_slot, block),
	       "struct gorgon_debug_slot");

/* The calling thread's record if it exists; use gorgon_thread_peek(). */
extern __thread struct gorgon_thread *gorgon_thread_current
	__attribute__((tls_model("initial-exec")));

/* It points to a member of the thread's record, or, in a thread without a record, to one that
 * stands for no namespace. */
extern __thread struct gorgon_untold *gorgon_untold_current
	__attribute__((tls_model("initial-exec")));

/* The calling thread's record, made on first use. NULL: no memory. */
struct gorgon_thread *gorgon_thread_get(void);
/* The calling thread's record if it exists. */
struct gorgon_thread *gorgon_thread_peek(void);
/* Whose code has started a thread, or NULL: the thread itself says so when it begins. */
static inline struct gorgon_ns *gorgon_thread_ns(const struct gorgon_thread *thread)
{
	return __atomic_load_n(&thread->ns, __ATOMIC_RELAXED);
}
static inline struct gorgon_usage *gorgon_thread_counts_for(const struct gorgon_thread *thread)
{
	return __atomic_load_n(&thread->untold.usage, __ATOMIC_RELAXED);
}
static inline uint64_t gorgon_untold_bytes(const struct gorgon_untold *untold)
{
	return __atomic_load_n(&untold->bytes, __ATOMIC_RELAXED) - GORGON_UNTOLD_MAX;
}
/* A number for the calling thread. Unlike a pthread_t or a kernel id, no later thread gets it
 * again. 0: no memory. */
uint64_t gorgon_thread_serial(void);

/* The list's own lock, for callers that must not wait for a load. Under it only the locks of
 * signals and of the debug root are taken. */
void gorgon_threads_lock(void);
bool gorgon_threads_trylock(void);
void gorgon_threads_unlock(void);
/* Walk all records, the newest first: returns the record after @thread, the first if @thread is
 * NULL, and NULL at the end. The loader's lock is held, or the list's. */
struct gorgon_thread *gorgon_thread_next(const struct gorgon_thread *thread);
/* Processor time of the threads that private code of @ns has started, those that have ended too.
 * Takes the list's lock. */
uint64_t gorgon_threads_cpu_ns(const struct gorgon_ns *ns);
/* Bytes in blocks of extensions, with what threads have counted and not told yet. Takes the list's
 * lock. */
uint64_t gorgon_threads_extension_bytes(const struct gorgon_usage *usage);
/* Take a record out of the list. The loader's lock is held. */
void gorgon_thread_unlink(struct gorgon_thread *thread);

/* A function that is called when a thread ends, on that thread. It is called several times, because
 * destructors of pthread keys may use the record again, and a last time with @last, when the record
 * is in no list any more and is to be freed. */
typedef void gorgon_thread_exit(struct gorgon_thread *thread, bool last);
/* Set this function, before the first record is made. */
void gorgon_thread_at_exit(gorgon_thread_exit *fn);

#endif
