// SPDX-License-Identifier: MIT
// loader/debug/debug_mode.c: which namespaces are described to debuggers in full, which packed, and when.

#define _GNU_SOURCE
#include "base/clock.h"
#include "helpers.h"

#include "../jitreg/jitreg.h"
#include "../jitreg/library_lines.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "debug/debug_mode.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FEW 8

// The time of the clock that the linker puts in the place of the real clock: only a case makes it pass.
static uint64_t now = 1;
static unsigned asked; // how often a case has had the time

uint64_t __wrap_gorgon_now(void);

uint64_t __wrap_gorgon_now(void)
{
	assert_true(++asked < 100000); // a loop that waits for time to pass would not end
	return now;
}

static void pass(double seconds)
{
	now += (uint64_t)(seconds * 1e9);
}

static struct gorgon_ns *create(enum gorgon_debug_mode mode)
{
	const struct gorgon_ns_opts opts = {.size = sizeof(opts), .debug = mode};
	struct gorgon_ns *ns = NULL;

	assert_ok(gorgon_ns_create(&opts, &ns));
	return ns;
}

// Opens libtop.so and the two libraries that it needs, each by a call of its own: what is loaded by one call is
// described together.
static void open_top(struct gorgon_ns *ns)
{
	test_open(ns, "dep/libbottom.so");
	test_open(ns, "dep/libmiddle.so");
	test_open(ns, "libtop.so");
}

static struct gorgon_ns *create_top(enum gorgon_debug_mode mode)
{
	struct gorgon_ns *ns = create(mode);

	open_top(ns);
	return ns;
}

// Loads something in another namespace, of which debuggers are not told.
static void something_else_loads(void)
{
	test_ns_destroy(create_top(GORGON_DEBUG_OFF));
}

// Lets so much time pass that all namespaces have loaded nothing for long enough.
static void make_quiet(void)
{
	pass(2);
}

enum description {
	FULL,     // each object has a symfile that refers to its DWARF
	APART,    // each has a pack of its own
	TOGETHER, // one pack has them all
};

// How an object is described, by what libjitreg has and what the debug root says.
static enum jitreg_symfile_kind kind_of(const struct gorgon_object *object)
{
	struct jitreg_info info;

	jitreg_entry_get_info(object->jit, &info);
	assert_non_null(info.symfile);
	assert_int_equal(object->debug.symfile, (uintptr_t)info.symfile);
	assert_int_equal(object->debug.symfile_size, info.symfile_size);
	assert_int_equal(object->debug.symfile_kind, info.symfile_kind);
	return info.symfile_kind;
}

static void assert_described(const struct gorgon_ns *ns, enum description as)
{
	assert_non_null(ns->first);
	for (const struct gorgon_object *o = ns->first; o; o = o->next) {
		assert_int_equal(kind_of(o), as == FULL ? JITREG_SYMFILE_FULL : JITREG_SYMFILE_PACK);
		for (const struct gorgon_object *other = ns->first; other != o; other = other->next)
			assert_int_equal(o->debug.symfile == other->debug.symfile, as == TOGETHER);
	}
}

// All objects but the last are in one pack.
static void assert_last_is_apart(const struct gorgon_ns *ns)
{
	for (const struct gorgon_object *o = ns->first; o; o = o->next) {
		assert_int_equal(kind_of(o), JITREG_SYMFILE_PACK);
		assert_int_equal(o->debug.symfile == ns->first->debug.symfile, o != ns->last);
	}
}

