// SPDX-License-Identifier: MIT
// loader/ns/debug_root.c: the lists as a debugger reads them, from the variable alone.

#define _GNU_SOURCE
#include "helpers.h"

#include "ns/ns.h"
#include "image/symbol.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct gorgon_debug_ns *ns_at(uint64_t addr)
{
	return (const struct gorgon_debug_ns *)(uintptr_t)addr;
}

static const struct gorgon_debug_object *object_at(uint64_t addr)
{
	return (const struct gorgon_debug_object *)(uintptr_t)addr;
}

// Walk everything, forwards and backwards, and compare with the counts.
static void check_lists(void)
{
	const struct gorgon_debug_root *root = &gorgon_debug_root;
	uint32_t namespaces = 0, objects = 0;
	uint64_t prev = 0;

	assert_int_equal(root->sequence % 2, 0);
	for (uint64_t n = root->ns_head; n; prev = n, n = ns_at(n)->next) {
		uint64_t prev_object = 0;
		uint32_t count = 0;

		assert_int_equal(ns_at(n)->prev, prev);
		for (uint64_t o = ns_at(n)->object_head; o; prev_object = o,
		     o = object_at(o)->next) {
			assert_int_equal(object_at(o)->prev, prev_object);
			assert_int_equal(object_at(o)->ns, n);
			count++;
		}
		assert_int_equal(ns_at(n)->object_tail, prev_object);
		assert_int_equal(ns_at(n)->object_count, count);
		objects += count;
		namespaces++;
	}
	assert_int_equal(root->ns_tail, prev);
	assert_int_equal(root->ns_count, namespaces);
	assert_int_equal(root->object_count, objects);
}

static const struct gorgon_debug_ns *find_ns(uint64_t id)
{
	uint64_t n = gorgon_debug_root.ns_head;

	while (n && ns_at(n)->id != id)
		n = ns_at(n)->next;
	return ns_at(n);
}

static const Elf64_Sym *symbol_of(const struct gorgon_object *object, const char *name)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, NULL);
	const Elf64_Sym *sym = gorgon_symbol_find(object->image, &query);

	assert_non_null(sym);
	return sym;
}

static void debug_root_header_describes_the_format(void **state)
{
	const struct gorgon_debug_root *root = &gorgon_debug_root;
	struct gorgon_ns *ns = test_ns();

	(void)state;
	assert_memory_equal(root->magic, "GORGONDR", 8);
	assert_int_equal(root->version, 1);
	assert_int_equal(root->size, 96);
	assert_int_equal(root->ns_size, 152);
	assert_int_equal(root->object_size, 136);
	assert_int_equal(root->thread_size, 56);
	test_ns_destroy(ns);
}

static void debug_root_namespaces_are_chained_by_their_last_change(void **state)
{
	struct gorgon_ns *ns[3] = {test_ns(), test_ns(), test_ns()};
	const struct gorgon_debug_ns *last, *first, *middle;
	uint64_t sequence = gorgon_debug_root.sequence;

	(void)state;
	test_open(ns[0], "libbasic.so");
	first = ns_at(gorgon_debug_root.changed_head);
	last = ns_at(first->changed_next);
	middle = ns_at(last->changed_next);
	assert_int_equal(first->id, gorgon_ns_id(ns[0]));
	assert_int_equal(last->id, gorgon_ns_id(ns[2]));
	assert_int_equal(middle->id, gorgon_ns_id(ns[1]));
	assert_int_equal(middle->changed_next, 0);
	assert_true(first->sequence > sequence);
	assert_true(last->sequence <= sequence); // a debugger would stop here and read
	assert_true(middle->sequence < last->sequence);
	test_ns_destroy(ns[2]);
	assert_int_equal(first->changed_next, (uintptr_t)middle);
	assert_int_equal(middle->changed_prev, (uintptr_t)first);
	test_ns_destroy(ns[0]);
	test_ns_destroy(ns[1]);
	assert_int_equal(gorgon_debug_root.changed_head, 0);
}

