// SPDX-License-Identifier: MIT
// loader/process/memory/jit_mirror.c: what a private compiler registers is in the one list that
// debuggers read, and leaves it when it is taken back.

#define _GNU_SOURCE
#include "helpers.h"

#include "../jitreg/descriptor.h"
#include "process/memory/jit_mirror.h"
#include "process/part.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

// How these modules call __jit_debug_register_code: directly, through the GOT, without a mutex, and with a
// descriptor that they reset after each call; see modules.mk.
static const char *const modules[] = {"libjit_direct.so", "libjit_exported.so", "libjit_late.so",
				      "libjit_symbolic.so"};

#define MODULE_COUNT (sizeof(modules) / sizeof(*modules))

struct jit {
	struct gorgon_ns *ns;
	struct gorgon_object *object;
	int (*add)(const char *name);
	int (*add_broken)(const char *name);
	int (*call)(int number, int value);
	void (*remove)(int number);
	void (*protect)(void);
	const void *(*code)(int number);
	const void *(*symfile)(int number, uint64_t *size);
};

static struct jit jit_open_in(struct gorgon_ns *ns, const char *module)
{
	struct gorgon_object *object = test_open(ns, module);

	return (struct jit){
		.ns = ns,
		.object = object,
		.add = SYMBOL(object, int (*)(const char *), "jit_add"),
		.add_broken = SYMBOL(object, int (*)(const char *), "jit_add_broken"),
		.call = SYMBOL(object, int (*)(int, int), "jit_call"),
		.remove = SYMBOL(object, void (*)(int), "jit_remove"),
		.protect = SYMBOL(object, void (*)(void), "jit_protect"),
		.code = SYMBOL(object, const void *(*)(int), "jit_code"),
		.symfile = SYMBOL(object, const void *(*)(int, uint64_t *), "jit_symfile"),
	};
}

static struct jit jit_open(const char *module)
{
	return jit_open_in(test_ns(), module);
}

// Our entry for the code of a function, or NULL.
static const struct jitreg_debug_entry *entry_of(const struct jit *jit, int number)
{
	uint64_t code = (uintptr_t)jit->code(number);
	const struct jit_code_entry *entry = __jit_debug_descriptor.first_entry;

	for (; entry; entry = entry->next_entry) {
		const struct jitreg_debug_entry *debug = (const struct jitreg_debug_entry *)entry;

		if (debug->start == code)
			return debug;
	}
	return NULL;
}

static void assert_registered(const struct jit *jit, int number)
{
	const struct jitreg_debug_entry *entry = entry_of(jit, number);
	uint64_t size;
	const void *symfile = jit->symfile(number, &size);

	assert_non_null(entry);
	assert_int_equal(entry->base.symfile_size, size);
	assert_memory_equal(entry->base.symfile_addr, symfile, size);
	assert_ptr_not_equal(entry->base.symfile_addr, symfile);
}

static void register_before_the_code_can_run_in_every_kind_of_library(void **state)
{
	(void)state;
	for (size_t i = 0; i < MODULE_COUNT; i++) {
		struct test_snapshot before = test_snapshot();
		struct jit jit = jit_open(modules[i]);
		int first = jit.add("first"), second = jit.add("second");

		assert_registered(&jit, first);
		assert_registered(&jit, second);
		assert_int_equal(jit.call(second, 41), 42);
		test_ns_destroy(jit.ns);
		assert_unchanged(&before);
	}
}

static void unregister_first_middle_and_last_each_goes_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < MODULE_COUNT; i++) {
		struct jit jit = jit_open(modules[i]);
		int numbers[] = {jit.add("a"), jit.add("b"), jit.add("c"), jit.add("d"), jit.add("e")};
		static const int order[] = {2, 0, 4, 1, 3};

		for (size_t gone = 0; gone < 5; gone++) {
			size_t before = test_snapshot().jit_entries;

			jit.remove(numbers[order[gone]]);
			assert_int_equal(test_snapshot().jit_entries, before - 1);
			for (size_t left = gone + 1; left < 5; left++)
				assert_registered(&jit, numbers[order[left]]);
		}
		test_ns_destroy(jit.ns);
	}
}

static void register_again_at_the_same_entry_is_the_new_code(void **state)
{
	struct jit jit = jit_open("libjit_direct.so");
	int number = jit.add("before");

	(void)state;
	jit.remove(number);
	assert_int_equal(jit.add("after"), number);
	assert_registered(&jit, number);
	assert_non_null(memmem(entry_of(&jit, number)->base.symfile_addr,
			       entry_of(&jit, number)->base.symfile_size, "after", 6));
	test_ns_destroy(jit.ns);
}

static void close_what_was_forgotten_goes_with_the_library(void **state)
{
	(void)state;
	for (size_t i = 0; i < MODULE_COUNT; i++) {
		struct gorgon_ns *ns = test_ns();
		struct test_snapshot before = test_snapshot();
		struct jit jit = jit_open_in(ns, modules[i]);

		jit.add("forgotten");
		jit.add("too");
		gorgon_object_close(jit.object);
		assert_int_equal(test_snapshot().jit_entries, before.jit_entries);
		test_ns_destroy(ns);
	}
}

