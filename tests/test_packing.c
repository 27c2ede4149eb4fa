// SPDX-License-Identifier: MIT
// loader/elf/packing.c: which namespaces are described to debuggers in full, which packed, and when.

#define _GNU_SOURCE
#include "helpers.h"

#include "../jitreg/jitreg.h"
#include "../loader/elf/lock.h"
#include "../loader/elf/ns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_NS UINT64_C(200000000)
#define FEW      8

static struct gorgon_ns *create(enum gorgon_debug_mode mode)
{
	const struct gorgon_ns_opts opts = {.size = sizeof(opts), .debug = mode};
	struct gorgon_ns *ns = NULL;

	assert_ok(gorgon_ns_create(&opts, &ns));
	return ns;
}

// With libtop.so and the two that it needs.
static struct gorgon_ns *create_top(enum gorgon_debug_mode mode)
{
	struct gorgon_ns *ns = create(mode);

	test_open(ns, "libtop.so");
	return ns;
}

// As if it had loaded nothing for long enough.
static void make_quiet(struct gorgon_ns *ns)
{
	gorgon_lock();
	ns->changed_at -= QUIET_NS;
	gorgon_unlock();
}

// Something happens elsewhere, which debuggers are not told of.
static void something_else_loads(void)
{
	test_ns_destroy(create_top(GORGON_DEBUG_OFF));
}

// All objects are described in this way; packed, by one symfile.
static void assert_kind(const struct gorgon_ns *ns, enum jitreg_symfile_kind kind)
{
	assert_non_null(ns->first);
	for (const struct gorgon_object *o = ns->first; o; o = o->next) {
		struct jitreg_info info;

		jitreg_entry_get_info(o->jit, &info);
		assert_int_equal(info.symfile_kind, kind);
		assert_int_equal(o->debug.symfile_kind, kind);
		assert_int_equal(o->debug.symfile, (uintptr_t)info.symfile);
		assert_int_equal(o->debug.symfile_size, info.symfile_size);
		assert_true(o->debug.symfile);
		if (kind == JITREG_SYMFILE_PACK)
			assert_int_equal(o->debug.symfile, ns->first->debug.symfile);
		else
			assert_true(!o->next || o->debug.symfile != o->next->debug.symfile);
	}
}

static void full_many_namespaces_stay_full(void **state)
{
	struct gorgon_ns *ns[FEW + 2];

	(void)state;
	for (size_t i = 0; i < FEW + 2; i++) {
		ns[i] = create_top(GORGON_DEBUG_FULL);
		make_quiet(ns[i]);
	}
	something_else_loads();
	assert_int_equal(jitreg_count(), 3 * (FEW + 2));
	for (size_t i = 0; i < FEW + 2; i++) {
		assert_kind(ns[i], JITREG_SYMFILE_FULL);
		test_ns_destroy(ns[i]);
	}
}

static void off_nothing_is_registered(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_OFF);

	(void)state;
	assert_int_equal(jitreg_count(), 0);
	assert_null(ns->jit_group);
	for (const struct gorgon_object *o = ns->first; o; o = o->next) {
		assert_int_equal(o->debug.symfile, 0);
		assert_int_equal(o->debug.symfile_kind, 0);
	}
	test_ns_destroy(ns);
}

static void lazy_namespace_is_packed_when_quiet(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	assert_kind(ns, JITREG_SYMFILE_LEAN);
	make_quiet(ns);
	assert_kind(ns, JITREG_SYMFILE_LEAN); // nobody has looked
	something_else_loads();
	assert_kind(ns, JITREG_SYMFILE_PACK);
	assert_int_equal(jitreg_count(), 1);
	test_ns_destroy(ns);
	assert_int_equal(jitreg_count(), 0);
}

// 200 ms are not over; on a machine that is busy they may be.
static void lazy_namespace_not_quiet_is_left_alone(void **state)
{
	bool in_time = false;

	(void)state;
	for (int i = 0; i < 20 && !in_time; i++) {
		uint64_t start = gorgon_now();
		struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

		something_else_loads();
		in_time = gorgon_now() - start < QUIET_NS;
		if (in_time)
			assert_kind(ns, JITREG_SYMFILE_LEAN);
		test_ns_destroy(ns);
	}
	if (!in_time)
		skip_because("200 ms are not enough for loading libtop.so twice here");
}

