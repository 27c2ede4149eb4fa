/* SPDX-License-Identifier: MIT */
/*
 * What the tests of groups share: images at addresses where nothing is mapped, at the same distances from the start
 * of each group; and what debuggers are told of them, as text.
 */
#ifndef JITREG_WORLD_H
#define JITREG_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../jitreg/descriptor.h"
#include "../jitreg/group.h"
#include "../jitreg/pack.h"
#include "../jitreg/symfile.h"
#include "../jitreg/writer.h"
#include "jitreg_util.h"

#define BASE(n)    (UINT64_C(0x200000000000) + (uint64_t)(n) * (UINT64_C(1) << 32))
#define IMAGE_SIZE UINT64_C(0x8000)
#define LARGE_SIZE UINT64_C(0x200000)

/* --- what happens ---------------------------------------------------------------------- */

/*
 * As text: "self.so:pack ": an image has moved into a pack. "+self.so " and "-[self.so link.so] ": debuggers are
 * told of the symfile of one image, and of a pack. "+self.so:lines ": of a symfile with lines. "( ) ": of an empty
 * symfile that comes and goes, which makes them look at their breakpoints.
 */
extern char events[4096];

#define assert_events(text)                                                                        \
	do {                                                                                       \
		assert_string_equal(events, text);                                                 \
		events[0] = '\0';                                                                  \
	} while (0)

/* The last part of a path. */
const char *base_name(const char *path);
/* For util_watch(): notes what debuggers hear. */
void on_stop(void);

/* --- images ------------------------------------------------------------------------------ */

/* An image and what its owner was told of it. */
struct image {
	const char *name;
	struct jitreg_entry *entry;
	struct jitreg_info info;
	unsigned moves;
};

/* Register @name at @off from the start of a group. */
int try_enter(struct jitreg_group *group, uint64_t base, uint64_t off, uint64_t size,
	      const char *name, uint32_t flags, struct image *ret);
/* try_enter(), which must succeed. */
void enter_at(struct jitreg_group *group, uint64_t base, uint64_t off, const char *name,
	      uint32_t flags, struct image *ret);

/* The first: no image is described together with another. The second: all are described together. */
void assert_apart(const struct image *images, size_t count);
void assert_together(const struct image *images, size_t count);

/* A group of three: two libraries side by side, and a third away from them. */
#define SIDE_BY_SIDE 3
struct place {
	const char *name;
	uint64_t off;
};
extern const struct place layout[SIDE_BY_SIDE];

struct world {
	struct jitreg_group *group;
	struct image images[SIDE_BY_SIDE];
};

/* Register the images, each with a pack of its own. */
void world_enter(struct world *w, unsigned number);
void world_leave(struct world *w);
void world_join(struct world *w);
/* Register the images, and pack them into one symfile. */
void world_pack(struct world *w, unsigned number);

void assert_nothing_left(void);

/* --- files ------------------------------------------------------------------------------- */

const Elf64_Shdr *section(const struct jitreg_info *info, const char *name);
/* Name of the companion that a symfile refers to, or NULL. */
const char *companion_of(const struct jitreg_info *info);
/* Value of a name in a finished file: section's address, if relative, and value. */
bool find_name(const uint8_t *bytes, bool relative, const char *name, unsigned *binding,
	       uint64_t *address);
/* Link-time address of a function in a fixture. */
uint64_t vaddr_of(const char *library, const char *name);
/* Link-time addresses of a fixture's .text. No fixture has code elsewhere. */
struct jitreg_range text_of(const char *library);

/* How many companions a packed group has: one for each image alone, and one for all together. */
#define WORLD_COMPANIONS (SIDE_BY_SIDE + 1)
size_t count_companions(const char *folder);
/* Give the case a cache of its own. Returns the folder for companions, which does not exist yet. */
const char *use_cache(const char *name);
void check_pack_with_companion(const char *folder);

#endif
