// SPDX-License-Identifier: MIT
// Making private code known to the unwinder, so that C++ exceptions, pthread_cancel and
// backtrace() pass through its frames.
//
// The unwinder of the process is the shared libgcc_s. It asks _dl_find_object (glibc
// 2.35) for the .eh_frame_hdr of an address. We define that function too: for addresses
// in private objects it answers from the table below, for all others it passes on. The
// dynamic linker binds libgcc_s to our function when the program was started with this library, or
// contains it. Nothing is registered per
// object, the search tables in the files are used as they are, and a throw of the
// host costs one binary search more.
//
// When ours is not reached (this library was itself loaded with dlopen()), objects are
// registered with __register_frame. That puts a lock and a linear search into every
// throw of the process, needs the terminating zero length in .eh_frame, and has the unwinder
// read all of it whatever is thrown: an object whose frames are not sound (eh_frame.c) is not
// registered.
//
// The table has two levels: entries are sorted by address and cut into chunks of at most
// CHUNK, and an array of parts says where each chunk starts. A change makes a new chunk
// and a new array, some kilobytes whatever the number of objects. (One sorted array, copied
// for each of 18,000 objects, cost a quarter of their loading.)
//
// Readers come from any thread, in the middle of a throw or in a signal handler, and
// take no lock: they announce themselves in one of two counters, chosen by the parity of
// `epoch`. A writer, who holds the loader's lock, publishes a new table, moves the epoch
// on and waits until the counter of the old parity is zero before it frees what the new
// table has no more.
//
// Specification: LSB, "Exception Frames"; glibc manual, "Dynamic Linker Introspection".

#define _GNU_SOURCE
#include "image/eh_frame.h"
#include "base/error.h"
#include "object.h"
#include "unwind.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);
extern const void *_Unwind_Find_FDE(void *pc, void *bases);

typedef int find_object_fn(void *addr, struct dl_find_object *ret);

#define CHUNK 128

struct range {
	uint64_t start, end;
	uint64_t eh_frame_hdr; // 0 for objects without one
	struct gorgon_ns *ns;
	struct link_map *map;
};

struct chunk {
	size_t count; // never 0
	struct range ranges[];
};

struct range_part {
	uint64_t start; // of the chunk's first range
	struct chunk *chunk;
};

struct range_table {
	size_t count;
	struct range_part parts[];
};

static struct range_table *current; // atomic; NULL: empty
static bool has_dead;	      // a range is empty: there was no memory to take it out
static unsigned epoch;	      // atomic
static unsigned readers[2];   // atomic; by parity of the epoch they started in
static find_object_fn *system_find_object;
static __thread bool was_called __attribute__((tls_model("initial-exec")));

