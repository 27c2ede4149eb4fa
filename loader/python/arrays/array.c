// SPDX-License-Identifier: MIT
// Arrays: a layout over counted memory (block.c), and the names by which interpreters and
// the host find them.
//
// An array never changes once it is made; several may lie over one block (slices of it). A name
// holds its array, so the array outlives the interpreter that shared it. Looking a name up and
// holding its array is one step under the loader's lock.

#define _GNU_SOURCE
#include "array.h"
#include "block.h"
#include "charges.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/sized.h"

#include <stdlib.h>
#include <string.h>

#define NDIM_MAX 64 // of the buffer protocol (PyBUF_MAX_NDIM)

// A name, which holds its array.
struct shared {
	struct shared *next;
	struct gorgon_array *array;
	uint64_t giver; // who is charged; see charges.c
	char name[];
};

// By the hash of the name; under the loader's lock.
static struct shared *names[1024];

// The bytes that a layout spans: from the first item down to the lowest address, and up to the end
// of the highest item.
struct extent {
	size_t below, above;
};

static struct gorgon_error *check_array_item(const struct gorgon_array_layout *layout,
					     struct gorgon_format *format, size_t *item_size)
{
	if (!layout->format || !gorgon_format_parse(layout->format, format))
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: format is \"%s\", expected a typestr or a PEP 3118 format",
			layout->format ?: "(null)");
	if (gorgon_format_has_objects(layout->format))
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: format \"%s\" has Python objects, which belong to one "
			"interpreter",
			layout->format);
	*item_size = layout->item_size ?: format->item_size;
	if (format->plain && *item_size != format->item_size)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "array: item_size is %zu, format \"%s\" has %zu",
					   *item_size, layout->format, format->item_size);
	if (!format->plain && !*item_size)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: item_size is 0, and format \"%s\" does not say it", layout->format);
	return NULL;
}

// Strides as given, or those of items without gaps. False when the total size of all items, which
// the buffer protocol asks for even if items overlap, does not fit into a number.
static bool fill_array_strides(struct gorgon_array *array, const ptrdiff_t *given, ptrdiff_t *shape,
			       ptrdiff_t *strides)
{
	const struct gorgon_array_layout *layout = &array->layout;
	ptrdiff_t next = (ptrdiff_t)layout->item_size;

	for (unsigned i = layout->ndim; i--;) {
		strides[i] = given ? given[i] : next;
		if (__builtin_mul_overflow(next, shape[i] ?: 1, &next))
			return false;
	}
	return true;
}

static bool measure_array(const struct gorgon_array_layout *layout, struct extent *ret)
{
	struct extent extent = {0, layout->item_size};

	for (unsigned i = 0; i < layout->ndim; i++) {
		ptrdiff_t stride = layout->strides[i];
		size_t *side = stride < 0 ? &extent.below : &extent.above;
		size_t step = stride < 0 ? -(size_t)stride : (size_t)stride, reach;

		if (!layout->shape[i]) {
			*ret = (struct extent){0, 0};
			return true;
		}
		if (__builtin_mul_overflow((size_t)layout->shape[i] - 1, step, &reach) ||
		    __builtin_add_overflow(*side, reach, side))
			return false;
	}
	*ret = extent;
	return extent.below <= PTRDIFF_MAX && extent.above <= PTRDIFF_MAX - extent.below;
}

// An array without memory, and the bytes that its memory has to span.
static struct gorgon_error *create_array(const struct gorgon_array_layout *layout, bool writable,
					 struct extent *extent, struct gorgon_array **ret)
{
	struct gorgon_format format;
	struct gorgon_array *array;
	struct gorgon_error *err;
	ptrdiff_t *numbers;
	size_t item_size = 0;
	char *text;

	if ((err = check_array_item(layout, &format, &item_size)))
		return err;
	if (layout->ndim > NDIM_MAX)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "array: has %u dimensions, expected %u at most",
					   layout->ndim, NDIM_MAX);
	for (unsigned i = 0; i < layout->ndim; i++)
		if (layout->shape[i] < 0)
			return gorgon_error_create(GORGON_ERROR_ARGUMENT,
						   "array: shape[%u] is %td, expected 0 or more", i,
						   layout->shape[i]);
	array = calloc(1, sizeof(*array) + 2 * layout->ndim * sizeof(*numbers) +
				  strlen(layout->format) + 1);
	if (!array)
		return &gorgon_error_nomem;
	numbers = (ptrdiff_t *)(array + 1);
	text = (char *)(numbers + 2 * layout->ndim);
	array->count = 1;
	array->writable = writable;
	array->format = format;
	array->layout = (struct gorgon_array_layout){
		.format = strcpy(text, layout->format),
		.item_size = item_size,
		.ndim = layout->ndim,
		.shape = numbers,
		.strides = numbers + layout->ndim,
	};
	if (layout->ndim)
		memcpy(numbers, layout->shape, layout->ndim * sizeof(*numbers));
	if (!fill_array_strides(array, layout->strides, numbers, numbers + layout->ndim) ||
	    !measure_array(&array->layout, extent)) {
		free(array);
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "array: its items span more than an address can say");
	}
	*ret = array;
	return NULL;
}

static struct gorgon_error *create_array_block(const struct gorgon_array_opts *opts, size_t size,
					       struct gorgon_block **ret)
{
	const struct gorgon_placement placement = {opts->alignment, opts->numa_nodes,
						   opts->huge_pages, opts->locked};

