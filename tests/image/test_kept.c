// SPDX-License-Identifier: MIT
// loader/python/kept.c, loader/image/image_cache.c: what is kept of libraries that no namespace has loaded any more.

#define _GNU_SOURCE
#include "helpers.h"

#include "base/lock.h"
#include "image/image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <string.h>
#include <unistd.h>

static struct gorgon_kept_stats stats(void)
{
	struct gorgon_kept_stats ret = {.size = sizeof(ret)};

	assert_ok(gorgon_kept_get_stats(&ret));
	return ret;
}

static struct gorgon_image *open_image(const char *path)
{
	struct gorgon_image *image = NULL;
	struct gorgon_error *err;

	gorgon_lock();
	err = gorgon_image_open(path, &image);
	gorgon_unlock();
	assert_ok(err);
	return image;
}

static void close_image(struct gorgon_image *image)
{
	gorgon_lock();
	gorgon_image_close(image);
	gorgon_unlock();
}

// A file that was written just now, by the build, is not kept.
static int wait_until_modules_are_old(void **state)
{
	static const char *const names[] = {"libtop.so", "libmiddle.so", "libbottom.so", "libbasic.so", "libtls.so", "libwide.so"};
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		while (!stat(test_module(names[i]), &st) && time(NULL) - st.st_ctim.tv_sec <= 3)
			usleep(100000);
	return 0;
}

static void use(const char *path)
{
	close_image(open_image(path));
}

// Whether the only image that is kept is used when the file is opened now.
static bool is_taken(const char *path)
{
	struct gorgon_image *image;
	bool taken;

	assert_int_equal(stats().file_count, 1);
	image = open_image(path);
	assert_int_equal(gorgon_image_count(), 1);
	taken = !stats().file_count;
	close_image(image);
	return taken;
}

// What was kept of a namespace serves the next namespace, and holds nothing but memory.
static void kept_namespace_leaves_what_the_next_one_needs(void **state)
{
	struct gorgon_kept_stats all, none;
	struct gorgon_ns *first = test_ns();
	struct test_snapshot before;

	(void)state;
	test_open(first, "libtop.so"); // loads also what the first library of a process needs
	test_ns_destroy(first);
	before = test_snapshot();
	for (int i = 0; i < 2; i++) {
		struct gorgon_ns *ns = test_ns();

		test_open(ns, "libtop.so");
		none = stats();
		assert_int_equal(none.file_count, 0);
		assert_int_equal(none.symfile_count, 0);
		test_ns_destroy(ns);
		all = stats();
		// Libtop.so and the two libraries that it needs.
		assert_int_equal(all.file_count, 3);
		assert_true(all.file_bytes > 0 && all.symfile_count >= 3 && all.memory_bytes > 0);
		assert_int_equal(gorgon_image_count(), 0);
	}
	assert_unchanged(&before);
	assert_int_equal(stats().file_count + stats().symfile_count + stats().memory_bytes, 0);
}

// Makes a file as an installation that keeps times would.
static void kept_file_written_since_is_read_again(void **state)
{
	const char *path = test_temp("kept.so");
	struct timespec times[2];
	struct stat st;
	uint8_t *data;
	size_t size;
	int fd;

	(void)state;
	data = test_read(test_module("libbasic.so"), &size);
	test_write(path, data, size);
	use(path);
	// The file is so new that it could be written again without a new time.
	assert_int_equal(stats().file_count, 0);
	sleep(3);
	use(path);
	assert_true(is_taken(path));
	assert_int_equal(stat(path, &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, data, size, 0), size);
	close(fd);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_false(is_taken(path));
	free(data);
}

static void kept_bytes_have_a_limit(void **state)
{
	uint64_t first, both;

	(void)state;
	use(test_module("libbasic.so"));
	first = stats().file_bytes;
	use(test_module("libtls.so"));
	both = stats().file_bytes;
	assert_true(both > first);
	test_keep(both - 1, 0, GORGON_KEEP_SECONDS); // the oldest file is dropped
	assert_int_equal(stats().file_bytes, both - first);
	assert_true(is_taken(test_module("libtls.so")));
	test_keep(0, 0, GORGON_KEEP_SECONDS);
	assert_int_equal(stats().file_count, 0);
	use(test_module("libtls.so"));
	assert_int_equal(stats().file_count, 0);
	assert_ok(gorgon_keep(NULL));
}

static void kept_for_so_many_seconds(void **state)
{
	(void)state;
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, 1);
	use(test_module("libbasic.so"));
	sleep(2);
	use(test_module("libtls.so"));
	assert_true(is_taken(test_module("libtls.so")));
	assert_ok(gorgon_keep(NULL));
}

struct wide {
	struct gorgon_ns *ns;
	long *numbers;
	void **places, **fixed;
	char *zeros;
	bool is_cut;
};

