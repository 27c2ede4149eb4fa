// SPDX-License-Identifier: MIT
// Every namespace has the same layout.
//
// A namespace owns a stretch of address space, its zone, and a file that is loaded has
// an offset, the same in every zone. So the distances between objects are the same in
// all namespaces, and one description of a set of libraries serves debuggers for
// all of them (debug_mode.c).
//
//	first zone     next zone
//	|.|libpython|..|numpy|....|libpython|..|numpy|....
//	  ^ zone + offset          ^ zone + offset
//
// Nothing is reserved: that would cost a mapping for each gap. The zones are where the
// kernel does not put anything by itself, far below the stack and the libraries it maps
// from there downwards, and far above a program's own addresses. When something is there
// nonetheless, or no zone is left, the object goes wherever the kernel puts it; debuggers
// then get a description for it alone.
//
// An image keeps its offset as long as it is in the cache of images: as long as some namespace has
// it, and a while after that.

#define _GNU_SOURCE
#include "zones.h"

#include "image.h"
#include "ns/ns.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <unistd.h>

// Debuggers sort sections slowly when one has the address 0.
#define FIRST_OFFSET UINT64_C(0x10000)

static struct gorgon_ns *owners[GORGON_ZONE_COUNT];
static uint64_t zones; // address of the first; 0 before first use
static size_t zone_count;
static struct gorgon_image *placed; // by offset

// The thread sanitizer's runtime, where the host or this library is built with it: it ends a
// process that maps something outside of what it knows as a program's.
extern void __tsan_init(void) __attribute__((weak));

// Between a quarter and five eighths of the addresses of a program; programs that may lie anywhere
// begin behind that. The first thread's stack, which has the bytes of AT_RANDOM, is near the end of
// the addresses: processors and kernels have 2^47, 2^48, 2^39 or another number.
static void find_room(uint64_t *low, uint64_t *high)
{
	const uint64_t end = UINT64_C(1)
			     << (64 - __builtin_clzll(getauxval(AT_RANDOM) | GORGON_ZONE_SIZE));

	*low = __tsan_init ? UINT64_C(0x1000000000) : end / 4;
	*high = __tsan_init ? UINT64_C(0x8000000000) : end / 8 * 5;
}

static uint64_t choose_zones(void)
{
	uint64_t low, high, room, random = 0;

	find_room(&low, &high);
	room = (high - low) / GORGON_ZONE_SIZE;
	zone_count = room / 3 * 2 < GORGON_ZONE_COUNT ? room / 3 * 2 : GORGON_ZONE_COUNT;
	room -= zone_count;

	// Debuggers switch randomness off, so that addresses are the same in the next run.
	// Without it zones are where anybody can guess, and work.
	if (personality(UINT32_MAX) & ADDR_NO_RANDOMIZE ||
	    getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = 0;
	return low + random % (room ?: 1) * GORGON_ZONE_SIZE;
}

static uint64_t find_zone(struct gorgon_ns *ns)
{
	if (!zones)
		zones = choose_zones();
	for (size_t i = 0; !ns->zone && i < zone_count; i++) {
		if (owners[i])
			continue;
		owners[i] = ns;
		ns->zone = zones + i * GORGON_ZONE_SIZE;
	}
	return ns->zone;
}

// A page without access behind each: running over the end of one is a fault, as elsewhere.
static uint64_t place_span(const struct gorgon_image *image)
{
	return image->vaddr_end - image->vaddr_start + (uint64_t)getpagesize();
}

// The lowest room, so that what belongs together lies together.
static void place_image(struct gorgon_image *image)
{
	struct gorgon_image **link = &placed;
	uint64_t offset = FIRST_OFFSET, aligned;

	for (;; link = &(*link)->next_placed) {
		// The load bias is a multiple of the alignment.
		aligned = ((offset - image->vaddr_start + image->align - 1) & -image->align) +
			  image->vaddr_start;
		if (!*link || aligned + place_span(image) <= (*link)->place)
			break;
		offset = (*link)->place + place_span(*link);
	}
	if (aligned + place_span(image) > GORGON_ZONE_SIZE || image->align > GORGON_ZONE_SIZE)
		return;
	image->place = aligned;
	image->next_placed = *link;
	*link = image;
}

void gorgon_zone_take(struct gorgon_ns *ns)
{
	find_zone(ns);
}

uint64_t gorgon_zone_find(struct gorgon_ns *ns, struct gorgon_image *image)
{
	if (!image->place)
		place_image(image);
	return image->place && find_zone(ns) ? ns->zone + image->place : 0;
}

void gorgon_zone_drop_image(struct gorgon_image *image)
{
	struct gorgon_image **link = &placed;

	if (!image->place)
		return;
	while (*link != image)
		link = &(*link)->next_placed;
	*link = image->next_placed;
	image->place = 0;
}

void gorgon_zone_drop_ns(struct gorgon_ns *ns)
{
	if (ns->zone)
		owners[(ns->zone - zones) / GORGON_ZONE_SIZE] = NULL;
	ns->zone = 0;
}