// @items begin with a start address and are sorted by it. Returns the number of items that start at
// @addr or before.
static inline size_t count_until(const void *items, size_t count, size_t size, uint64_t addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (*(const uint64_t *)((const char *)items + middle * size) <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t parts_until(const struct range_table *table, uint64_t addr)
{
	return count_until(table->parts, table->count, sizeof(*table->parts), addr);
}

static size_t ranges_until(const struct chunk *chunk, uint64_t addr)
{
	return count_until(chunk->ranges, chunk->count, sizeof(*chunk->ranges), addr);
}

static const struct range *unwind_find(const struct range_table *table, uint64_t addr)
{
	size_t part = table ? parts_until(table, addr) : 0;
	const struct range *range;
	const struct chunk *chunk;

	if (!part)
		return NULL;
	chunk = table->parts[part - 1].chunk;
	range = &chunk->ranges[ranges_until(chunk, addr) - 1];
	return addr < __atomic_load_n(&range->end, __ATOMIC_RELAXED) ? range : NULL;
}

// A copy of the entry, because the array may go once the reader has left.
static bool look_up(uint64_t addr, struct range *ret)
{
	unsigned parity = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST) & 1;
	const struct range *range;

	__atomic_add_fetch(&readers[parity], 1, __ATOMIC_SEQ_CST);
	range = unwind_find(__atomic_load_n(&current, __ATOMIC_SEQ_CST), addr);
	if (range)
		*ret = *range;
	__atomic_sub_fetch(&readers[parity], 1, __ATOMIC_SEQ_CST);
	return range != NULL;
}

struct gorgon_ns *gorgon_unwind_ns_at(uint64_t addr)
{
	struct range range;

	return look_up(addr, &range) ? range.ns : NULL;
}

struct gorgon_object *gorgon_unwind_object_at(uint64_t addr)
{
	struct range range;

	if (!look_up(addr, &range))
		return NULL;
	return (struct gorgon_object *)((char *)range.map - offsetof(struct gorgon_object, map));
}

// The function that ours stands before. Found on first use, not by a constructor:
// libraries that are initialised before this one throw, too. RTLD_NEXT is what comes
// behind this library or, linked to the archive, behind the program.
static int ask_system(void *addr, struct dl_find_object *ret)
{
	find_object_fn *fn = __atomic_load_n(&system_find_object, __ATOMIC_RELAXED);

	if (!fn) {
		fn = (find_object_fn *)dlvsym(RTLD_NEXT, "_dl_find_object", "GLIBC_2.35");
		__atomic_store_n(&system_find_object, fn, __ATOMIC_RELAXED);
	}
	return fn ? fn(addr, ret) : -1;
}

int gorgon_unwind_find_object(void *addr, struct dl_find_object *ret)
{
	struct range range;

	was_called = true;
	if (!look_up((uintptr_t)addr, &range))
		return ask_system(addr, ret);
	if (!range.eh_frame_hdr)
		return -1;
	memset(ret, 0, sizeof(*ret));
	ret->dlfo_map_start = (void *)(uintptr_t)range.start;
	ret->dlfo_map_end = (void *)(uintptr_t)range.end;
	ret->dlfo_link_map = range.map;
	ret->dlfo_eh_frame = (void *)(uintptr_t)range.eh_frame_hdr;
	return 0;
}

__attribute__((visibility("default"), alias("gorgon_unwind_find_object"))) int
_dl_find_object(void *addr, struct dl_find_object *ret);

// Whether libgcc_s comes to our function: ask it for any address.
static bool is_reached(void)
{
	static int reached = -1; // under the loader's lock
	uint64_t bases[3];

	if (reached < 0) {
		was_called = false;
		_Unwind_Find_FDE((void *)(uintptr_t)is_reached, bases);
		reached = was_called;
	}
	return reached;
}

// Readers that may have seen the old table have left once the counter of the epoch that
// ends is zero. Readers that start now are counted in the other epoch's counter.
static void unwind_publish(struct range_table *table, struct chunk *old_chunk)
{
	struct range_table *old = __atomic_exchange_n(&current, table, __ATOMIC_SEQ_CST);

	for (int i = 0; i < 2; i++) {
		// Twice: a reader that read the epoch before a flip may count after it.
		unsigned parity = __atomic_fetch_add(&epoch, 1, __ATOMIC_SEQ_CST) & 1;

		while (__atomic_load_n(&readers[parity], __ATOMIC_SEQ_CST))
			sched_yield();
	}
	free(old);
	free(old_chunk);
}

void gorgon_unwind_after_fork(void)
{
	readers[0] = readers[1] = 0;
}

static struct chunk *create_chunk(const struct range *ranges, size_t count)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + count * sizeof(*ranges));

	if (chunk) {
		chunk->count = count;
		memcpy(chunk->ranges, ranges, count * sizeof(*ranges));
	}
	return chunk;
}