static void debug_root_namespaces_are_listed_oldest_first(void **state)
{
	struct gorgon_ns *ns[3] = {test_ns(), test_ns(), test_ns()};

	(void)state;
	check_lists();
	assert_int_equal(ns_at(gorgon_debug_root.ns_head)->id, gorgon_ns_id(ns[0]));
	assert_int_equal(ns_at(gorgon_debug_root.ns_tail)->id, gorgon_ns_id(ns[2]));
	assert_int_equal(find_ns(gorgon_ns_id(ns[1]))->interp, GORGON_DEBUG_NO_INTERP);
	assert_int_equal(find_ns(gorgon_ns_id(ns[1]))->state, GORGON_DEBUG_NS_LIVE);
	assert_int_equal(find_ns(gorgon_ns_id(ns[1]))->python_minor, 0);
	test_ns_destroy(ns[1]); // from the middle
	check_lists();
	assert_null(find_ns(gorgon_ns_id(ns[0]) + 1));
	test_ns_destroy(ns[0]);
	check_lists();
	test_ns_destroy(ns[2]);
	check_lists();
	assert_int_equal(gorgon_debug_root.ns_head, 0);
	assert_int_equal(gorgon_debug_root.ns_tail, 0);
}

struct cursor {
	uint64_t object;
	unsigned count;
};

static bool compare(void *ctx, struct gorgon_object *object)
{
	struct cursor *cursor = ctx;
	const struct gorgon_debug_object *debug = object_at(cursor->object);
	struct gorgon_object_info info;

	gorgon_object_get_info(object, &info);
	assert_non_null(debug);
	assert_string_equal((const char *)(uintptr_t)debug->path, info.path);
	assert_int_equal(debug->path_size, strlen(info.path));
	assert_int_equal(debug->bias, info.bias);
	assert_int_equal(debug->start, info.start);
	assert_int_equal(debug->end, info.end);
	assert_int_equal(debug->debug_path, (uintptr_t)info.debug_path);
	if (info.debug_path)
		assert_int_equal(debug->debug_path_size, strlen(info.debug_path));
	cursor->object = debug->next;
	cursor->count++;
	return true;
}

static void debug_root_objects_match_their_info_in_load_order(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct cursor cursor = {0};

	(void)state;
	test_open(ns, "libcatch.so");
	test_open(ns, "libtop.so");
	check_lists();
	cursor.object = find_ns(gorgon_ns_id(ns))->object_head;
	gorgon_ns_for_each_object(ns, compare, &cursor);
	assert_int_equal(cursor.object, 0);
	assert_int_equal(cursor.count, 5);
	test_ns_destroy(ns);
	check_lists();
}

static const struct gorgon_debug_object *only_object(struct gorgon_ns *ns)
{
	return object_at(find_ns(gorgon_ns_id(ns))->object_head);
}

static void debug_root_object_has_symfile_build_id_and_tls(void **state)
{
	struct gorgon_ns *ns = test_ns();
	const struct gorgon_debug_object *debug;

	(void)state;
	test_open(ns, "libtls.so");
	debug = only_object(ns);
	assert_int_not_equal(debug->symfile, 0);
	assert_true(debug->symfile_size > 64);
	assert_memory_equal((const void *)(uintptr_t)debug->symfile, "\177ELF", 4);
	assert_int_equal(debug->build_id_size, 20);
	assert_int_not_equal(debug->build_id, 0);
	assert_int_not_equal(debug->tls_module, 0);
	test_ns_destroy(ns);
}

static void debug_root_debug_off_keeps_entries_without_symfile(void **state)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .debug = GORGON_DEBUG_OFF};
	size_t jit_entries = test_snapshot().jit_entries;
	struct gorgon_ns *ns = NULL;

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	test_open(ns, "libbasic.so");
	assert_int_equal(test_snapshot().jit_entries, jit_entries);
	assert_int_equal(only_object(ns)->symfile, 0);
	assert_int_not_equal(only_object(ns)->path_size, 0);
	test_ns_destroy(ns);
}

static void debug_root_sequence_and_time_advance_with_changes(void **state)
{
	uint64_t sequence = gorgon_debug_root.sequence, time = gorgon_debug_root.timestamp;
	struct gorgon_ns *ns = test_ns();

	(void)state;
	assert_true(gorgon_debug_root.sequence >= sequence + 2);
	assert_true(gorgon_debug_root.timestamp > time);
	sequence = gorgon_debug_root.sequence;
	test_open(ns, "libbasic.so");
	assert_true(gorgon_debug_root.sequence >= sequence + 2);
	assert_int_equal(gorgon_debug_root.sequence % 2, 0);
	test_ns_destroy(ns);
}

// A load that fails lists nothing.
static void debug_root_failed_load_leaves_lists_alone(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;

	(void)state;
	assert_error(gorgon_object_open(ns, test_module("libundefined_dep.so"), NULL, &object),
		     GORGON_ERROR_UNRESOLVED, "nobody_defines_this");
	check_lists();
	assert_int_equal(find_ns(gorgon_ns_id(ns))->object_count, 0);
	test_ns_destroy(ns);
}

