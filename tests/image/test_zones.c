// SPDX-License-Identifier: MIT
// loader/image/zones.c: a file gets the same offset in all namespaces, and what happens where this
// is impossible.

#define _GNU_SOURCE
#include "helpers.h"

#include "image/image.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "image/zones.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define ZONE_SIZE  GORGON_ZONE_SIZE
#define ZONE_COUNT GORGON_ZONE_COUNT

// Distance from the start of the zone.
static uint64_t offset_of(const struct gorgon_object *object)
{
	return object->start - object->ns->zone;
}

static bool in_zone(const struct gorgon_object *object)
{
	return object->ns->zone && offset_of(object) < ZONE_SIZE;
}

static void open_same_files_have_the_same_offsets(void **state)
{
	static const char *const modules[] = {"libtop.so", "libbasic.so", "libthrow.so",
					      "libtls.so"};
	struct gorgon_ns *ns[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ns[i] = test_ns();
		for (size_t k = 0; k < 4; k++) // each namespace loads them in another order
			test_open(ns[i], modules[(k + i) % 4]);
	}
	for (const struct gorgon_object *a = ns[0]->first; a; a = a->next) {
		assert_true(in_zone(a));
		for (size_t i = 1; i < 3; i++) {
			const struct gorgon_object *b = gorgon_ns_find_name(ns[i], a->path);

			assert_non_null(b);
			assert_ptr_equal(a->image, b->image);
			assert_int_equal(offset_of(a), offset_of(b));
		}
	}
	assert_true(ns[0]->zone != ns[1]->zone && ns[1]->zone != ns[2]->zone);
	assert_int_equal(ns[0]->zone % ZONE_SIZE, ns[1]->zone % ZONE_SIZE);
	for (size_t i = 0; i < 3; i++)
		test_ns_destroy(ns[i]);
}

static uint64_t whole(uint64_t size, uint64_t align)
{
	return (size + align - 1) & -align;
}

// Objects lie side by side from the start of the zone, with a page without access behind each.
static void open_objects_lie_close_and_apart(void **state)
{
	uint64_t page = (uint64_t)getpagesize();
	struct gorgon_ns *ns = test_ns();
	uint64_t low = UINT64_MAX, high = 0, sum = 0, align = 0;

	(void)state;
	test_open(ns, "libtop.so");
	test_open(ns, "libbasic.so");
	for (const struct gorgon_object *a = ns->first; a; a = a->next) {
		unsigned char resident;

		for (const struct gorgon_object *b = ns->first; b; b = b->next)
			assert_true(a == b || a->end + page <= b->start ||
				    b->end + page <= a->start);
		assert_int_not_equal(mincore((void *)a->end, page, &resident), 0); // nothing there
		low = a->start < low ? a->start : low;
		high = a->end > high ? a->end : high;
		sum += whole(a->end + page - a->start, a->image->align);
		align = a->image->align;
	}
	assert_int_equal(low - ns->zone, 0x10000);
	assert_int_equal(whole(high + page - low, align), sum); // no other gaps
	test_ns_destroy(ns);
}

