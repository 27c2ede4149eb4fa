/* SPDX-License-Identifier: MIT */
/* Segments in memory. See map.c. */
#ifndef GORGON_LOAD_MAP_H
#define GORGON_LOAD_MAP_H

#include "ns/object.h"

struct gorgon_error *gorgon_map(struct gorgon_object *object);
/* PT_GNU_RELRO becomes read-only. */
struct gorgon_error *gorgon_map_protect(struct gorgon_object *object);
/* Give up RELRO, and the protection that keeps constants apart from text, to save mappings. */
void gorgon_map_relax(struct gorgon_object *object);
void gorgon_unmap(struct gorgon_object *object);

#endif
