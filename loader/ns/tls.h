/* SPDX-License-Identifier: MIT */
/* Thread-local storage of private objects. See tls.c. */
#ifndef GORGON_NS_TLS_H
#define GORGON_NS_TLS_H

#include "object.h"

struct gorgon_thread;

/* What a general-dynamic access passes: two words of the object's GOT. */
struct gorgon_tls_index {
	uint64_t module;
	uint64_t offset;
};

/* The word of a private module. */
#define GORGON_TLS_PRIVATE_BIT (UINT64_C(1) << 63)
#define GORGON_TLS_INDEX_BITS  24
#define GORGON_TLS_INDEX_MASK  ((UINT64_C(1) << GORGON_TLS_INDEX_BITS) - 1)

/* Give @object a TLS module if it has PT_TLS. The lock is held. */
struct gorgon_error *gorgon_tls_module_create(struct gorgon_object *object);
/* Take back the module of @object and free every thread's block. The lock is held. */
void gorgon_tls_module_destroy(struct gorgon_object *object);

/* Free the blocks of a thread that has ended. */
void gorgon_tls_free_blocks(const struct gorgon_thread *thread);

/* Before the first TLS descriptor is used: ask the processor what tlsdesc.S has to save. */
void gorgon_tlsdesc_init(void);
/* What TLS descriptors of private code call; not a C function. See tlsdesc.S. */
extern const char gorgon_tlsdesc[], gorgon_tlsdesc_undefined[];

/* __tls_get_addr for private code; also forwards indices of the system's modules. */
void *gorgon_tls_get_addr(const struct gorgon_tls_index *index);
/* The same where the calling thread has no block of this private module yet. There is no way to
 * report a failure to the code that touches a variable; the system's linker aborts here, and so
 * does this. */
void *gorgon_tls_first_access(const struct gorgon_tls_index *index);

#endif
