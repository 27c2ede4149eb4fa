// SPDX-License-Identifier: MIT
// loader/ns/thread.c, lock.c, process.c: threads of private code, destructors of
// thread_local variables, keys, exit, fork.

#define _GNU_SOURCE
#include "elf_builder.h"
#include "helpers.h"
#include "process/threads/tsd.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int call(struct gorgon_object *object, const char *name)
{
	return SYMBOL(object, int (*)(void), name)();
}

// --- thread_local destructors --------------------------------------------------------

static void *touch_and_end(void *arg)
{
	((int (*)(void))arg)();
	return NULL;
}

static void thread_atexit_destructor_runs_at_thread_exit(void **state)
{
	struct gorgon_ns *ns = test_ns();
	void *touch = test_symbol(test_open(ns, "libtls_dtor.so"), "tls_dtor_touch");
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, touch_and_end, touch), 0);
	pthread_join(thread, NULL);
	assert_string_equal(test_notes(), "-thread_local ");
	test_ns_destroy(ns);
	assert_string_equal(test_notes(), "");
}

static void thread_atexit_destructor_of_this_thread_delays_unload(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libtls_dtor.so");

	(void)state;
	assert_int_equal(call(object, "tls_dtor_touch"), 1);
	assert_int_equal(call(object, "tls_dtor_touch"), 2);
	assert_string_equal(test_notes(), "");
	gorgon_object_close(object);
	assert_string_equal(test_notes(), "");
	test_ns_destroy(ns);
	assert_string_equal(test_notes(), "-thread_local ");
}

struct step {
	int (*touch)(void);
	sem_t touched, go_on;
};

static void *touch_and_wait(void *arg)
{
	struct step *step = arg;

	step->touch();
	sem_post(&step->touched);
	sem_wait(&step->go_on);
	return NULL;
}

// A thread of the host has used the library and ends after the library has gone: the destructor would be a call
// into unmapped memory.
static void thread_atexit_destructor_of_other_thread_is_dropped_at_unload(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct step step;
	pthread_t thread;

	(void)state;
	step.touch = SYMBOL(test_open(ns, "libtls_dtor.so"), int (*)(void), "tls_dtor_touch");
	sem_init(&step.touched, 0, 0);
	sem_init(&step.go_on, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, touch_and_wait, &step), 0);
	sem_wait(&step.touched);
	test_ns_destroy(ns);
	sem_post(&step.go_on);
	pthread_join(thread, NULL);
	assert_string_equal(test_notes(), "");
}

static void *register_two(void *arg)
{
	int (*at_exit)(const char *) = (int (*)(const char *))arg;

	return at_exit("first") || at_exit("second") ? "failed" : NULL;
}

static void thread_atexit_destructors_run_in_reverse_order(void **state)
{
	struct gorgon_ns *ns = test_ns();
	void *at_exit = test_symbol(test_open(ns, "libthread.so"), "thread_atexit");
	pthread_t thread;
	void *failed = "";

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, register_two, at_exit), 0);
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_string_equal(test_notes(), "second first ");
	test_ns_destroy(ns);
}

// --- threads that private code starts ----------------------------------------------------

static void ns_destroy_thread_running_is_busy_and_repeatable(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");
	void (*release)(void) = SYMBOL(object, void (*)(void), "thread_release");
	int (*join)(void) = SYMBOL(object, int (*)(void), "thread_join");

	(void)state;
	assert_int_equal(call(object, "thread_start"), 0);
	assert_error(gorgon_ns_destroy(ns), GORGON_ERROR_BUSY,
		     "1 threads that its libraries started still run");
	assert_error(gorgon_ns_destroy(ns), GORGON_ERROR_BUSY, "still run");
	release(); // still mapped
	assert_int_equal(join(), 0);
	test_ns_destroy(ns);
	assert_int_equal(test_snapshot().file_maps, before.file_maps);
	assert_int_equal(test_snapshot().namespaces, before.namespaces);
}

// An end that was refused has finalised objects. Whoever closes something afterwards must not unmap them.
static void object_close_after_busy_unmaps_nothing(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");
	struct gorgon_object *other = test_open(ns, "libversion.so");
	size_t maps;

	(void)state;
	assert_int_equal(call(object, "thread_start"), 0);
	assert_error(gorgon_ns_destroy(ns), GORGON_ERROR_BUSY, "still run");
	maps = test_snapshot().file_maps;
	gorgon_object_close(other);
	assert_int_equal(test_snapshot().file_maps, maps);
	SYMBOL(object, void (*)(void), "thread_release")();
	assert_int_equal(call(object, "thread_join"), 0);
	test_ns_destroy(ns);
}

static void ns_destroy_thread_about_to_end_is_waited_for(void **state)
{
	struct gorgon_ns *ns = test_ns();

	(void)state;
	assert_int_equal(call(test_open(ns, "libthread.so"), "thread_start_detached"), 0);
	test_ns_destroy(ns);
}

