/* SPDX-License-Identifier: MIT */
/* Static TLS blocks for private objects. See static_tls.c. */
#ifndef GORGON_NS_STATIC_TLS_H
#define GORGON_NS_STATIC_TLS_H

#include "object.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Give @object, which has PT_TLS and is relocated except for references to static TLS,
 * a block at one distance from the thread pointer in every thread there is and will be;
 * sets object->static_tls. UNSUPPORTED: no room, or threads use its variables already.
 * The lock is held.
 */
struct gorgon_error *gorgon_static_tls_create(struct gorgon_object *object);

/* Give back the block of @object. An object without a block is ignored. The lock is held. */
void gorgon_static_tls_destroy(struct gorgon_object *object);

/* Distance from the thread pointer; negative on machines where blocks lie below it. */
int64_t gorgon_static_tls_offset(const struct gorgon_static_tls *tls);

/* Whether a block lies in the static TLS of the thread whose thread pointer is @tp. */
bool gorgon_static_tls_contains(const void *tp, const void *block);

#endif
