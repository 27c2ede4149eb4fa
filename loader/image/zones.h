/* SPDX-License-Identifier: MIT */
/* Where objects are put, so that all namespaces look alike. See zones.c. */
#ifndef GORGON_IMAGE_ZONES_H
#define GORGON_IMAGE_ZONES_H

#include <stdint.h>

/* 2^32 bytes for the libraries of one namespace, at most 2^13 namespaces at once: fewer where a
 * program has fewer than 2^47 addresses. */
#define GORGON_ZONE_SIZE (UINT64_C(1) << 32)
#ifdef __SANITIZE_THREAD__
#define GORGON_ZONE_COUNT 64
#else
#define GORGON_ZONE_COUNT 8192
#endif

struct gorgon_image;
struct gorgon_ns;

/* The address for the first page of @image in @ns, or 0: anywhere. The lock is held. */
uint64_t gorgon_zone_find(struct gorgon_ns *ns, struct gorgon_image *image);

/* Give @ns its zone, before it has an image there; its zone is 0 where there is none. The lock is
 * held. */
void gorgon_zone_take(struct gorgon_ns *ns);

/* Make the room of an image, or of a namespace, free for others. One without room is ignored. The
 * lock is held. */
void gorgon_zone_drop_image(struct gorgon_image *image);
void gorgon_zone_drop_ns(struct gorgon_ns *ns);

#endif