static void ns_destroy_other_namespaces_threads_do_not_count(void **state)
{
	struct gorgon_ns *ns[2] = {test_ns(), test_ns()};
	struct gorgon_object *object = test_open(ns[0], "libthread.so");

	(void)state;
	test_open(ns[1], "libthread.so");
	assert_int_equal(call(object, "thread_start"), 0);
	test_ns_destroy(ns[1]);
	SYMBOL(object, void (*)(void), "thread_release")();
	assert_int_equal(call(object, "thread_join"), 0);
	test_ns_destroy(ns[0]);
}

// --- keys -------------------------------------------------------------------------------

static void *set_key(void *arg)
{
	struct step *step = arg;

	((int (*)(const char *))(void *)step->touch)("key");
	sem_post(&step->touched);
	sem_wait(&step->go_on);
	return NULL;
}

// Starts a thread that sets a new key's value and waits for `go_on`.
static pthread_t start_setting_key(struct gorgon_object *object, struct step *step)
{
	pthread_t ret;

	*step = (struct step){.touch = SYMBOL(object, int (*)(void), "thread_key_set")};
	sem_init(&step->touched, 0, 0);
	sem_init(&step->go_on, 0, 0);
	assert_int_equal(call(object, "thread_key_create"), 0);
	assert_int_equal(pthread_create(&ret, NULL, set_key, step), 0);
	sem_wait(&step->touched);
	return ret;
}

static void key_destructor_runs_at_thread_exit(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");
	struct step step;
	pthread_t thread;

	(void)state;
	thread = start_setting_key(object, &step);
	sem_post(&step.go_on);
	pthread_join(thread, NULL);
	assert_string_equal(test_notes(), "key ");
	assert_int_equal(call(object, "thread_key_delete"), 0);
	test_ns_destroy(ns);
}

// The key's destructor was in memory that is unmapped now: it must not be called any more.
static void key_left_behind_is_deleted_with_the_namespace(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");
	struct step step;
	pthread_t thread;

	(void)state;
	thread = start_setting_key(object, &step);
	test_ns_destroy(ns);
	sem_post(&step.go_on);
	pthread_join(thread, NULL);
	assert_string_equal(test_notes(), "");
}

static void key_create_many_namespaces_do_not_use_keys_up(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) { // a process has 1024 keys
		struct gorgon_ns *ns = test_ns();

		assert_int_equal(call(test_open(ns, "libthread.so"), "thread_key_create"), 0);
		test_ns_destroy(ns);
	}
}

static void key_create_has_no_limit_of_1024(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");

	(void)state;
	assert_int_equal(SYMBOL(object, int (*)(int), "thread_keys_many")(3000), 0);
	assert_int_equal(SYMBOL(object, int (*)(int), "thread_keys_many")(3000), 0);
	test_ns_destroy(ns);
	assert_int_equal(gorgon_tsd_count(), 0);
}

static void key_of_the_system_is_passed_on(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");
	pthread_key_t foreign;

	(void)state;
	assert_int_equal(pthread_key_create(&foreign, NULL), 0);
	assert_int_equal(pthread_setspecific(foreign, &foreign), 0);
	assert_int_equal(SYMBOL(object, int (*)(pthread_key_t, void *), "thread_key_get_foreign")(
				 foreign, &foreign),
			 0);
	assert_ptr_not_equal(pthread_getspecific(foreign), &foreign);
	assert_int_equal(pthread_key_delete(foreign), 0);
	test_ns_destroy(ns);
}

static void *call_rounds(void *fn)
{
	return ((int (*)(void))fn)() ? "failed" : NULL;
}

static void key_destructor_may_set_values_again(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");
	void *failed = NULL;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, call_rounds,
					SYMBOL(object, void *, "thread_key_rounds")),
			 0);
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_string_equal(test_notes(), "first second ");
	test_ns_destroy(ns);
}

// --- exit and write -------------------------------------------------------------------------

static int exit_from_private(void *arg)
{
	((void (*)(int))arg)(17);
	return 0;
}

static void exit_without_interpreter_is_the_processs(void **state)
{
	struct gorgon_ns *ns = test_ns();
	void *now = test_symbol(test_open(ns, "libexit.so"), "exit_now");

	(void)state;
	if (TEST_SANITIZED)
		skip_because("a child that exits would report this process's memory as leaks");
	assert_int_equal(test_in_child(exit_from_private, now), 17);
	test_ns_destroy(ns);
}

static ssize_t keep_output(void *ctx, int fd, const void *data, size_t size)
{
	snprintf(ctx, 64, "%d:%.*s", fd, (int)size, (const char *)data);
	return (ssize_t)size;
}