static void full_many_namespaces_stay_full(void **state)
{
	struct gorgon_ns *ns[FEW + 2];

	(void)state;
	for (size_t i = 0; i < FEW + 2; i++) {
		ns[i] = create_top(GORGON_DEBUG_FULL);
		make_quiet();
	}
	something_else_loads();
	assert_int_equal(jitreg_count(), 3 * (FEW + 2));
	for (size_t i = 0; i < FEW + 2; i++) {
		assert_described(ns[i], FULL);
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

static void lazy_objects_loaded_together_are_described_together(void **state)
{
	struct gorgon_ns *ns = create(GORGON_DEBUG_LAZY);
	const struct gorgon_object *alone;

	(void)state;
	test_open(ns, "libtop.so");
	assert_int_equal(ns->load_count, 3);
	assert_described(ns, TOGETHER);
	assert_int_equal(jitreg_count(), 1);
	alone = test_open(ns, "libbasic.so");
	assert_last_is_apart(ns);
	assert_ptr_equal(alone, ns->last);
	make_quiet();
	something_else_loads();
	assert_described(ns, TOGETHER);
	assert_int_equal(jitreg_count(), 1);
	test_ns_destroy(ns);
}

static void lazy_namespace_is_packed_when_quiet(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	assert_described(ns, APART);
	make_quiet();
	assert_described(ns, APART); // no load has found that it is quiet
	something_else_loads();
	assert_described(ns, TOGETHER);
	assert_int_equal(jitreg_count(), 1);
	test_ns_destroy(ns);
	assert_int_equal(jitreg_count(), 0);
}

static void lazy_namespace_not_quiet_is_left_alone(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	for (int i = 0; i < 4; i++) {
		pass(0.2);
		something_else_loads();
		assert_described(ns, APART);
	}
	pass(0.3);
	something_else_loads();
	assert_described(ns, TOGETHER);
	test_ns_destroy(ns);
}

// The time of a namespace counts from its last load.
static void lazy_namespace_loading_more_waits_again(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY), *other = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	pass(0.6);
	test_open(ns, "libbasic.so");
	pass(0.6);
	something_else_loads();
	assert_described(other, TOGETHER);
	for (const struct gorgon_object *o = ns->first; o; o = o->next)
		assert_true(o == ns->first || o->debug.symfile != ns->first->debug.symfile);
	test_ns_destroy(ns);
	test_ns_destroy(other);
}

static void *load_missing(void *ns)
{
	struct gorgon_object *object;

	return gorgon_object_open(ns, "/nonexistent/libx.so", NULL, &object);
}

// A thread of the namespace has begun a load, and waits for the thread that packs.
static void lazy_namespace_about_to_load_is_left_alone(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY), *other = create(GORGON_DEBUG_OFF);
	pthread_t thread;
	void *err;

	(void)state;
	make_quiet();
	gorgon_lock();
	assert_int_equal(pthread_create(&thread, NULL, load_missing, ns), 0);
	usleep(200000); // it waits for the lock
	gorgon_debug_mode_changed(other);
	gorgon_debug_mode_unlock(NULL);
	pthread_join(thread, &err);
	assert_non_null(err);
	gorgon_error_destroy(err);
	assert_described(ns, APART);
	something_else_loads(); // the namespace has kept its place in the queue
	assert_described(ns, TOGETHER);
	test_ns_destroy(ns);
	test_ns_destroy(other);
}

// Stands for the function of libjitreg that packs: pack_takes seconds pass, and meanwhile() is called once.
static double pack_takes;
static void (*meanwhile)(struct gorgon_ns *ns);
static struct gorgon_ns *meanwhile_ns;

int __wrap_jitreg_packing_build(struct jitreg_packing *packing);
int __real_jitreg_packing_build(struct jitreg_packing *packing);

int __wrap_jitreg_packing_build(struct jitreg_packing *packing)
{
	void (*fn)(struct gorgon_ns *ns) = meanwhile;

	pass(pack_takes);
	meanwhile = NULL;
	if (fn)
		fn(meanwhile_ns);
	return __real_jitreg_packing_build(packing);
}

// Stand for the functions of libjitreg that make lines: whether the loader's lock was held when one was called first.
static bool lines_were_looked_for, lock_was_held;

static void *try_lock(void *taken)
{
	*(bool *)taken = gorgon_trylock();
	if (*(bool *)taken)
		gorgon_unlock();
	return NULL;
}

static void note_lock(void)
{
	pthread_t thread;
	bool taken;

	if (!lines_were_looked_for) {
		assert_int_equal(pthread_create(&thread, NULL, try_lock, &taken), 0);
		pthread_join(thread, NULL);
		lock_was_held = !taken;
	}
	lines_were_looked_for = true;
}

int __wrap_jitreg_library_lines_find(const struct jitreg_model *model, struct jitreg_lines *ret);
int __real_jitreg_library_lines_find(const struct jitreg_model *model, struct jitreg_lines *ret);
int __wrap_jitreg_library_lines_find(const struct jitreg_model *model, struct jitreg_lines *ret)
{
	note_lock();
	return __real_jitreg_library_lines_find(model, ret);
}

void __wrap_jitreg_library_lines_keep(const struct jitreg_model *model);
void __real_jitreg_library_lines_keep(const struct jitreg_model *model);
void __wrap_jitreg_library_lines_keep(const struct jitreg_model *model)
{
	note_lock();
	__real_jitreg_library_lines_keep(model);
}

