// SPDX-License-Identifier: MIT
/* Groups when memory, files or descriptors fail: each call of the Makefile's list is made to fail in turn. */
#define _GNU_SOURCE 1
#include "jitreg_inject.h"
#include "jitreg_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>

WRAP(ssize_t, write, (int a, const void *b, size_t c), (a, b, c), -1, ENOSPC)
WRAP(int, mkostemps, (char *a, int b, int c), (a, b, c), -1, EROFS)
WRAP(FILE *, open_memstream, (char **a, size_t *b), (a, b), NULL, ENOMEM)
WRAP(int, flock, (int a, int b), (a, b), -1, ENOLCK)
WRAP(int, link, (const char *a, const char *b), (a, b), -1, EMLINK)

static void fail_call(long at)
{
	call_count = 0;
	fail_at = at;
}

/* The group is packed, or it is as before. */
static void check_consistent(const struct world *w, int r)
{
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		struct jitreg_info info;

		jitreg_entry_get_info(w->images[i].entry, &info);
		assert_memory_equal(&info, &w->images[i].info, sizeof(info));
		assert_int_equal(info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_int_equal(w->images[i].moves, r ? 1 : 2);
	}
	if (r)
		assert_apart(w->images, SIDE_BY_SIDE);
	else
		assert_together(w->images, SIDE_BY_SIDE);
	assert_int_equal(jitreg_count(), r ? 3 : 1);
}

/* End a run in which call @at was to fail: nothing of it is left. Returns true when there were fewer calls. */
static bool was_last(struct world *w, size_t fds, long at)
{
	world_leave(w);
	assert_nothing_left();
	assert_int_equal(util_fd_count(), fds);
	return call_count < at;
}

/* The call is refused, or the image is described by itself instead of by a pack with a companion. */
static void register_lean_any_call_failing_does_with_less(void **state)
{
	const char *folder = use_cache("nomem0");
	long at, refused = 0, lean = 0, without = 0;
	struct jitreg_group *group;

	(void)state;
	check_pack_with_companion(folder); // what stays once it has been used
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count(), bytes = util_symfile_bytes();
		struct image image;
		int r;

		assert_int_equal(util_run("rm -f %s/*", folder), 0);
		assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
		fail_call(at);
		r = try_enter(group, BASE(0), 0x10000, IMAGE_SIZE, "self.so", JITREG_NAMES_ONLY, &image);
		fail_at = 0;
		assert_int_equal(image.moves, !r);
		assert_int_equal(jitreg_count(), !r);
		refused += r != 0;
		if (!r && image.info.symfile_kind == JITREG_SYMFILE_NAMES_ONLY)
			lean++;
		else if (!r) {
			assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_PACK);
			without += !companion_of(&image.info);
		}
		if (!r)
			jitreg_unregister(image.entry);
		jitreg_group_destroy(group);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		assert_int_equal(util_symfile_bytes(), bytes);
		if (call_count < at)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(refused, 10, 1000);
	assert_in_range(lean, 10, 1000);
	assert_in_range(without, 10, 1000);
}

static void pack_any_call_failing_leaves_all_as_before(void **state)
{
	const char *folder = use_cache("nomem");
	long at, refused = 0, without = 0;

	(void)state;
	check_pack_with_companion(folder); // what stays once it has been used
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count(), bytes = util_symfile_bytes();
		struct world w;
		bool last;
		int r;

		assert_int_equal(util_run("rm -f %s/*", folder), 0);
		world_enter(&w, 0);
		fail_call(at);
		r = jitreg_group_pack(w.group);
		fail_at = 0;
		check_consistent(&w, r);
		refused += r != 0;
		without += !r && !companion_of(&w.images[0].info);
		assert_in_range(count_companions(folder), SIDE_BY_SIDE, WORLD_COMPANIONS);
		last = was_last(&w, fds, at);
		assert_int_equal(util_symfile_bytes(), bytes);
		if (last)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(refused, 10, 1000);
	assert_in_range(without, 10, 1000);
}

static void unregister_any_call_failing_forgets_the_rest_at_most(void **state)
{
	long at, forgotten = 0;

	(void)state;
	use_cache("nomem2");
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count();
		struct world w;

		world_pack(&w, 0);
		fail_call(at);
		jitreg_unregister(w.images[1].entry);
		fail_at = 0;
		w.images[1].entry = NULL;
		assert_ptr_equal(w.images[0].info.symfile, w.images[2].info.symfile);
		assert_int_equal(jitreg_count(), w.images[0].info.symfile ? 1 : 0);
		forgotten += !w.images[0].info.symfile;
		if (was_last(&w, fds, at))
			break;
	}
	assert_true(at < 2000);
	assert_in_range(forgotten, 5, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_lean_any_call_failing_does_with_less),
		cmocka_unit_test(pack_any_call_failing_leaves_all_as_before),
		cmocka_unit_test(unregister_any_call_failing_forgets_the_rest_at_most),
	};

	return cmocka_run_group_tests_name("jitreg/group_damage", tests, util_setup, NULL);
}
