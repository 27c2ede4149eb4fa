// SPDX-License-Identifier: MIT
// loader/process/memory/trampoline_file.c

#define _GNU_SOURCE
#include "helpers.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME "libown_file.so"
#define CODE (PROT_READ | PROT_EXEC)

// Makes a library of @ns open @path and keep the descriptor, which is returned.
static int keep(struct gorgon_ns *ns, const char *path, int prot)
{
	struct gorgon_object *object = test_open(ns, NAME);
	int fd = SYMBOL(object, int (*)(const char *, int), "own_file_open")(path, prot);

	assert_true(fd >= 0);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void destroy_own_file_s_descriptor_is_closed(void **state)
{
	struct gorgon_ns *ns = test_ns();
	int one = keep(ns, test_module(NAME), CODE), two = keep(ns, test_module(NAME), CODE);

	(void)state;
	assert_true(is_open(one) && is_open(two));
	test_ns_destroy(ns);
	assert_false(is_open(one) || is_open(two));
}

static void close_own_file_s_descriptor_is_closed(void **state)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, NAME);
	int fd = SYMBOL(object, int (*)(const char *, int), "own_file_open")(test_module(NAME),
									     CODE);

	(void)state;
	gorgon_object_close(object);
	assert_false(is_open(fd));
	test_ns_destroy(ns);
}

static void destroy_another_file_s_descriptor_stays(void **state)
{
	struct gorgon_ns *ns = test_ns();
	int fd = keep(ns, test_module("libmemory.so"), CODE);

	(void)state;
	test_ns_destroy(ns);
	assert_int_equal(close(fd), 0);
}

static void destroy_descriptor_without_code_stays(void **state)
{
	struct gorgon_ns *ns = test_ns();
	int fd = keep(ns, test_module(NAME), PROT_READ);

	(void)state;
	test_ns_destroy(ns);
	assert_int_equal(close(fd), 0);
}

static void destroy_same_file_opened_by_the_host_stays(void **state)
{
	struct gorgon_ns *ns = test_ns();
	int fd = keep(ns, test_module(NAME), CODE);

	(void)state;
	// Code closes a descriptor that is not its own, and the host gets the number.
	close(fd);
	assert_int_equal(open(test_module(NAME), O_RDONLY | O_CLOEXEC), fd);
	test_ns_destroy(ns);
	assert_int_equal(close(fd), 0);
}

static void destroy_same_file_opened_by_another_copy_stays_with_that(void **state)
{
	struct gorgon_ns *one = test_ns(), *two = test_ns();
	int fd = keep(one, test_module(NAME), CODE);

	(void)state;
	// The module is loaded before the number is free, because the loader opens files, too.
	gorgon_object_close(test_open(two, NAME));
	close(fd);
	assert_int_equal(keep(two, test_module(NAME), CODE), fd);
	test_ns_destroy(one);
	assert_true(is_open(fd));
	test_ns_destroy(two);
	assert_false(is_open(fd));
}

static void destroy_descriptor_that_was_closed_is_no_error(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct gorgon_ns *ns = test_ns();

	(void)state;
	close(keep(ns, test_module(NAME), CODE));
	test_ns_destroy(ns);
	assert_unchanged(&before);
}

// Two copies have the same number, each in the table of its own thread.
static void *keep_apart(void *arg)
{
	struct gorgon_ns *one = arg, *two = test_ns();
	int first = keep(one, test_module(NAME), CODE), second;

	gorgon_object_close(test_open(two, NAME));
	close_range(~0U, ~0U, CLOSE_RANGE_UNSHARE);
	close(first);
	second = keep(two, test_module(NAME), CODE);
	test_ns_destroy(one); // its descriptor is in the other table
	return second == first && is_open(second) ? two : NULL;
}

static void destroy_on_a_thread_with_another_table_closes_nobody_elses(void **state)
{
	struct gorgon_ns *one = test_ns();
	pthread_t thread;
	void *two;
	int fd;

	(void)state;
	fd = keep(one, test_module("libmemory.so"), PROT_READ); // tells the number that comes next
	assert_int_equal(close(fd), 0);
	assert_int_equal(pthread_create(&thread, NULL, keep_apart, one), 0);
	pthread_join(thread, &two);
	assert_non_null(two);
	assert_true(is_open(fd));
	test_ns_destroy(two); // here the number is that of the first copy, which is gone
	assert_true(is_open(fd));
	assert_int_equal(close(fd), 0);
}

static void map_again_is_the_own_file_whatever_has_the_number(void **state)
{
	struct gorgon_ns *ns = test_ns();
	const unsigned char *(*map_again)(int) =
		SYMBOL(test_open(ns, NAME), const unsigned char *(*)(int), "own_file_map_again");
	int fd = keep(ns, test_module(NAME), CODE);
	const unsigned char *code = map_again(fd);

	(void)state;
	assert_non_null(code);
	assert_memory_equal(code, "\177ELF", 4);
	munmap((void *)code, 4096);
	close(fd);
	assert_int_equal(open("/etc/passwd", O_RDONLY | O_CLOEXEC), fd);
	code = map_again(fd);
	assert_non_null(code);
	assert_memory_equal(code, "\177ELF", 4);
	munmap((void *)code, 4096);
	test_ns_destroy(ns);
	assert_int_equal(close(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroy_own_file_s_descriptor_is_closed),
		cmocka_unit_test(close_own_file_s_descriptor_is_closed),
		cmocka_unit_test(destroy_another_file_s_descriptor_stays),
		cmocka_unit_test(destroy_descriptor_without_code_stays),
		cmocka_unit_test(destroy_same_file_opened_by_the_host_stays),
		cmocka_unit_test(destroy_same_file_opened_by_another_copy_stays_with_that),
		cmocka_unit_test(destroy_descriptor_that_was_closed_is_no_error),
		cmocka_unit_test(destroy_on_a_thread_with_another_table_closes_nobody_elses),
		cmocka_unit_test(map_again_is_the_own_file_whatever_has_the_number),
	};

	return cmocka_run_group_tests_name("own_file", tests, NULL, NULL);
}