// Its time counts from the last load.
static void lazy_namespace_loading_more_waits_again(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY), *other = create_top(GORGON_DEBUG_LAZY);
	uint64_t before;

	(void)state;
	make_quiet(other);
	make_quiet(ns);
	before = ns->changed_at;
	test_open(ns, "libbasic.so"); // which is also when the other one is looked at
	assert_true(ns->changed_at >= before + QUIET_NS);
	assert_kind(ns, JITREG_SYMFILE_LEAN);
	assert_kind(other, JITREG_SYMFILE_PACK);
	test_ns_destroy(ns);
	test_ns_destroy(other);
}

static void lazy_set_that_is_known_is_packed_at_once(void **state)
{
	struct gorgon_ns *first = create_top(GORGON_DEBUG_LAZY), *second;

	(void)state;
	make_quiet(first);
	something_else_loads();
	second = create_top(GORGON_DEBUG_LAZY);
	assert_kind(second, JITREG_SYMFILE_PACK);
	test_open(second, "libbasic.so"); // not known with this one
	assert_int_equal(second->first->debug.symfile_kind, JITREG_SYMFILE_PACK);
	assert_int_equal(second->last->debug.symfile_kind, JITREG_SYMFILE_LEAN);
	test_ns_destroy(first);
	test_ns_destroy(second);
}

static void lazy_a_few_more_objects_stay_loose(void **state)
{
	static const char *const more[] = {"libbasic.so", "libtls.so", "libthrow.so", "libbasic_gnu.so",
					   "libbasic_sysv.so", "libbasic_relr.so", "libexit.so", "libmemory.so"};
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	make_quiet(ns);
	something_else_loads();
	for (size_t i = 0; i < 8; i++) {
		test_open(ns, more[i]);
		make_quiet(ns);
		something_else_loads();
		assert_int_equal(ns->last->debug.symfile_kind,
				 i < 7 ? JITREG_SYMFILE_LEAN : JITREG_SYMFILE_PACK);
	}
	assert_kind(ns, JITREG_SYMFILE_PACK); // one for all: nobody is attached
	assert_int_equal(jitreg_count(), 1);
	test_ns_destroy(ns);
}

static void close_object_of_a_pack_leaves_the_others_packed(void **state)
{
	struct gorgon_ns *ns = create(GORGON_DEBUG_LAZY);
	struct gorgon_object *object = test_open(ns, "libbasic.so");
	uint64_t before;

	(void)state;
	test_open(ns, "libtop.so");
	make_quiet(ns);
	something_else_loads();
	assert_kind(ns, JITREG_SYMFILE_PACK);
	before = ns->last->debug.symfile_size;
	gorgon_object_close(object);
	assert_kind(ns, JITREG_SYMFILE_PACK);
	assert_true(ns->last->debug.symfile_size < before);
	assert_int_equal(jitreg_count(), 1);
	test_ns_destroy(ns);
}

static void auto_ninth_namespace_converts_all(void **state)
{
	struct gorgon_ns *ns[FEW + 1], *full;

	(void)state;
	for (size_t i = 0; i < FEW - 1; i++)
		ns[i] = create_top(GORGON_DEBUG_AUTO);
	full = create_top(GORGON_DEBUG_FULL); // counts and is left alone
	for (size_t i = 0; i < FEW - 1; i++) {
		assert_kind(ns[i], JITREG_SYMFILE_FULL);
		make_quiet(ns[i]);
	}
	ns[FEW - 1] = create_top(GORGON_DEBUG_AUTO);
	for (size_t i = 0; i < FEW - 1; i++)
		assert_kind(ns[i], JITREG_SYMFILE_PACK);
	assert_kind(full, JITREG_SYMFILE_FULL);
	ns[FEW] = create_top(GORGON_DEBUG_AUTO); // what it has is known
	assert_kind(ns[FEW], JITREG_SYMFILE_PACK);
	for (size_t i = 0; i < FEW + 1; i++)
		test_ns_destroy(ns[i]);
	test_ns_destroy(full);
	ns[0] = create_top(GORGON_DEBUG_AUTO); // few again
	make_quiet(ns[0]);
	something_else_loads();
	assert_kind(ns[0], JITREG_SYMFILE_FULL);
	test_ns_destroy(ns[0]);
}