static void open_place_taken_goes_anywhere(void **state)
{
	struct gorgon_ns *first = test_ns(), *second = test_ns();
	struct gorgon_object *a, *b, *c;
	void *taken;

	(void)state;
	a = test_open(first, "libbasic.so");
	test_open(second, "libthrow.so"); // so that it has a zone
	taken = mmap((void *)(second->zone + offset_of(a) + (size_t)getpagesize()), 1, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_not_equal(taken, MAP_FAILED);
	b = test_open(second, "libbasic.so");
	assert_false(in_zone(b));
	assert_int_equal(SYMBOL(b, int (*)(int, int), "basic_sum")(1, 2), 3);
	// What comes after a file without a place is in its own place again.
	c = test_open(second, "libtls.so");
	assert_true(in_zone(c));
	test_ns_destroy(second);
	munmap(taken, 1);
	second = test_ns();
	b = test_open(second, "libbasic.so");
	assert_int_equal(offset_of(a), offset_of(b));
	test_ns_destroy(second);
	test_ns_destroy(first);
}

static void destroy_zone_is_used_again(void **state)
{
	struct gorgon_ns *first = test_ns(), *second = test_ns();
	uint64_t zone;

	(void)state;
	test_open(first, "libbasic.so");
	test_open(second, "libbasic.so");
	zone = first->zone;
	test_ns_destroy(first);
	for (int i = 0; i < 3; i++) {
		first = test_ns();
		assert_int_equal(first->zone, 0); // until it loads something
		test_open(first, "libthrow.so");
		assert_int_equal(first->zone, zone);
		test_ns_destroy(first);
	}
	test_ns_destroy(second);
}

static void open_large_alignment_is_kept(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	struct gorgon_object *object[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		test_open(ns[i], "libbasic.so");
		object[i] = test_open(ns[i], "libbasic_align.so");
		assert_int_equal(object[i]->image->align, 0x200000);
		assert_int_equal(object[i]->bias % 0x200000, 0);
		assert_true(in_zone(object[i]));
	}
	assert_int_equal(offset_of(object[0]), offset_of(object[1]));
	test_ns_destroy(ns[0]);
	test_ns_destroy(ns[1]);
}

// While a namespace has the old file, the new file gets another place.
static void open_changed_file_has_another_place(void **state)
{
	const char *path = test_temp("libchanged.so");
	struct gorgon_ns *ns[3] = {test_ns(), test_ns(), test_ns()};
	struct gorgon_object *object[3];
	size_t size;
	uint8_t *bytes = test_read(test_module("libbasic.so"), &size);

	(void)state;
	test_write(path, bytes, size);
	free(bytes);
	assert_ok(gorgon_object_open(ns[0], path, NULL, &object[0]));
	assert_int_equal(unlink(path), 0);
	bytes = test_read(test_module("libthrow.so"), &size);
	test_write(path, bytes, size);
	free(bytes);
	for (size_t i = 1; i < 3; i++)
		assert_ok(gorgon_object_open(ns[i], path, NULL, &object[i]));
	assert_ptr_not_equal(object[0]->image, object[1]->image);
	assert_true(in_zone(object[1]) && in_zone(object[2]));
	assert_int_equal(offset_of(object[1]), offset_of(object[2]));
	assert_true(offset_of(object[1]) >=
		    offset_of(object[0]) + (object[0]->end - object[0]->start));
	for (size_t i = 0; i < 3; i++)
		test_ns_destroy(ns[i]);
}

static void close_place_is_free_for_others(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;
	uint64_t offset;

	(void)state;
	object = test_open(ns, "libbasic.so");
	offset = offset_of(object);
	for (int i = 0; i < 3; i++) {
		gorgon_object_close(object);
		object = test_open(ns, "libbasic.so");
		assert_int_equal(offset_of(object), offset);
	}
	gorgon_object_close(object);
	gorgon_trim();
	object = test_open(ns, "libthrow.so");
	assert_int_equal(offset_of(object), offset);
	test_ns_destroy(ns);
}

// Images and namespaces that have nothing but sizes: real files would need gigabytes.
static void find_no_zone_left_is_anywhere(void **state)
{
	struct gorgon_ns *ns = calloc(ZONE_COUNT + 1, sizeof(*ns));
	struct gorgon_image image = {.vaddr_end = 5 * (uint64_t)getpagesize(),
				     .align = (uint64_t)getpagesize()};
	uint64_t first, address, low = UINT64_MAX, high = 0;
	size_t count;

	(void)state;
	assert_non_null(ns);
	gorgon_lock();
	for (count = 0; count < ZONE_COUNT && (address = gorgon_zone_find(&ns[count], &image));
	     count++) {
		assert_int_equal(address, ns[count].zone + image.place);
		low = address < low ? address : low;
		high = address > high ? address : high;
	}
	// Programs with fewer addresses than 2^47 have fewer zones.
	assert_true(count == ZONE_COUNT || (count > 7 && !(getauxval(AT_RANDOM) >> 46)));
	assert_int_equal(high - low, (count - 1) * ZONE_SIZE); // each is at another address
	assert_int_equal(gorgon_zone_find(&ns[ZONE_COUNT], &image), 0);
	first = ns[7].zone;
	gorgon_zone_drop_ns(&ns[7]);
	assert_int_equal(ns[7].zone, 0);
	assert_int_equal(gorgon_zone_find(&ns[ZONE_COUNT], &image), first + image.place);
	assert_int_equal(gorgon_zone_find(&ns[7], &image), 0);
	for (size_t i = 0; i <= ZONE_COUNT; i++)
		gorgon_zone_drop_ns(&ns[i]);
	gorgon_zone_drop_image(&image);
	gorgon_unlock();
	free(ns);
}

static void find_no_room_in_the_zone_is_anywhere(void **state)
{
	const uint64_t page = (uint64_t)getpagesize(), half = ZONE_SIZE / 2;
	struct gorgon_ns ns = {0};
	struct gorgon_image images[] = {
		{.vaddr_end = half, .align = page},
		{.vaddr_end = half, .align = page}, // with the first one a bit too much for a zone
		{.vaddr_end = half / 2, .align = half / 4},
		{.vaddr_start = 0x400000, .vaddr_end = 0x400000 + 2 * page, .align = 0x200000},
		{.vaddr_end = page, .align = 2 * ZONE_SIZE},
		{.vaddr_end = UINT64_C(1) << 46, .align = page},
		{.vaddr_start = 3 * page, .vaddr_end = 5 * page, .align = page},
	};
	uint64_t addresses[7];

	(void)state;
	gorgon_lock();
	for (size_t i = 0; i < 7; i++)
		addresses[i] = gorgon_zone_find(&ns, &images[i]);
	assert_int_equal(addresses[0], ns.zone + 0x10000);
	assert_int_equal(addresses[1], 0);
	assert_int_equal(addresses[2] % (half / 4), 0);
	assert_true(addresses[2] >= addresses[0] + half + page);
	assert_int_equal((addresses[3] - 0x400000) % 0x200000, 0);
	assert_int_equal(addresses[4], 0);
	assert_int_equal(addresses[5], 0);
	assert_int_equal(addresses[6], addresses[0] + half + page); // the lowest room
	gorgon_zone_drop_image(&images[0]);
	assert_int_equal(gorgon_zone_find(&ns, &images[1]), ns.zone + 0x10000);
	for (size_t i = 0; i < 7; i++)
		gorgon_zone_drop_image(&images[i]); // does nothing for an image that has no place
	gorgon_zone_drop_ns(&ns);
	gorgon_zone_drop_ns(&ns);
	gorgon_unlock();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fresh_unit_test(open_same_files_have_the_same_offsets),
		fresh_unit_test(open_objects_lie_close_and_apart),
		fresh_unit_test(open_place_taken_goes_anywhere),
		fresh_unit_test(destroy_zone_is_used_again),
		fresh_unit_test(open_large_alignment_is_kept),
		fresh_unit_test(open_changed_file_has_another_place),
		fresh_unit_test(close_place_is_free_for_others),
		fresh_unit_test(find_no_zone_left_is_anywhere),
		fresh_unit_test(find_no_room_in_the_zone_is_anywhere),
	};

	return cmocka_run_group_tests_name("place", tests, test_warm_up, NULL);
}
