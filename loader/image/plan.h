/* SPDX-License-Identifier: MIT */
/* How the symbols that a file refers to were bound in one scope: data that ../load/plan.c makes and
 * reads. It belongs to the file's image and goes with it. */
#ifndef GORGON_IMAGE_PLAN_H
#define GORGON_IMAGE_PLAN_H

#include <stdint.h>

enum gorgon_plan_kind {
	GORGON_PLAN_PRIVATE,  /* symbol @definition of object @ordinal of the scope */
	/* the same, unless the namespace has a first definition of the name already */
	GORGON_PLAN_UNIQUE,
	GORGON_PLAN_REPLACED, /* our @name; see ../process/interpose.c */
	GORGON_PLAN_SYSTEM,   /* at @addr, whatever the system loads */
	/* at @addr, or weak and not defined if that is 0, until another library has the name */
	GORGON_PLAN_OPEN,
	GORGON_PLAN_SEARCH,   /* to be looked for each time */
};

struct gorgon_plan_item {
	uint32_t symbol; /* of the file */
	uint32_t kind;
	union {
		uint64_t addr;
		const struct gorgon_our_name *name;
		struct {
			uint32_t ordinal, definition;
		};
	};
};

struct gorgon_plan {
	struct gorgon_plan *next; /* newest first */
	uint32_t key_count, item_count;
	uint64_t
		added; /* gorgon_global_libraries_count() when the open items were looked at last */
	uint64_t *key; /* all that decides how symbols are bound */
	struct gorgon_plan_item *items;
	uint64_t data[]; /* of both */
};

#endif
