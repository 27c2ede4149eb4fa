/* SPDX-License-Identifier: MIT */
/* What the loader keeps per thread. See thread.c. */
#ifndef GORGON_ELF_THREAD_H
#define GORGON_ELF_THREAD_H

#include "debug_root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct gorgon_ns;
struct gorgon_object;

/* One thread's block of one TLS module. */
struct gorgon_tls_slot {
	uint64_t module; /* 0: free; otherwise must equal the module asked for */
	void *block;
};

/* A destructor of a thread_local variable in a private object. */
struct gorgon_thread_dtor {
	struct gorgon_thread_dtor *next;
	void (*fn)(void *);
	void *arg;
	uint64_t dso; /* an address in the object that registered it */
};

/* Begins as struct gorgon_debug_thread, which debuggers read. */
struct gorgon_thread {
	struct gorgon_thread *next, *prev;
	struct gorgon_tls_slot *slots; /* by index of the module */
	size_t slot_count;
	uint64_t tid;
	const void *tp; /* thread pointer */
	uint64_t serial; /* see gorgon_thread_serial() */
	struct gorgon_thread_dtor *dtors; /* newest first */
	char *dl_error;	      /* pending message for dlerror(), or NULL */
	char *dl_error_shown; /* the last one returned; lives until the next dlerror() */
	struct gorgon_ns *ns; /* whose code started this thread, or NULL */
	void **values; /* of keys; see keys.c */
	size_t value_count;
	unsigned exit_round;
	void *altstack; /* its alternate signal stack, if we have made it; see altstack.c */
	size_t altstack_size;
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
#undef GORGON_SAME_OFFSET
_Static_assert(offsetof(struct gorgon_tls_slot, block) == offsetof(struct gorgon_debug_slot, block),
	       "struct gorgon_debug_slot");

/* The calling thread's record if it exists; use gorgon_thread_peek(). */
extern __thread struct gorgon_thread *gorgon_thread_current;

/* The calling thread's record, made on first use. NULL: no memory. */
struct gorgon_thread *gorgon_thread_get(void);
/* The calling thread's record if it exists. */
struct gorgon_thread *gorgon_thread_peek(void);
/* Which thread this is: unlike a pthread_t or a kernel id, never another one's later. 0: no memory. */
uint64_t gorgon_thread_serial(void);

/* In a forked child: only the calling thread is left. The lock is held. */
void gorgon_thread_after_fork(void);

/* Before @object is unmapped: run the calling thread's thread_local destructors of it
 * and forget those of other threads. The lock is held, and released around calls. */
void gorgon_thread_drop_dtors(struct gorgon_object *object);
/* Run the calling thread's of all of @ns, the last registered first. The same about the lock. */
void gorgon_thread_run_dtors(struct gorgon_ns *ns);

/* Whether a thread has destructors of @object's thread_local variables to run. The lock is
 * held. */
bool gorgon_thread_has_dtors(const struct gorgon_object *object);

/* Free every thread's block of a module. The lock is held. */
void gorgon_thread_drop_tls(uint64_t module);

/* Whether any thread has a block of a module. The lock is held. */
bool gorgon_thread_has_tls(uint64_t module);

/* Forget every thread's value of a key. The lock is held. */
void gorgon_thread_clear_values(size_t index);

/* --- replacements (see replacements.c) ------------------------------------------ */

int gorgon_thread_atexit(void (*fn)(void *), void *arg, void *dso);
int gorgon_thread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg,
			 struct gorgon_ns *ns);

#endif
