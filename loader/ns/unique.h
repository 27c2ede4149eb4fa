/* SPDX-License-Identifier: MIT */
/* GNU_UNIQUE: one definition of a name in a namespace. See unique.c. */
#ifndef GORGON_NS_UNIQUE_H
#define GORGON_NS_UNIQUE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gorgon_object;

struct gorgon_unique {
	const char *name; /* in the defining object's string table */
	struct gorgon_object *object;
	const Elf64_Sym *sym;
	uint32_t hash;
	uint32_t next; /* item with the same bucket, plus 1; 0: none */
};

struct gorgon_uniques {
	struct gorgon_unique *items;
	uint32_t *buckets; /* first item, plus 1; 0: none. As many as there is room for items */
	uint32_t count, capacity;
};

/* The first definition of @name, which is @object's @sym when there was none. @hash is the
 * name's GNU hash. NULL: no memory. */
const struct gorgon_unique *gorgon_unique_bind(struct gorgon_uniques *uniques, const char *name,
					       uint32_t hash, struct gorgon_object *object,
					       const Elf64_Sym *sym);

/* Forget the definitions of @object. */
void gorgon_unique_forget(struct gorgon_uniques *uniques, const struct gorgon_object *object);

void gorgon_unique_deinit(struct gorgon_uniques *uniques);

#endif
