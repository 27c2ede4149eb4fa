// SPDX-License-Identifier: MIT
/*
 * The list of the descriptor and its lock: what a debugger sees at each event, and
 * what a reader sees that stops nobody.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../jitreg/descriptor.h"
#include "../jitreg/group.h"
#include "../jitreg/jitreg.h"
#include "jitreg_util.h"

#define BIAS      UINT64_C(0x100000000)
#define COUNT     64
#define THREADS   8
#define REPEATS   200
#define LIST_MAX  100000

/* What was in memory when the "debugger" stopped this process. */
struct stop {
	uint32_t action;
	struct jit_code_entry *entry;
	uint64_t sequence;
	uint64_t count;
	char magic[4]; // of the symfile: it is readable at both events
	bool linked;
};

static struct stop stops[8];
static size_t stop_count;

static bool is_linked(const struct jit_code_entry *entry)
{
	const struct jit_code_entry *e = __jit_debug_descriptor.first_entry;

	while (e && e != entry)
		e = e->next_entry;
	return e;
}

static void on_stop(void)
{
	struct stop *stop = &stops[stop_count++ % 8];

	stop->action = __jit_debug_descriptor.action_flag;
	stop->entry = __jit_debug_descriptor.relevant_entry;
	stop->sequence = jitreg_debug_root.sequence;
	stop->count = jitreg_debug_root.entry_count;
	stop->linked = is_linked(stop->entry);
	memcpy(stop->magic, stop->entry->symfile_addr, sizeof(stop->magic));
}

static void register_debugger_attached_sees_one_whole_entry_per_event(void **state)
{
	const struct jitreg_listing *listing;
	struct jitreg_entry *entry;
	uint64_t sequence = jitreg_debug_root.sequence;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	stop_count = 0;
	util_watch(on_stop);
	assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
	listing = entry->listing;
	jitreg_unregister(entry);
	util_watch_end();

	assert_int_equal(stop_count, 4);
	assert_int_equal(stops[0].action, JIT_REGISTER_FN);
	assert_ptr_equal(stops[0].entry, listing);
	assert_true(stops[0].linked);
	assert_int_equal(stops[0].count, 1);
	assert_int_equal(stops[0].sequence, sequence + 2); // even: whole
	assert_memory_equal(stops[0].magic, "\177ELF", 4);

	assert_int_equal(stops[1].action, JIT_UNREGISTER_FN);
	assert_ptr_equal(stops[1].entry, listing);
	assert_false(stops[1].linked);
	assert_int_equal(stops[1].count, 0);
	assert_int_equal(stops[1].sequence, sequence + 4);
	assert_memory_equal(stops[1].magic, "\177ELF", 4);

	// An empty symfile comes and goes, which makes gdb look at its breakpoints again.
	assert_int_equal(stops[2].action, JIT_REGISTER_FN);
	assert_ptr_not_equal(stops[2].entry, listing);
	assert_false(stops[2].linked);
	assert_memory_equal(stops[2].magic, "\177ELF", 4);
	assert_int_equal(stops[3].action, JIT_UNREGISTER_FN);
	assert_ptr_equal(stops[3].entry, stops[2].entry);
}

static void register_done_leaves_no_pending_action(void **state)
{
	struct jitreg_entry *entry;

	(void)state;
	assert_int_equal(__jit_debug_descriptor.version, 1);
	assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
	assert_int_equal(__jit_debug_descriptor.action_flag, JIT_NOACTION);
	assert_null(__jit_debug_descriptor.relevant_entry);
	jitreg_unregister(entry);
	assert_int_equal(__jit_debug_descriptor.action_flag, JIT_NOACTION);
	assert_null(__jit_debug_descriptor.relevant_entry);
	assert_null(__jit_debug_descriptor.first_entry);
}