	if (!gorgon_placement_can_align(opts->alignment))
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: alignment is %zu, expected a power of two up to %lu",
			opts->alignment, GORGON_PLACEMENT_ALIGN_MAX);
	if ((opts->locked || opts->alignment) && opts->data)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: %s for memory that is there already, expected new memory",
			opts->locked ? "locked" : "alignment");
	if (opts->numa_nodes && opts->data)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: NUMA nodes %#lx for memory that is there already, expected "
			"none or new memory",
			opts->numa_nodes);
	if (!opts->data)
		return gorgon_block_create_placed(size, &placement, ret);
	*ret = gorgon_block_wrap(opts->data, size, opts->destroy, opts->ctx);
	return *ret ? NULL : &gorgon_error_nomem;
}

struct gorgon_error *gorgon_array_create(const struct gorgon_array_opts *opts,
					 struct gorgon_array **ret)
{
	struct gorgon_array_opts given;
	struct gorgon_array *array;
	struct gorgon_error *err;
	struct extent extent;

	if ((err = gorgon_sized_read("gorgon_array_opts", opts, &given, sizeof(given))) ||
	    (err = create_array(&given.layout, given.writable, &extent, &array)))
		return err;
	if ((err = create_array_block(&given, extent.below + extent.above, &array->block))) {
		free(array);
		return err;
	}
	array->data = array->block->data + extent.below;
	*ret = array;
	return NULL;
}

struct gorgon_error *gorgon_array_create_in(struct gorgon_block *block, void *data,
					    const struct gorgon_array_layout *layout, bool writable,
					    struct gorgon_interp *interp, struct gorgon_array **ret)
{
	size_t below = (size_t)((char *)data - block->data);
	struct gorgon_array *array;
	struct gorgon_error *err;
	struct extent extent;

	if ((err = create_array(layout, writable, &extent, &array)))
		return err;
	// Items of an array without items may be said to be anywhere.
	if (extent.above && (below > block->size || below < extent.below ||
			     block->size - below < extent.above)) {
		free(array);
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"array: its items are not all inside its memory of %zu bytes", block->size);
	}
	if (!gorgon_charges_open(block, interp)) {
		free(array);
		return &gorgon_error_nomem;
	}
	gorgon_block_hold(block);
	array->block = block;
	array->data = data;
	*ret = array;
	return NULL;
}

struct gorgon_array *gorgon_array_retain(struct gorgon_array *array)
{
	__atomic_add_fetch(&array->count, 1, __ATOMIC_RELAXED);
	return array;
}

void gorgon_array_release(struct gorgon_array *array)
{
	if (!array || __atomic_sub_fetch(&array->count, 1, __ATOMIC_ACQ_REL))
		return;
	gorgon_array_release(array->mask);
	gorgon_block_release(array->block);
	free(array);
}

void gorgon_array_get_info(const struct gorgon_array *array, struct gorgon_array_info *ret)
{
	*ret = (struct gorgon_array_info){
		.data = array->data,
		.layout = array->layout,
		.writable = array->writable,
	};
}

// --- names ------------------------------------------------------------------------------

// The pointer to the entry of a name or, if there is none, the NULL pointer where the entry would
// be added.
static struct shared **array_find(const char *name)
{
	uint32_t hash = 5381;
	struct shared **ret;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	ret = &names[hash % (sizeof(names) / sizeof(*names))];
	while (*ret && strcmp((*ret)->name, name) != 0)
		ret = &(*ret)->next;
	return ret;
}

// Outside of the lock: the last holder tells the memory's owner.
static void shared_free(struct shared *shared)
{
	gorgon_charges_leave(shared->array, shared->giver);
	gorgon_array_release(shared->array);
	free(shared);
}

struct gorgon_error *gorgon_array_share_as(struct gorgon_interp *interp, struct gorgon_array *array,
					   const char *name)
{
	struct shared *added = calloc(1, sizeof(*added) + strlen(name) + 1), **at;
	bool taken;

	if (!added || !gorgon_charges_enter(array, interp)) {
		free(added);
		return &gorgon_error_nomem;
	}
	strcpy(added->name, name);
	added->array = gorgon_array_retain(array);
	added->giver = gorgon_charges_holder(interp);
	gorgon_lock();
	at = array_find(name);
	taken = *at;
	if (!taken)
		*at = added;
	gorgon_unlock();
	if (!taken)
		return NULL;
	shared_free(added);
	return gorgon_error_create(GORGON_ERROR_BUSY,
				   "array \"%s\": the name is taken, withdraw it first", name);
}

struct gorgon_error *gorgon_array_share(struct gorgon_array *array, const char *name)
{
	return gorgon_array_share_as(NULL, array, name);
}

static struct gorgon_error *no_array_of_name(const char *name)
{
	return gorgon_error_create(GORGON_ERROR_MISSING, "array \"%s\": nobody has shared it",
				   name);
}

struct gorgon_error *gorgon_array_receive(const char *name, struct gorgon_array **ret)
{
	struct gorgon_array *array = NULL;
	struct shared *shared;

	gorgon_lock();
	shared = *array_find(name);
	if (shared)
		array = gorgon_array_retain(shared->array);
	gorgon_unlock();
	if (!array)
		return no_array_of_name(name);
	*ret = array;
	return NULL;
}

struct gorgon_error *gorgon_array_withdraw(const char *name)
{
	struct shared *shared, **at;

	gorgon_lock();
	at = array_find(name);
	shared = *at;
	if (shared)
		*at = shared->next;
	gorgon_unlock();
	if (!shared)
		return no_array_of_name(name);
	shared_free(shared);
	return NULL;
}