// Making lines takes long the first time, and other threads want the lock.
static void lazy_lines_are_made_before_the_lock_is_taken(void **state)
{
	struct gorgon_ns *ns = create(GORGON_DEBUG_LAZY);

	(void)state;
	lines_were_looked_for = false;
	test_open(ns, "libbasic.so");
	assert_true(lines_were_looked_for);
	assert_false(lock_was_held);
	test_ns_destroy(ns);
}

// When the ninth namespace comes, objects of the first eight need lines.
static void auto_lines_of_the_first_are_made_before_the_lock_is_taken(void **state)
{
	struct gorgon_ns *ns[FEW + 1];

	(void)state;
	lines_were_looked_for = false;
	for (size_t i = 0; i < FEW; i++) {
		ns[i] = create(GORGON_DEBUG_AUTO);
		test_open(ns[i], "libtls.so");
	}
	assert_false(lines_were_looked_for);
	ns[FEW] = create(GORGON_DEBUG_AUTO);
	test_open(ns[FEW], "libbasic.so");
	assert_true(lines_were_looked_for);
	assert_false(lock_was_held);
	for (size_t i = 0; i < FEW + 1; i++)
		test_ns_destroy(ns[i]);
}

// @ns becomes quiet and is packed, and @fn happens while its pack is built.
static void pack_and(struct gorgon_ns *ns, void (*fn)(struct gorgon_ns *ns))
{
	meanwhile = fn;
	meanwhile_ns = ns;
	make_quiet();
	something_else_loads();
	assert_null(meanwhile);
}

static void look_at_the_lock(struct gorgon_ns *ns)
{
	pthread_t thread;
	bool taken;

	(void)ns;
	assert_int_equal(pthread_create(&thread, NULL, try_lock, &taken), 0);
	pthread_join(thread, NULL);
	assert_true(taken);
}

static void lazy_pack_is_built_without_the_lock(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	pack_and(ns, look_at_the_lock);
	assert_described(ns, TOGETHER);
	test_ns_destroy(ns);
}

static void open_basic(struct gorgon_ns *ns)
{
	test_open(ns, "libbasic.so");
}

static void lazy_namespace_loading_while_it_is_packed_waits_again(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	pack_and(ns, open_basic);
	assert_described(ns, APART);
	make_quiet();
	something_else_loads();
	assert_described(ns, TOGETHER);
	assert_int_equal(jitreg_count(), 1);
	test_ns_destroy(ns);
	assert_int_equal(jitreg_count(), 0);
}

static void close_top(struct gorgon_ns *ns)
{
	gorgon_object_close(ns->last);
}

static void lazy_namespace_unloading_while_it_is_packed_waits_again(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	test_open(ns, "libbasic.so");
	pack_and(ns, close_top);
	assert_described(ns, TOGETHER); // the namespace is as quiet as before
	assert_int_equal(jitreg_count(), 1);
	test_ns_destroy(ns);
}

static void lazy_namespace_may_end_while_it_is_packed(void **state)
{
	struct test_snapshot before;

	(void)state;
	something_else_loads();
	before = test_snapshot();
	pack_and(create_top(GORGON_DEBUG_LAZY), test_ns_destroy);
	assert_int_equal(jitreg_count(), 0);
	test_trim(NULL);
	assert_unchanged(&before);
}

// A child does not have the thread that packs.
static int pack_in_child(void *arg)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)arg;
	make_quiet();
	something_else_loads();
	return ns->first->debug.symfile != ns->last->debug.symfile;
}

static void *fork_child(void *status)
{
	*(int *)status = test_in_child(pack_in_child, NULL);
	return NULL;
}

static void fork_on_another_thread(struct gorgon_ns *ns)
{
	pthread_t thread;
	int status = -1;

	(void)ns;
	assert_int_equal(pthread_create(&thread, NULL, fork_child, &status), 0);
	pthread_join(thread, NULL);
	assert_int_equal(status, 0);
}

static void fork_while_somebody_packs_leaves_a_child_that_packs(void **state)
{
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	pack_and(ns, fork_on_another_thread);
	assert_described(ns, TOGETHER);
	test_ns_destroy(ns);
}

static size_t count_together(struct gorgon_ns *const *ns, size_t count)
{
	size_t ret = 0;

	for (size_t i = 0; i < count; i++)
		ret += ns[i]->first->debug.symfile == ns[i]->last->debug.symfile;
	return ret;
}