static void copies_each_has_its_own(void **state)
{
	struct jit a = jit_open("libjit_direct.so"), b = jit_open("libjit_direct.so");
	int of_a = a.add("one"), of_b = b.add("one");

	(void)state;
	assert_registered(&a, of_a);
	assert_registered(&b, of_b);
	assert_ptr_not_equal(entry_of(&a, of_a), entry_of(&b, of_b));
	test_ns_destroy(a.ns);
	assert_registered(&b, of_b);
	test_ns_destroy(b.ns);
}

// --- what is not handed on ----------------------------------------------------------

static char last_line[256];

static void keep_line(void *ctx, const char *line)
{
	(void)ctx;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static void register_malformed_is_left_out_and_said_at_the_end(void **state)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .log = keep_line};
	struct gorgon_ns *ns;
	struct jit jit;
	int broken, good;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	jit = jit_open_in(ns, "libjit_direct.so");
	broken = jit.add_broken("broken");
	good = jit.add("good");
	assert_null(entry_of(&jit, broken));
	assert_registered(&jit, good);
	test_ns_destroy(ns);
	assert_non_null(strstr(last_line, "libjit_direct.so: 1 of its object files were not handed on"));
}

static void register_without_debuggers_is_not_handed_on(void **state)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .debug = GORGON_DEBUG_OFF};
	struct gorgon_ns *ns;

	(void)state;
	for (size_t i = 0; i < MODULE_COUNT; i++) {
		struct jit jit;
		int number;

		assert_ok(gorgon_ns_create(&opts, &ns));
		jit = jit_open_in(ns, modules[i]);
		number = jit.add("unseen");
		assert_null(entry_of(&jit, number));
		assert_int_equal(jit.call(number, 1), 2);
		test_ns_destroy(ns);
	}
}

// --- at the same time -----------------------------------------------------------------

#define ROUNDS 300

struct race {
	struct jit jit;
	bool ended;
};

static void *add_and_remove(void *arg)
{
	struct race *race = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int a = race->jit.add("a"), b = race->jit.add("b");

		race->jit.remove(a);
		race->jit.remove(b);
	}
	__atomic_store_n(&race->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static void *protect(void *arg)
{
	struct race *race = arg;

	while (!__atomic_load_n(&race->ended, __ATOMIC_ACQUIRE))
		race->jit.protect();
	return NULL;
}

// One thread changes the list, and another thread of the same namespace makes us read it without the registrar's
// mutex. Entries are overwritten as soon as they are out of the list.
static void look_while_the_list_changes_reads_no_half_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < MODULE_COUNT; i++) {
		struct race races[2] = {{jit_open(modules[i]), false}, {jit_open(modules[i]), false}};
		size_t before = test_snapshot().jit_entries;
		pthread_t threads[4];

		for (int t = 0; t < 4; t++)
			assert_int_equal(pthread_create(&threads[t], NULL,
							t % 2 ? protect : add_and_remove, &races[t / 2]),
					 0);
		for (int t = 0; t < 4; t++)
			pthread_join(threads[t], NULL);
		assert_int_equal(test_snapshot().jit_entries, before);
		for (int r = 0; r < 2; r++)
			test_ns_destroy(races[r].jit.ns);
	}
}

static void *protect_once(void *arg)
{
	((struct jit *)arg)->protect();
	return NULL;
}

// As when a debugger calls a function while it has stopped the thread that has the lock.
static void look_where_nothing_changed_waits_for_nobody(void **state)
{
	struct jit jit = jit_open("libjit_direct.so");
	struct timespec limit;
	pthread_t thread;
	int limit_passed;

	(void)state;
	pthread_mutex_lock(gorgon_jit_mirror_part.lock);
	assert_int_equal(pthread_create(&thread, NULL, protect_once, &jit), 0);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	limit_passed = pthread_timedjoin_np(thread, NULL, &limit);
	pthread_mutex_unlock(gorgon_jit_mirror_part.lock);
	assert_int_equal(limit_passed, 0);
	test_ns_destroy(jit.ns);
}

static int forked(void *arg)
{
	struct jit *jit = arg;
	int number = jit->add("of the child");

	return entry_of(jit, number) && jit->call(number, 5) == 6 ? 0 : 1;
}

static void fork_child_goes_on_registering(void **state)
{
	struct jit jit = jit_open("libjit_direct.so");
	int number = jit.add("of the parent");
	size_t before = test_snapshot().jit_entries;

	(void)state;
	assert_int_equal(test_in_child(forked, &jit), 0);
	assert_int_equal(test_snapshot().jit_entries, before);
	assert_registered(&jit, number);
	test_ns_destroy(jit.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_before_the_code_can_run_in_every_kind_of_library),
		cmocka_unit_test(unregister_first_middle_and_last_each_goes_alone),
		cmocka_unit_test(register_again_at_the_same_entry_is_the_new_code),
		cmocka_unit_test(close_what_was_forgotten_goes_with_the_library),
		cmocka_unit_test(copies_each_has_its_own),
		cmocka_unit_test(register_malformed_is_left_out_and_said_at_the_end),
		cmocka_unit_test(register_without_debuggers_is_not_handed_on),
		cmocka_unit_test(look_while_the_list_changes_reads_no_half_list),
		cmocka_unit_test(look_where_nothing_changed_waits_for_nobody),
		cmocka_unit_test(fork_child_goes_on_registering),
	};

	return cmocka_run_group_tests(tests, test_warm_up, NULL);
}
