// SPDX-License-Identifier: MIT
// Making private code known to the unwinder, so that C++ exceptions, pthread_cancel and
// backtrace() pass through its frames.
//
// The unwinder of the process is the shared libgcc_s. It asks _dl_find_object (glibc
// 2.35) for the .eh_frame_hdr of an address. We define that function too: for addresses
// in private objects it answers from the table below, for all others it passes on. The
// dynamic linker binds libgcc_s to ours when this library is among those that the
// program was started with, or is part of the program. Nothing is registered per
// object, the search tables in the files are used as they are, and a throw of the
// host costs one binary search more.
//
// When ours is not reached (this library was itself loaded with dlopen()), objects are
// registered with __register_frame. That puts a lock and a linear search into every
// throw of the process and needs the terminating zero length in .eh_frame.
//
// The table is an array sorted by address. Readers come from any thread, in the middle of
// a throw or in a signal handler, and take no lock: they announce themselves in one of
// two counters, chosen by the parity of `epoch`. A writer, who holds the loader's lock,
// publishes a new array, moves the epoch on and waits until the counter of the old
// parity is zero before it frees the old array.
//
// Specification: LSB, "Exception Frames"; glibc manual, "Dynamic Linker Introspection".

#define _GNU_SOURCE
#include "error.h"
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

struct range {
	uint64_t start, end, eh_frame_hdr; // the last is 0 for objects without one
	struct gorgon_ns *ns;
};

struct table {
	size_t count;
	struct range ranges[];
};

static struct table *current; // atomic; NULL: empty
static unsigned epoch;	      // atomic
static unsigned readers[2];   // atomic; by parity of the epoch they started in
static find_object_fn *system_find_object;
static __thread bool asked __attribute__((tls_model("initial-exec")));

static const struct range *find(const struct table *table, uint64_t addr)
{
	size_t low = 0, high = table ? table->count : 0;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct range *range = &table->ranges[middle];

		if (addr < range->start)
			high = middle;
		else if (addr >= range->end)
			low = middle + 1;
		else
			return range;
	}
	return NULL;
}

// A copy of the entry, because the array may go once the reader has left.
static bool look_up(uint64_t addr, struct range *ret)
{
	unsigned parity = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST) & 1;
	const struct range *range;

	__atomic_add_fetch(&readers[parity], 1, __ATOMIC_SEQ_CST);
	range = find(__atomic_load_n(&current, __ATOMIC_SEQ_CST), addr);
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

	asked = true;
	if (!look_up((uintptr_t)addr, &range))
		return ask_system(addr, ret);
	if (!range.eh_frame_hdr)
		return -1;
	memset(ret, 0, sizeof(*ret));
	ret->dlfo_map_start = (void *)(uintptr_t)range.start;
	ret->dlfo_map_end = (void *)(uintptr_t)range.end;
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
		asked = false;
		_Unwind_Find_FDE((void *)(uintptr_t)is_reached, bases);
		reached = asked;
	}
	return reached;
}

// Readers that may have seen the old array have left once the counter of the epoch that
// ends is zero; those that start now count in the other one.
static void publish(struct table *table)
{
	struct table *old = __atomic_exchange_n(&current, table, __ATOMIC_SEQ_CST);

	for (int i = 0; i < 2; i++) {
		// Twice: a reader that read the epoch before a flip may count after it.
		unsigned parity = __atomic_fetch_add(&epoch, 1, __ATOMIC_SEQ_CST) & 1;

		while (__atomic_load_n(&readers[parity], __ATOMIC_SEQ_CST))
			sched_yield();
	}
	free(old);
}

void gorgon_unwind_after_fork(void)
{
	readers[0] = readers[1] = 0;
}

static struct table *create_table(size_t count)
{
	struct table *table = malloc(sizeof(*table) + count * sizeof(struct range));

	if (table)
		table->count = count;
	return table;
}

static struct gorgon_error *insert(const struct gorgon_object *object)
{
	size_t count = current ? current->count : 0, at = 0;
	struct table *table = create_table(count + 1);

	if (!table)
		return &gorgon_error_nomem;
	while (at < count && current->ranges[at].start < object->start)
		at++;
	if (count)
		memcpy(table->ranges, current->ranges, at * sizeof(struct range));
	table->ranges[at] = (struct range){
		.start = object->start,
		.end = object->end,
		.eh_frame_hdr = object->image->eh_frame_hdr_vaddr
					? object->bias + object->image->eh_frame_hdr_vaddr
					: 0,
		.ns = object->ns,
	};
	if (count)
		memcpy(&table->ranges[at + 1], &current->ranges[at],
		       (count - at) * sizeof(struct range));
	publish(table);
	return NULL;
}

// Without memory for a smaller array the entry stays and covers nothing.
static void remove_range(const struct gorgon_object *object)
{
	size_t count = current->count, at = 0;
	struct table *table = count > 1 ? create_table(count - 1) : NULL;

	while (current->ranges[at].start != object->start)
		at++;
	if (!table && count > 1) {
		__atomic_store_n(&current->ranges[at].end, object->start, __ATOMIC_SEQ_CST);
		return;
	}
	if (table) {
		memcpy(table->ranges, current->ranges, at * sizeof(struct range));
		memcpy(&table->ranges[at], &current->ranges[at + 1],
		       (count - at - 1) * sizeof(struct range));
	}
	publish(table);
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
	if ((err = insert(object)))
		return err;
	object->unwind_listed = true;
	if (!is_reached() && object->image->eh_frame_vaddr) {
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
		remove_range(object);
	object->frames_registered = object->unwind_listed = false;
}