// Each caller goes on where the one before has stopped.
static void lazy_slow_packing_is_shared_by_callers(void **state)
{
	struct gorgon_ns *ns[6];

	(void)state;
	// Six different sets, so that there are no packs for them yet.
	for (size_t i = 0; i < 6; i++)
		ns[i] = create_top(GORGON_DEBUG_LAZY);
	make_quiet();
	pack_takes = 0.04; // three packs take more than 100 ms
	gorgon_lock();
	for (size_t calls = 1; calls <= 2; calls++) {
		gorgon_debug_mode_changed(ns[5]);
		gorgon_debug_mode_unlock(NULL);
		gorgon_lock();
		assert_int_equal(count_together(ns, 6), 3 * calls);
	}
	gorgon_unlock();
	pack_takes = 0;
	for (size_t i = 0; i < 6; i++)
		test_ns_destroy(ns[i]);
}

static void lazy_set_that_is_known_is_packed_at_once(void **state)
{
	struct gorgon_ns *first = create_top(GORGON_DEBUG_LAZY), *second;

	(void)state;
	make_quiet();
	something_else_loads();
	second = create_top(GORGON_DEBUG_LAZY);
	assert_described(second, TOGETHER);
	test_open(second, "libbasic.so"); // there is no pack of this set yet
	assert_last_is_apart(second);
	test_ns_destroy(first);
	test_ns_destroy(second);
}

static void lazy_further_objects_are_packed_when_quiet_again(void **state)
{
	static const char *const more[] = {"libbasic.so", "libtls.so", "libthrow.so"};
	struct gorgon_ns *ns = create_top(GORGON_DEBUG_LAZY);

	(void)state;
	make_quiet();
	something_else_loads();
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		test_open(ns, more[i]);
		assert_last_is_apart(ns);
		assert_int_equal(jitreg_count(), 2);
		make_quiet();
		something_else_loads();
		assert_described(ns, TOGETHER);
		assert_int_equal(jitreg_count(), 1);
	}
	test_ns_destroy(ns);
}

static void close_object_of_a_pack_leaves_the_others_packed(void **state)
{
	struct gorgon_ns *ns = create(GORGON_DEBUG_LAZY);
	struct gorgon_object *object = test_open(ns, "libbasic.so");
	uint64_t before;

	(void)state;
	test_open(ns, "libtop.so");
	make_quiet();
	something_else_loads();
	assert_described(ns, TOGETHER);
	before = ns->last->debug.symfile_size;
	gorgon_object_close(object);
	assert_described(ns, TOGETHER);
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
	full = create_top(GORGON_DEBUG_FULL); // it counts as a namespace, and stays as it is
	for (size_t i = 0; i < FEW - 1; i++)
		assert_described(ns[i], FULL);
	make_quiet();
	ns[FEW - 1] = create_top(GORGON_DEBUG_AUTO);
	for (size_t i = 0; i < FEW - 1; i++)
		assert_described(ns[i], TOGETHER);
	assert_described(full, FULL);
	ns[FEW] = create_top(GORGON_DEBUG_AUTO); // there is a pack of this set
	assert_described(ns[FEW], TOGETHER);
	for (size_t i = 0; i < FEW + 1; i++)
		test_ns_destroy(ns[i]);
	test_ns_destroy(full);
	ns[0] = create_top(GORGON_DEBUG_AUTO); // there are few namespaces again
	make_quiet();
	something_else_loads();
	assert_described(ns[0], FULL);
	test_ns_destroy(ns[0]);
}

// What was loaded while there were many namespaces has no DWARF, so it is packed even when there are few.
static void auto_many_for_a_moment_is_packed_nonetheless(void **state)
{
	struct gorgon_ns *ns[FEW + 1];

	(void)state;
	for (size_t i = 0; i < FEW + 1; i++)
		ns[i] = create(GORGON_DEBUG_AUTO);
	open_top(ns[0]);
	assert_described(ns[0], APART);
	for (size_t i = 1; i < FEW + 1; i++)
		test_ns_destroy(ns[i]);
	ns[1] = create_top(GORGON_DEBUG_AUTO);
	assert_described(ns[1], FULL);
	make_quiet();
	make_quiet();
	something_else_loads();
	assert_described(ns[0], TOGETHER);
	assert_described(ns[1], FULL);
	test_ns_destroy(ns[0]);
	test_ns_destroy(ns[1]);
}

// There is nothing to pack in it, however long it is quiet: whoever loads meanwhile does not try again and again.
static void auto_namespace_that_has_loaded_nothing_is_passed_over(void **state)
{
	struct gorgon_ns *empty = create(GORGON_DEBUG_AUTO), *ns[FEW];

	(void)state;
	for (size_t i = 0; i < FEW; i++) {
		make_quiet();
		ns[i] = create_top(GORGON_DEBUG_AUTO);
	}
	assert_described(ns[0], TOGETHER);
	open_top(empty);
	assert_described(empty, TOGETHER);
	test_ns_destroy(empty);
	for (size_t i = 0; i < FEW; i++)
		test_ns_destroy(ns[i]);
}