// What a copy has is what the file says, and nothing of another copy.
static struct wide open_wide(void)
{
	struct wide wide = {.ns = test_ns()};
	struct gorgon_object *object = test_open(wide.ns, "libwide.so");
	int null = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	wide.numbers = test_symbol(object, "numbers");
	wide.places = test_symbol(object, "places");
	wide.fixed = test_symbol(object, "fixed");
	wide.zeros = test_symbol(object, "zeros");
	for (size_t i = 0; i < 6000; i++) {
		assert_int_equal(wide.numbers[i], i ? i == 5999 ? 2 : 0 : 1);
		assert_ptr_equal(wide.places[i], wide.numbers);
	}
	for (size_t i = 0; i < 60000; i++)
		assert_int_equal(wide.zeros[i], 0);
	for (size_t i = 0; i < 600; i++)
		assert_ptr_equal(wide.fixed[i], wide.numbers);
	assert_int_equal(read(null, wide.fixed + 300, 1), -1); // it is read-only
	close(null);
	return wide;
}

static void close_wide(struct wide *wide)
{
	// A page in between that is no page of the file any more.
	if (wide->is_cut)
		assert_ptr_not_equal(mmap((void *)(((uintptr_t)wide->numbers + 8192) & -UINT64_C(4096)), 4096,
					  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), MAP_FAILED);
	memset(wide->numbers, 1, 6000 * sizeof(*wide->numbers));
	memset(wide->places, 2, 6000 * sizeof(*wide->places));
	memset(wide->zeros, 3, 60000);
	test_ns_destroy(wide->ns);
}

// Pages of one copy's data are there for the next copy, whoever has the library meanwhile.
static void kept_data_is_the_next_copys(void **state)
{
	struct gorgon_image *image = open_image(test_module("libwide.so"));
	const uint64_t some = TEST_SANITIZED ? 0 : 6000 * sizeof(void *);
	struct wide first, second;

	(void)state;
	first = open_wide();
	assert_int_equal(stats().file_bytes, 0);
	for (int i = 0; i < 3; i++) {
		second = open_wide();
		assert_int_equal(stats().file_bytes, 0);
		close_wide(&second);
		assert_true(stats().file_bytes >= some);
		assert_int_equal(stats().file_count, 0);
	}
	second = open_wide();
	close_wide(&first);
	assert_true(stats().file_bytes >= some);
	close_wide(&second);
	assert_true(stats().file_bytes < 4 * 6000 * sizeof(void *)); // those of one copy
	gorgon_trim();
	assert_int_equal(stats().file_bytes, 0);
	first = open_wide();
	first.is_cut = true;
	close_wide(&first);
	assert_int_equal(stats().file_bytes, 0);
	test_keep(0, 0, GORGON_KEEP_SECONDS);
	first = open_wide();
	close_wide(&first);
	assert_int_equal(stats().file_bytes, 0);
	assert_ok(gorgon_keep(NULL));
	first = open_wide();
	close_wide(&first);
	close_image(image);
	test_keep(GORGON_KEEP_FILE_BYTES, 0, 0);
	assert_int_equal(stats().file_bytes, 0);
	assert_ok(gorgon_keep(NULL));
}

// Pages that are locked in memory cannot be given up.
static void kept_data_may_be_locked(void **state)
{
	struct gorgon_image *image = open_image(test_module("libwide.so"));

	(void)state;
	if (mlockall(MCL_FUTURE)) {
		close_image(image);
		skip(); // not allowed
	}
	for (int i = 0; i < 3; i++) {
		struct wide wide = open_wide();

		close_wide(&wide);
	}
	munlockall();
	close_image(image);
}

static uint64_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (uint64_t)getpagesize();
}

// What is kept goes before something cannot be loaded.
static void kept_goes_where_addresses_are_missing(void **state)
{
	struct gorgon_image *image = open_image(test_module("libwide.so"));
	struct gorgon_ns *ns = test_ns();
	struct rlimit before, limit;
	Dl_info libc;

	(void)state;
	if (TEST_SANITIZED)
		skip(); // its runtime has all addresses
	assert_true(dladdr(stdout, &libc));
	use(libc.dli_fname);
	assert_int_equal(stats().file_count, 1);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = address_space() + 65536; // libwide.so has more
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	test_open(ns, "libwide.so");
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	close_image(image);
	assert_int_equal(stats().file_count, 0);
	test_ns_destroy(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fresh_unit_test(kept_namespace_leaves_what_the_next_one_needs),
		fresh_unit_test(kept_file_written_since_is_read_again),
		fresh_unit_test(kept_bytes_have_a_limit),
		fresh_unit_test(kept_for_so_many_seconds),
		fresh_unit_test(kept_data_is_the_next_copys),
		fresh_unit_test(kept_data_may_be_locked),
		fresh_unit_test(kept_goes_where_addresses_are_missing),
	};

	return cmocka_run_group_tests_name("kept", tests, wait_until_modules_are_old, NULL);
}
