/* SPDX-License-Identifier: MIT */
/* What words of an interpreter may mean, and where another interpreter has the same. See
 * template/spots.c. */
#ifndef GORGON_PYTHON_TEMPLATE_SPOTS_H
#define GORGON_PYTHON_TEMPLATE_SPOTS_H

#include "python/calls/interp.h"
#include "ns/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses, or numbers. */
struct gorgon_spot {
	uint64_t start, size;
};

/* The first one is the zone. Lists of interpreters with the same objects have the same order. */
struct gorgon_spots {
	struct gorgon_spot *list;
	size_t count;
};

/* How a word holds a value. */
enum gorgon_form {
	GORGON_FORM_PLAIN,
	GORGON_FORM_HASH, /* as _Py_HashPointer() makes it */
	GORGON_FORM_LONG, /* two digits of an int */
	GORGON_FORM_LOW,
	GORGON_FORM_HIGH, /* a half of it */
	GORGON_FORMS,
};

/* The places of @interp, whose main thread is @thread, with the objects that have these images, in
 * this order. The lock is held. False: no memory, or it has not loaded them. */
bool gorgon_spots_list(const struct gorgon_interp *interp, const struct gorgon_thread *thread,
			struct gorgon_image *const *images, size_t image_count,
			struct gorgon_spots *ret);
/* A key of thread-specific data: all of them in one order. */
bool gorgon_spots_add_key(struct gorgon_spots *places, unsigned number);
void gorgon_spots_free(struct gorgon_spots *places);

/* The place that a word means in this form, or -1. */
int gorgon_spots_find(const struct gorgon_spots *places, enum gorgon_form form, uint64_t word);
/* The word of another interpreter that means the same. */
uint64_t gorgon_spots_word(enum gorgon_form form, uint64_t word, const struct gorgon_spot *from,
			    const struct gorgon_spot *to);
/* Where the other one has what is at an address; the address itself if that is at no place. */
void *gorgon_spots_move(const struct gorgon_spots *from, const struct gorgon_spots *to,
			 const void *addr);

/* The object of @ns with an image, or NULL. */
struct gorgon_object *gorgon_spots_object(const struct gorgon_ns *ns,
					   const struct gorgon_image *image);
/* A thread's block of an object's thread-local storage, or NULL. */
void *gorgon_spots_tls(const struct gorgon_thread *thread, const struct gorgon_object *object);

#endif