static void auto_eight_namespaces_stay_full(void **state)
{
	struct gorgon_ns *ns[FEW];

	(void)state;
	for (size_t i = 0; i < FEW; i++) {
		ns[i] = create_top(GORGON_DEBUG_AUTO);
		make_quiet();
	}
	test_open(ns[0], "libbasic.so");
	for (size_t i = 0; i < FEW; i++)
		assert_described(ns[i], FULL);
	for (size_t i = 0; i < FEW; i++)
		test_ns_destroy(ns[i]);
}

// While namespaces are importing, no pack is made that only their sets of this moment would have.
static void auto_ninth_namespace_converts_each_object_of_those_that_load(void **state)
{
	struct gorgon_ns *ns[FEW + 1];

	(void)state;
	for (size_t i = 0; i < FEW; i++)
		ns[i] = create_top(GORGON_DEBUG_AUTO);
	meanwhile = open_basic;
	meanwhile_ns = ns[0];
	ns[FEW] = create_top(GORGON_DEBUG_AUTO);
	assert_null(meanwhile);
	for (size_t i = 0; i < FEW + 1; i++)
		assert_described(ns[i], APART);
	make_quiet();
	something_else_loads();
	for (size_t i = 0; i < FEW + 1; i++) {
		assert_described(ns[i], TOGETHER);
		test_ns_destroy(ns[i]);
	}
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
			assert_described(other, FULL);
			assert_int_equal(kind_of(ns->first), JITREG_SYMFILE_FULL);
		}
		assert_ok(gorgon_object_open(ns, path, NULL, &object));
	}
	free(bytes);
	// Both may be about to load more.
	assert_described(other, APART);
	assert_described(ns, APART);
	make_quiet();
	something_else_loads();
	assert_described(other, TOGETHER);
	// So many objects have two descriptions: one of the first object, and one of all others.
	assert_int_equal(jitreg_count(), 1 + 2);
	for (const struct gorgon_object *o = ns->first; o; o = o->next) {
		assert_int_equal(kind_of(o), JITREG_SYMFILE_PACK);
		assert_int_equal(o->debug.symfile == ns->last->debug.symfile, o != ns->first);
	}
	test_ns_destroy(ns);
	test_ns_destroy(other);
}

// A namespace that is destroyed leaves the queue, wherever in it it is.
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
		fresh_unit_test(full_many_namespaces_stay_full),
		fresh_unit_test(off_nothing_is_registered),
		fresh_unit_test(lazy_objects_loaded_together_are_described_together),
		fresh_unit_test(lazy_namespace_is_packed_when_quiet),
		fresh_unit_test(lazy_namespace_not_quiet_is_left_alone),
		fresh_unit_test(lazy_namespace_loading_more_waits_again),
		fresh_unit_test(lazy_namespace_about_to_load_is_left_alone),
		fresh_unit_test(lazy_set_that_is_known_is_packed_at_once),
		fresh_unit_test(lazy_lines_are_made_before_the_lock_is_taken),
		fresh_unit_test(auto_lines_of_the_first_are_made_before_the_lock_is_taken),
		fresh_unit_test(lazy_pack_is_built_without_the_lock),
		fresh_unit_test(lazy_namespace_loading_while_it_is_packed_waits_again),
		fresh_unit_test(lazy_namespace_unloading_while_it_is_packed_waits_again),
		fresh_unit_test(lazy_namespace_may_end_while_it_is_packed),
		fresh_unit_test(fork_while_somebody_packs_leaves_a_child_that_packs),
		fresh_unit_test(lazy_further_objects_are_packed_when_quiet_again),
		fresh_unit_test(close_object_of_a_pack_leaves_the_others_packed),
		fresh_unit_test(auto_ninth_namespace_converts_all),
		fresh_unit_test(auto_many_for_a_moment_is_packed_nonetheless),
		fresh_unit_test(auto_namespace_that_has_loaded_nothing_is_passed_over),
		fresh_unit_test(auto_eight_namespaces_stay_full),
		fresh_unit_test(auto_ninth_namespace_converts_each_object_of_those_that_load),
		fresh_unit_test(auto_many_objects_convert_all),
		fresh_unit_test(lazy_slow_packing_is_shared_by_callers),
		fresh_unit_test(destroy_waiting_namespaces_are_forgotten),
	};

	return cmocka_run_group_tests_name("packing", tests, test_warm_up, NULL);
}
