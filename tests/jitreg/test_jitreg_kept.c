// SPDX-License-Identifier: MIT
/* jitreg/models.c: the model of a file is kept for whoever registers the file next, as long as it is true. */
#define _GNU_SOURCE 1
#include "jitreg_world.h"
#include "../jitreg/models.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANY_BIAS UINT64_C(0x300000000000)

static uint64_t kept_count(void)
{
	uint64_t count;

	jitreg_kept(&count);
	return count;
}

static void use(const char *name)
{
	struct jitreg_entry *entry;

	assert_int_equal(util_register(util_path(name), ANY_BIAS, &entry), 0);
	jitreg_unregister(entry);
}

/* Whether the only model that is kept is used when the file is registered now. */
static bool is_taken(const char *name)
{
	struct jitreg_entry *entry;
	bool taken;

	assert_int_equal(kept_count(), 1);
	assert_int_equal(util_register(util_path(name), ANY_BIAS, &entry), 0);
	taken = !kept_count();
	jitreg_unregister(entry);
	return taken;
}

static void kept_file_is_found_again(void **state)
{
	size_t fds = util_fd_count();
	uint64_t count;

	(void)state;
	use("self.so");
	assert_true(is_taken("self.so"));
	assert_int_equal(jitreg_model_count(), 0); // nobody uses the model
	assert_true(jitreg_kept(&count) > 0);
	assert_int_equal(util_fd_count(), fds);
	assert_nothing_left();
}

/* The file has the same size and time of modification. */
static void kept_file_written_since_is_read_again(void **state)
{
	struct timespec times[2];
	struct stat st;
	uint8_t *data;
	size_t size;

	(void)state;
	use("self.so");
	assert_int_equal(stat(util_path("self.so"), &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	data = util_read(util_path("self.so"), &size);
	util_write(util_path("self.so"), data, size);
	free(data);
	assert_int_equal(utimensat(AT_FDCWD, util_path("self.so"), times, 0), 0);
	assert_false(is_taken("self.so"));
}

static void kept_file_with_another_debug_file_is_read_again(void **state)
{
	const struct timespec times[2] = {{1000, 1}, {1000, 2}};

	(void)state;
	use("link.so");
	assert_true(is_taken("link.so"));
	assert_int_equal(utimensat(AT_FDCWD, util_path("self.debug"), times, 0), 0);
	assert_false(is_taken("link.so"));
}

/* The file could be written again without a new time. */
static void kept_file_of_just_now_is_not(void **state)
{
	(void)state;
	assert_int_equal(util_run("cp names.so young.so"), 0);
	use("young.so");
	assert_int_equal(kept_count(), 0);
}

static void kept_bytes_have_a_limit(void **state)
{
	uint64_t count, size;

	(void)state;
	use("link.so");
	use("names.so");
	size = jitreg_kept(&count);
	assert_int_equal(count, 2);
	assert_true(4 * size < JITREG_KEEP_BYTES);
	jitreg_keep(size - 1, JITREG_KEEP_SECONDS); // the oldest model is dropped
	assert_int_equal(kept_count(), 1);
	assert_true(is_taken("names.so"));
	jitreg_keep(0, JITREG_KEEP_SECONDS);
	assert_int_equal(kept_count(), 0);
	use("names.so");
	assert_int_equal(kept_count(), 0);
	jitreg_keep(JITREG_KEEP_BYTES, JITREG_KEEP_SECONDS);
}

static void kept_for_so_many_seconds(void **state)
{
	(void)state;
	jitreg_keep(JITREG_KEEP_BYTES, 1);
	use("link.so");
	sleep(2);
	use("names.so");
	assert_int_equal(kept_count(), 1);
	assert_true(is_taken("names.so"));
	jitreg_keep(JITREG_KEEP_BYTES, JITREG_KEEP_SECONDS);
}

/* Only the pack holds these models. */
static void kept_packs_count_what_they_hold(void **state)
{
	struct world w;
	uint64_t count;

	(void)state;
	world_pack(&w, 0);
	world_leave(&w);
	assert_true(jitreg_model_count() > 0);
	jitreg_kept(&count);
	assert_true(count > jitreg_model_count());
	assert_nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(kept_file_is_found_again, util_trim),
		cmocka_unit_test_setup(kept_file_of_just_now_is_not, util_trim),
		cmocka_unit_test_setup(kept_bytes_have_a_limit, util_trim),
		cmocka_unit_test_setup(kept_for_so_many_seconds, util_trim),
		cmocka_unit_test_setup(kept_packs_count_what_they_hold, util_trim),
		cmocka_unit_test_setup(kept_file_with_another_debug_file_is_read_again, util_trim),
		cmocka_unit_test_setup(kept_file_written_since_is_read_again, util_trim),
	};

	return cmocka_run_group_tests_name("jitreg/kept", tests, util_setup_settled, NULL);
}