static void write_output_callback_receives_standard_descriptors_only(void **state)
{
	char text[64] = "";
	struct gorgon_ns_opts opts = {
		.size = sizeof(opts), .write_output = keep_output, .write_ctx = text};
	struct gorgon_ns *ns = NULL;
	long (*put)(int, const char *, unsigned long);
	int fds[2];

	(void)state;
	assert_ok(gorgon_ns_create(&opts, &ns));
	put = SYMBOL(test_open(ns, "libexit.so"), long (*)(int, const char *, unsigned long),
		     "exit_write");
	assert_int_equal(put(2, "hello", 5), 5);
	assert_string_equal(text, "2:hello");
	assert_int_equal(put(1, "bye", 3), 3);
	assert_string_equal(text, "1:bye");
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(put(fds[1], "pipe", 4), 4);
	assert_string_equal(text, "1:bye");
	close(fds[0]);
	close(fds[1]);
	test_ns_destroy(ns);
}

// --- fork -------------------------------------------------------------------------------------

static int use_loader(void *arg)
{
	struct gorgon_ns *ns = NULL;
	struct gorgon_object *object = NULL;

	(void)arg;
	if (gorgon_ns_create(NULL, &ns) ||
	    gorgon_object_open(ns, test_module("libtop.so"), NULL, &object) ||
	    gorgon_object_open(ns, test_module("libtls.so"), NULL, &object) ||
	    ((int (*)(void))gorgon_object_find_symbol(object, "tls_next", NULL))() != 13)
		return 1;
	return gorgon_ns_destroy(ns) ? 2 : 0;
}

struct loading {
	bool stop;
	int failures;
};

// Writes an object without the compiler's start files. Such files call __cxa_finalize() at their end, and the C
// library does not take the lock of that function around fork().
static void write_plain_object(void)
{
	struct elf_file file = elf_build(&(struct elf_builder){.tls_mem_size = 8, .tls_align = 8});

	test_write(test_temp("libplain.so"), file.data, file.size);
	elf_file_deinit(&file);
}

static void *load_until_told(void *arg)
{
	struct loading *loading = arg;

	while (!__atomic_load_n(&loading->stop, __ATOMIC_ACQUIRE)) {
		struct gorgon_ns *ns = NULL;
		struct gorgon_object *object;

		if (gorgon_ns_create(NULL, &ns) ||
		    gorgon_object_open(ns, test_temp("libplain.so"), NULL, &object) ||
		    gorgon_ns_destroy(ns))
			__atomic_fetch_add(&loading->failures, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void fork_while_threads_load_child_can_load(void **state)
{
	struct loading loading = {0};
	pthread_t threads[3];

	(void)state;
	if (TEST_SANITIZED)
		skip_because("the sanitizer's allocator does not survive fork() among threads");
	write_plain_object();
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_until_told, &loading), 0);
	for (int i = 0; i < 60; i++)
		assert_int_equal(test_in_child(use_loader, NULL), 0);
	__atomic_store_n(&loading.stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(loading.failures, 0);
	test_notes();
}

static int destroy_in_child(void *arg)
{
	struct gorgon_error *err = gorgon_ns_destroy(arg);

	return err ? 1 : 0;
}

// The private thread runs in the parent only: it must not keep the child's namespace busy.
static void fork_private_thread_does_not_count_in_the_child(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libthread.so");

	(void)state;
	assert_int_equal(call(object, "thread_start"), 0);
	usleep(20000); // until the thread has its record
	assert_int_equal(test_in_child(destroy_in_child, ns), 0);
	SYMBOL(object, void (*)(void), "thread_release")();
	assert_int_equal(call(object, "thread_join"), 0);
	test_ns_destroy(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_atexit_destructor_runs_at_thread_exit),
		cmocka_unit_test(thread_atexit_destructor_of_this_thread_delays_unload),
		cmocka_unit_test(thread_atexit_destructor_of_other_thread_is_dropped_at_unload),
		cmocka_unit_test(thread_atexit_destructors_run_in_reverse_order),
		cmocka_unit_test(ns_destroy_thread_running_is_busy_and_repeatable),
		cmocka_unit_test(object_close_after_busy_unmaps_nothing),
		cmocka_unit_test(ns_destroy_thread_about_to_end_is_waited_for),
		cmocka_unit_test(ns_destroy_other_namespaces_threads_do_not_count),
		cmocka_unit_test(key_destructor_runs_at_thread_exit),
		cmocka_unit_test(key_left_behind_is_deleted_with_the_namespace),
		cmocka_unit_test(key_create_many_namespaces_do_not_use_keys_up),
		cmocka_unit_test(key_create_has_no_limit_of_1024),
		cmocka_unit_test(key_of_the_system_is_passed_on),
		cmocka_unit_test(key_destructor_may_set_values_again),
		cmocka_unit_test(exit_without_interpreter_is_the_processs),
		cmocka_unit_test(write_output_callback_receives_standard_descriptors_only),
		cmocka_unit_test(fork_while_threads_load_child_can_load),
		cmocka_unit_test(fork_private_thread_does_not_count_in_the_child),
	};

	return cmocka_run_group_tests_name("thread", tests, test_warm_up, NULL);
}
