/* SPDX-License-Identifier: MIT */
/* Thread-specific data of private code (POSIX, pthread_key_create and its family; C11, tss_*).
 * See tsd.c. */
#ifndef GORGON_PROCESS_TSD_H
#define GORGON_PROCESS_TSD_H

#include <stdbool.h>
#include <stdint.h>

/* The first number of our keys: far above PTHREAD_KEYS_MAX, positive as an int. */
#define GORGON_TSD_FIRST (1u << 24)

struct gorgon_ns;
struct gorgon_thread;

/* Delete the remaining keys of @ns. No destructor of them runs any more. The lock is held. */
void gorgon_tsd_drop(const struct gorgon_ns *ns);

/* At the end of the calling thread: run the destructors of its values, and of values that these
 * destructors set. */
void gorgon_tsd_at_thread_exit(struct gorgon_thread *thread);

/* A key of @ns, or one of the C library's, that has this value on the calling thread. */
bool gorgon_tsd_find(const struct gorgon_ns *ns, const void *value, unsigned *ret);

/* Call @fn with each key of @ns, in the order of their numbers, the value that @thread has, and an
 * address in the code that has made the key. The lock is held. */
void gorgon_tsd_each(const struct gorgon_ns *ns, const struct gorgon_thread *thread,
		     void (*fn)(void *ctx, unsigned number, void (*destructor)(void *),
				void *value, uint64_t creator),
		     void *ctx);

/* The number of keys in use, for tests. */
unsigned gorgon_tsd_count(void);

/* --- replacements (see replacements.c) ------------------------------------------ */

int gorgon_tsd_create(unsigned *key, void (*destructor)(void *), struct gorgon_ns *ns);
int gorgon_tsd_delete(unsigned key);
void *gorgon_tsd_get(unsigned key);
int gorgon_tsd_set(unsigned key, const void *value);
int gorgon_tss_create(unsigned *key, void (*destructor)(void *), struct gorgon_ns *ns);
void gorgon_tss_delete(unsigned key);
int gorgon_tss_set(unsigned key, void *value);

#endif