static void register_root_describes_itself(void **state)
{
	const struct jitreg_debug_root *root = &jitreg_debug_root;
	const struct jitreg_debug_entry *first;
	uint64_t serial = root->serial, timestamp = root->timestamp;
	struct jitreg_entry *entry;

	(void)state;
	assert_memory_equal(root, "JITREG\0\1", 8);
	assert_int_equal(root->version, JITREG_DEBUG_VERSION);
	assert_int_equal(root->size, sizeof(*root));
	assert_int_equal(root->descriptor_size, sizeof(struct jit_descriptor));
	assert_int_equal(root->entry_size, sizeof(struct jitreg_debug_entry));
	assert_int_equal(root->descriptor, (uintptr_t)&__jit_debug_descriptor);

	assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
	first = (const struct jitreg_debug_entry *)__jit_debug_descriptor.first_entry;
	assert_memory_equal(&first->magic, "JITE", 4);
	assert_int_equal(first->serial, serial + 1);
	assert_int_equal(root->serial, serial + 1);
	assert_true(first->timestamp >= timestamp && root->timestamp >= first->timestamp);
	assert_int_equal(first->bias, BIAS);
	assert_int_equal(first->start, BIAS);
	assert_int_equal(first->end, BIAS + 0x10000000);
	jitreg_unregister(entry);
	assert_int_equal(root->serial, serial + 1); // never used again
}

/* The list must have exactly these entries in this order, forwards and backwards. */
static void assert_list(struct jitreg_entry **entries, size_t count)
{
	struct jit_code_entry *e = __jit_debug_descriptor.first_entry, *prev = NULL;

	for (size_t i = 0; i < count; i++) {
		assert_ptr_equal(e, entries[i]->listing);
		assert_ptr_equal(e->prev_entry, prev);
		prev = e;
		e = e->next_entry;
	}
	assert_null(e);
	assert_int_equal(jitreg_count(), count);
	assert_int_equal(jitreg_debug_root.entry_count, count);
}

static void unregister_random_order_keeps_list_linked(void **state)
{
	struct jitreg_entry *entries[COUNT];
	size_t count = 0;

	(void)state;
	srand(20240229);
	for (int step = 0; step < 2000; step++) {
		if (count < COUNT && (!count || rand() % 2)) {
			const char *path = util_path(rand() % 2 ? "self.so" : "names.so");

			assert_int_equal(util_register(path, BIAS * (1 + count), &entries[count]),
					 0);
			count++;
		} else {
			size_t i = (size_t)rand() % count;

			jitreg_unregister(entries[i]);
			memmove(&entries[i], &entries[i + 1], (--count - i) * sizeof(*entries));
		}
		assert_list(entries, count);
	}
	while (count)
		jitreg_unregister(entries[--count]);
	assert_list(entries, 0);
}

static void unregister_null_is_ignored(void **state)
{
	uint64_t sequence = jitreg_debug_root.sequence;

	(void)state;
	jitreg_unregister(NULL);
	assert_int_equal(jitreg_debug_root.sequence, sequence);
}

static void *hammer(void *arg)
{
	const char *path = arg;
	struct jitreg_entry *entries[4];
	struct jitreg_info info;

	for (int n = 0; n < REPEATS; n++) {
		for (int i = 0; i < 4; i++) {
			if (util_register(path, BIAS, &entries[i]))
				return "registering failed";
		}
		jitreg_entry_get_info(entries[0], &info);
		if (info.symfile == NULL)
			return "an entry has no symfile";
		for (int i = 0; i < 4; i++)
			jitreg_unregister(entries[i]);
	}
	return NULL;
}

static void start(pthread_t *threads)
{
	// copies: util_path() buffers are reused
	static char paths[2][256];

	strcpy(paths[0], util_path("self.so"));
	strcpy(paths[1], util_path("names.so"));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, paths[i % 2]), 0);
}

static void join(pthread_t *threads)
{
	for (int i = 0; i < THREADS; i++) {
		void *failure;

		assert_int_equal(pthread_join(threads[i], &failure), 0);
		assert_null(failure);
	}
}

static void register_many_threads_leaves_empty_list(void **state)
{
	pthread_t threads[THREADS];
	uint64_t serial = jitreg_debug_root.serial;

	(void)state;
	start(threads);
	join(threads);
	assert_list(NULL, 0);
	assert_true(jitreg_debug_root.serial >= serial + THREADS * REPEATS * 4);
	assert_int_equal(jitreg_debug_root.sequence % 2, 0);
}

static bool read_memory(const void *from, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)from, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/*
 * Read the list once, by the rules of descriptor.h, from memory that may go away. Returns 1 when the list was
 * consistent, 0 when it changed meanwhile, -1 when it was not what the sequence promised.
 */
