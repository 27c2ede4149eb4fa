// SPDX-License-Identifier: MIT
// loader/python/kept.c, loader/image/image_cache.c: what is kept of libraries that no namespace has loaded any more.

#define _GNU_SOURCE
#include "helpers.h"

#include "base/lock.h"
#include "image/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
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
	static const char *const names[] = {"libtop.so", "libmiddle.so", "libbottom.so", "libbasic.so", "libtls.so"};
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
	test_keep(both - 1, 0, GORGON_KEEP_IMPORT_BYTES, GORGON_KEEP_SECONDS); // the oldest file is dropped
	assert_int_equal(stats().file_bytes, both - first);
	assert_true(is_taken(test_module("libtls.so")));
	test_keep(0, 0, GORGON_KEEP_IMPORT_BYTES, GORGON_KEEP_SECONDS);
	assert_int_equal(stats().file_count, 0);
	use(test_module("libtls.so"));
	assert_int_equal(stats().file_count, 0);
	assert_ok(gorgon_keep(NULL));
}

static void kept_for_so_many_seconds(void **state)
{
	(void)state;
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, GORGON_KEEP_IMPORT_BYTES, 1);
	use(test_module("libbasic.so"));
	sleep(2);
	use(test_module("libtls.so"));
	assert_true(is_taken(test_module("libtls.so")));
	assert_ok(gorgon_keep(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fresh_unit_test(kept_namespace_leaves_what_the_next_one_needs),
		fresh_unit_test(kept_file_written_since_is_read_again),
		fresh_unit_test(kept_bytes_have_a_limit),
		fresh_unit_test(kept_for_so_many_seconds),
	};

	return cmocka_run_group_tests_name("kept", tests, wait_until_modules_are_old, NULL);
}