static void debug_root_busy_namespace_is_shown_as_unloading(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");

	uint64_t sequence = gorgon_debug_root.sequence;

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(void), "thread_start")(), 0);
	assert_error(gorgon_ns_destroy(ns), GORGON_ERROR_BUSY, "still run");
	assert_int_equal(find_ns(gorgon_ns_id(ns))->state, GORGON_DEBUG_NS_UNLOADING);
	assert_true(gorgon_debug_root.sequence >= sequence + 2);
	check_lists();
	// The object's names are taken away, but its functions are still mapped.
	((void (*)(void))gorgon_object_find_symbol(object, "thread_release", NULL))();
	((int (*)(void))gorgon_object_find_symbol(object, "thread_join", NULL))();
	test_ns_destroy(ns);
}

static void *load_and_unload(void *arg)
{
	for (int i = 0; i < 50; i++) {
		struct gorgon_ns *ns = NULL;
		struct gorgon_object *object;

		if (gorgon_ns_create(NULL, &ns) ||
		    gorgon_object_open(ns, test_module("libtop.so"), NULL, &object) ||
		    gorgon_ns_destroy(ns))
			return "failed";
	}
	return arg;
}

static uint64_t block_of(const struct gorgon_debug_object *object, pid_t tid)
{
	const struct gorgon_debug_thread *thread =
		(const struct gorgon_debug_thread *)(uintptr_t)gorgon_debug_root.thread_head;

	for (; thread; thread = (const struct gorgon_debug_thread *)(uintptr_t)thread->next) {
		const struct gorgon_debug_slot *slots =
			(const struct gorgon_debug_slot *)(uintptr_t)thread->slots;

		for (uint64_t i = 0; thread->tid == (uint64_t)tid && i < thread->slot_count; i++)
			if (slots[i].module == object->tls_module)
				return slots[i].block;
	}
	return 0;
}

// What a debugger needs to find a thread's variable: its block, or the distance from the
// thread pointer; and the symbol's offset in it.
static void debug_root_threads_lead_to_their_blocks(void **state)
{
	static const char *const names[] = {"libtls_small.so", "libtls_ie.so"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gorgon_ns *ns = test_ns();
		struct gorgon_object *object = test_open(ns, names[i]);
		const struct gorgon_debug_object *debug = &object->debug;
		char *value = SYMBOL(object, char *, "tls_value");
		char *zero = SYMBOL(object, char *, "tls_zero");
		uint64_t block = block_of(debug, gettid());
		const Elf64_Sym *sym = symbol_of(object, "tls_value");

		assert_int_not_equal(debug->tls_module, 0);
		assert_int_equal(block + sym->st_value, (uintptr_t)value);
		assert_int_equal(block + symbol_of(object, "tls_zero")->st_value, (uintptr_t)zero);
		assert_int_equal(debug->static_tls != 0, i == 1);
		if (debug->static_tls)
			assert_int_equal((uintptr_t)__builtin_thread_pointer() + debug->static_tls,
					 block);
		assert_int_equal(block_of(debug, 1), 0);
		test_ns_destroy(ns);
	}
}

static void debug_root_many_threads_leave_whole_lists(void **state)
{
	pthread_t threads[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_and_unload, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	check_lists();
	assert_int_equal(gorgon_debug_root.ns_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_root_header_describes_the_format),
		cmocka_unit_test(debug_root_namespaces_are_chained_by_their_last_change),
		cmocka_unit_test(debug_root_namespaces_are_listed_oldest_first),
		cmocka_unit_test(debug_root_objects_match_their_info_in_load_order),
		cmocka_unit_test(debug_root_object_has_symfile_build_id_and_tls),
		cmocka_unit_test(debug_root_debug_off_keeps_entries_without_symfile),
		cmocka_unit_test(debug_root_sequence_and_time_advance_with_changes),
		cmocka_unit_test(debug_root_failed_load_leaves_lists_alone),
		cmocka_unit_test(debug_root_busy_namespace_is_shown_as_unloading),
		cmocka_unit_test(debug_root_threads_lead_to_their_blocks),
		cmocka_unit_test(debug_root_many_threads_leave_whole_lists),
	};

	return cmocka_run_group_tests_name("debug_root", tests, test_warm_up, NULL);
}