static int read_snapshot(void)
{
	struct jitreg_debug_root root, after;
	struct jit_descriptor descriptor;
	struct jitreg_debug_entry entry;
	uint64_t found = 0;
	bool whole = true;

	if (!read_memory(&jitreg_debug_root, &root, sizeof(root)) || root.sequence % 2 ||
	    !read_memory((void *)root.descriptor, &descriptor, sizeof(descriptor)))
		return 0;
	for (const void *at = descriptor.first_entry; at && whole; at = entry.base.next_entry) {
		char magic[4];

		whole = found++ < LIST_MAX && read_memory(at, &entry, sizeof(entry)) &&
			entry.magic == JITREG_DEBUG_ENTRY_MAGIC && entry.size == sizeof(entry) &&
			read_memory(entry.base.symfile_addr, magic, sizeof(magic)) &&
			!memcmp(magic, "\177ELF", 4);
	}
	if (!read_memory(&jitreg_debug_root, &after, sizeof(after)) ||
	    after.sequence != root.sequence)
		return 0;
	return whole && found == root.entry_count ? 1 : -1;
}

static void read_list_changing_gives_whole_snapshots_or_says_so(void **state)
{
	struct jitreg_entry *entries[3];
	pthread_t threads[THREADS];
	int good = 0, wrong = 0;

	(void)state;
	if (read_snapshot() == 0) {
		skip_because("process_vm_readv is not permitted here");
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(util_register(util_path("self.so"), BIAS, &entries[i]), 0);
	start(threads);
	for (int i = 0; i < 20000; i++) {
		int r = read_snapshot();

		good += r == 1;
		wrong += r == -1;
	}
	join(threads);
	assert_int_equal(wrong, 0);
	assert_true(good > 0);
	assert_list(entries, 3);
	for (int i = 0; i < 3; i++)
		jitreg_unregister(entries[i]);
}

static void fork_child_inherits_list_and_usable_lock(void **state)
{
	struct jitreg_entry *entry, *second;
	pthread_t threads[THREADS];

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer calls the threads that a child does not have a leak");
	SKIP_UNDER_ASAN("a child waits for ever for the lock of the sanitizer's allocator that another thread held at fork()");
	assert_int_equal(util_register(util_path("self.so"), BIAS, &entry), 0);
	start(threads); // other threads take the lock, so that forks meet it held
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			size_t count = jitreg_count();
			bool ok = count >= 1 && jitreg_debug_root.sequence % 2 == 0;

			alarm(120); // ends a child in which the lock was left behind
			ok = ok && !util_register(util_path("names.so"), BIAS, &second) &&
			     jitreg_count() == count + 1;
			if (ok)
				jitreg_unregister(second);
			jitreg_unregister(entry);
			_exit(ok && jitreg_count() == count - 1 ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	join(threads);
	assert_list(&entry, 1);
	jitreg_unregister(entry);
}

static struct jitreg_entry *registered_in_prepare;
static bool prepare_enabled;

static void user_prepare(void)
{
	if (prepare_enabled)
		assert_int_equal(
			util_register(util_path("self.so"), BIAS, &registered_in_prepare), 0);
}

static void fork_user_prepare_handler_may_register(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer cannot follow a forked or traced child of threads");
	assert_int_equal(pthread_atfork(user_prepare, NULL, NULL), 0);
	prepare_enabled = true;
	alarm(120);
	pid = fork();
	if (pid == 0)
		_exit(jitreg_count() == 1 ? 0 : 1);
	prepare_enabled = false;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	alarm(0);
	assert_int_equal(status, 0);
	jitreg_unregister(registered_in_prepare);
}

static void version_of_library_is_that_of_header(void **state)
{
	(void)state;
	assert_int_equal(jitreg_version(), JITREG_VERSION_MAJOR << 16 | JITREG_VERSION_MINOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_done_leaves_no_pending_action),
		cmocka_unit_test(register_root_describes_itself),
		cmocka_unit_test(register_debugger_attached_sees_one_whole_entry_per_event),
		cmocka_unit_test(unregister_null_is_ignored),
		cmocka_unit_test(unregister_random_order_keeps_list_linked),
		cmocka_unit_test(register_many_threads_leaves_empty_list),
		cmocka_unit_test(read_list_changing_gives_whole_snapshots_or_says_so),
		cmocka_unit_test(fork_child_inherits_list_and_usable_lock),
		cmocka_unit_test(fork_user_prepare_handler_may_register),
		cmocka_unit_test(version_of_library_is_that_of_header),
	};

	return cmocka_run_group_tests_name("jitreg/descriptor", tests, util_setup, NULL);
}