// Put these ranges in the place of the chunk of part @at (of none, if the table is empty):
// none, one chunk, or two if they are too many for one. False: no memory.
static bool unwind_replace(size_t at, const struct range *ranges, size_t count)
{
	size_t old_count = current ? current->count : 0, taken = old_count ? 1 : 0;
	size_t first = count > CHUNK ? count / 2 : count, pieces = (count > 0) + (count > CHUNK);
	size_t new_count = old_count - taken + pieces;
	struct chunk *chunks[2] = {first ? create_chunk(ranges, first) : NULL,
				   count > first ? create_chunk(ranges + first, count - first)
						 : NULL};
	struct range_table *table = malloc(sizeof(*table) + new_count * sizeof(struct range_part));

	if (!table || (first && !chunks[0]) || (count > first && !chunks[1])) {
		free(table);
		free(chunks[0]);
		free(chunks[1]);
		return false;
	}
	table->count = new_count;
	if (taken) {
		memcpy(table->parts, current->parts, at * sizeof(struct range_part));
		memcpy(table->parts + at + pieces, current->parts + at + 1,
		       (old_count - at - 1) * sizeof(struct range_part));
	}
	for (size_t i = 0; i < pieces; i++)
		table->parts[at + i] = (struct range_part){chunks[i]->ranges[0].start, chunks[i]};
	if (!new_count) {
		free(table);
		table = NULL;
	}
	unwind_publish(table, taken ? current->parts[at].chunk : NULL);
	return true;
}

// The ranges of part @at that are not empty.
static size_t copy_live(size_t at, struct range *ranges)
{
	const struct chunk *chunk = current->parts[at].chunk;
	size_t count = 0;

	for (size_t i = 0; i < chunk->count; i++)
		if (chunk->ranges[i].end > chunk->ranges[i].start)
			ranges[count++] = chunk->ranges[i];
	return count;
}

// An empty range would hide one that is added around it.
static bool drop_dead(void)
{
	for (size_t at = current ? current->count : 0; at-- > 0;) {
		struct range ranges[CHUNK];
		size_t count = copy_live(at, ranges);

		if (count < current->parts[at].chunk->count && !unwind_replace(at, ranges, count))
			return false;
	}
	has_dead = false;
	return true;
}

static struct gorgon_error *unwind_insert(struct gorgon_object *object)
{
	struct range ranges[CHUNK + 1];
	uint64_t hdr = object->image->eh_frame_hdr_vaddr;
	size_t part, at = 0, count = 0;

	if (has_dead && !drop_dead())
		return &gorgon_error_nomem;
	part = current ? parts_until(current, object->start) : 0;
	part -= part > 0; // before all: into the first
	if (current) {
		at = ranges_until(current->parts[part].chunk, object->start);
		count = copy_live(part, ranges);
	}
	memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof(*ranges));
	ranges[at] = (struct range){
		.start = object->start,
		.end = object->end,
		.eh_frame_hdr = hdr ? object->bias + hdr : 0,
		.ns = object->ns,
		.map = &object->map,
	};
	return unwind_replace(part, ranges, count + 1) ? NULL : &gorgon_error_nomem;
}

// Without memory for a smaller chunk the range stays and covers nothing.
static void take_out(const struct gorgon_object *object)
{
	struct range ranges[CHUNK], *range = (struct range *)unwind_find(current, object->start);
	size_t part = parts_until(current, object->start) - 1;

	__atomic_store_n(&range->end, range->start, __ATOMIC_RELAXED);
	if (!unwind_replace(part, ranges, copy_live(part, ranges)))
		has_dead = true;
}

static void *frames(const struct gorgon_object *object)
{
	return (void *)(uintptr_t)(object->bias + object->image->eh_frame_vaddr);
}

struct gorgon_error *gorgon_unwind_register(struct gorgon_object *object)
{
	struct gorgon_error *err;

	// Always in the table: modules with a static libgcc ask for it by name, and
	// memory.c asks whose code an address is in.
	if ((err = unwind_insert(object)))
		return err;
	object->unwind_listed = true;
	// The frames are read in memory and not in the file, as relocations may have written to
	// them. Without frames an exception ends the program at this object's code. Unsound frames
	// would end it at any code.
	if (!is_reached() && object->image->eh_frame_vaddr &&
	    gorgon_eh_frame_is_sound(frames(object), object->image->eh_frame_size)) {
		__register_frame(frames(object));
		object->frames_registered = true;
	}
	return NULL;
}

void gorgon_unwind_unregister(struct gorgon_object *object)
{
	if (object->frames_registered)
		__deregister_frame(frames(object));
	if (object->unwind_listed)
		take_out(object);
	object->frames_registered = object->unwind_listed = false;
}