// What was loaded while there were many has no DWARF, so it is packed when there are few.
static void auto_many_for_a_moment_is_packed_nonetheless(void **state)
{
	struct gorgon_ns *ns[FEW + 1];

	(void)state;
	for (size_t i = 0; i < FEW + 1; i++)
		ns[i] = create(GORGON_DEBUG_AUTO);
	test_open(ns[0], "libtop.so");
	assert_kind(ns[0], JITREG_SYMFILE_LEAN);
	for (size_t i = 1; i < FEW + 1; i++)
		test_ns_destroy(ns[i]);
	ns[1] = create_top(GORGON_DEBUG_AUTO);
	assert_kind(ns[1], JITREG_SYMFILE_FULL);
	make_quiet(ns[0]);
	make_quiet(ns[1]);
	something_else_loads();
	assert_kind(ns[0], JITREG_SYMFILE_PACK);
	assert_kind(ns[1], JITREG_SYMFILE_FULL);
	test_ns_destroy(ns[0]);
	test_ns_destroy(ns[1]);
}

static void auto_eight_namespaces_stay_full(void **state)
{
	struct gorgon_ns *ns[FEW];

	(void)state;
	for (size_t i = 0; i < FEW; i++) {
		ns[i] = create_top(GORGON_DEBUG_AUTO);
		make_quiet(ns[i]);
	}
	test_open(ns[0], "libbasic.so");
	for (size_t i = 0; i < FEW; i++)
		assert_kind(ns[i], JITREG_SYMFILE_FULL);
	for (size_t i = 0; i < FEW; i++)
		test_ns_destroy(ns[i]);
}

static void auto_many_objects_convert_all(void **state)
{
	struct gorgon_ns *other = create_top(GORGON_DEBUG_AUTO), *ns = create(GORGON_DEBUG_AUTO);
	struct gorgon_object *object;
	size_t size;
	uint8_t *bytes = test_read(test_module("libbasic.so"), &size);

	(void)state;
	for (unsigned i = 3; i <= 400; i++) {
		char name[32];
		const char *path;

		snprintf(name, sizeof(name), "libmany%u.so", i);
		path = test_temp(name);
		test_write(path, bytes, size);
		if (i == 400) {
			assert_int_equal(gorgon_debug_root.object_count, 400);
			assert_kind(other, JITREG_SYMFILE_FULL);
			make_quiet(other);
		}
		assert_ok(gorgon_object_open(ns, path, 0, &object));
	}
	free(bytes);
	assert_kind(other, JITREG_SYMFILE_PACK);
	assert_int_equal(ns->first->debug.symfile_kind, JITREG_SYMFILE_FULL);
	make_quiet(ns);
	something_else_loads();
	assert_kind(ns, JITREG_SYMFILE_PACK);
	assert_int_equal(jitreg_count(), 2);
	test_ns_destroy(ns);
	test_ns_destroy(other);
}

// Those that wait leave the queue, wherever they are in it.
static void destroy_waiting_namespaces_are_forgotten(void **state)
{
	static const size_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 2, 0, 3}, {2, 0, 3, 1}};
	struct test_snapshot before;

	(void)state;
	something_else_loads();
	before = test_snapshot();
	for (size_t k = 0; k < 4; k++) {
		struct gorgon_ns *ns[4];

		for (size_t i = 0; i < 4; i++)
			ns[i] = create_top(GORGON_DEBUG_LAZY);
		for (size_t i = 0; i < 4; i++) {
			test_ns_destroy(ns[orders[k][i]]);
			something_else_loads();
		}
		assert_int_equal(jitreg_count(), 0);
	}
	assert_unchanged(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_many_namespaces_stay_full),
		cmocka_unit_test(off_nothing_is_registered),
		cmocka_unit_test(lazy_namespace_is_packed_when_quiet),
		cmocka_unit_test(lazy_namespace_not_quiet_is_left_alone),
		cmocka_unit_test(lazy_namespace_loading_more_waits_again),
		cmocka_unit_test(lazy_set_that_is_known_is_packed_at_once),
		cmocka_unit_test(lazy_a_few_more_objects_stay_loose),
		cmocka_unit_test(close_object_of_a_pack_leaves_the_others_packed),
		cmocka_unit_test(auto_ninth_namespace_converts_all),
		cmocka_unit_test(auto_many_for_a_moment_is_packed_nonetheless),
		cmocka_unit_test(auto_eight_namespaces_stay_full),
		cmocka_unit_test(auto_many_objects_convert_all),
		cmocka_unit_test(destroy_waiting_namespaces_are_forgotten),
	};

	return cmocka_run_group_tests_name("packing", tests, test_warm_up, NULL);
}
