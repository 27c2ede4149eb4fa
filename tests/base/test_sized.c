// SPDX-License-Identifier: MIT
// loader/base/sized.c: hosts that were built with an older or a newer gorgon.h.

#include "helpers.h"

#include <stddef.h>
#include <string.h>

// A structure as a newer header would have it, with a member behind the end.
#define NEWER(type)                                                                                \
	struct {                                                                                   \
		struct type known;                                                                 \
		uint64_t later[2];                                                                 \
	}

static ssize_t keep(void *ctx, int fd, const void *data, size_t size)
{
	(void)fd;
	strncat(ctx, data, size);
	return (ssize_t)size;
}

static void print(struct gorgon_interp *interp, const char *expected, const char *text)
{
	int status;

	assert_ok(gorgon_interp_main(interp, 2, (const char *const[]){"-c", "print('here')"}, &status));
	assert_int_equal(status, 0);
	assert_string_equal(text, expected);
	assert_ok(gorgon_interp_destroy(interp));
}

// Members behind the size that the host states are defaults, whatever is in memory there.
static void options_of_an_older_host_are_taken(void **state)
{
	struct gorgon_interp_opts opts;
	struct gorgon_interp *interp;

	(void)state;
	memset(&opts, 0xff, sizeof(opts));
	opts.size = offsetof(struct gorgon_interp_opts, timing);
	opts.python = NULL;
	opts.ns = NULL;
	assert_ok(gorgon_interp_create(&opts, &interp));
	assert_ok(gorgon_interp_destroy(interp));
	// The size does not even include the first option.
	opts.size = sizeof(size_t);
	assert_ok(gorgon_interp_create(&opts, &interp));
	assert_ok(gorgon_interp_destroy(interp));
}

static void options_of_a_newer_host_are_taken_while_they_are_defaults(void **state)
{
	char text[64] = "";
	NEWER(gorgon_ns_opts) ns = {
		.known = {.size = sizeof(ns), .write_output = keep, .write_ctx = text}};
	NEWER(gorgon_interp_opts) opts = {.known = {.size = sizeof(opts), .ns = &ns.known}};
	struct gorgon_interp *interp = NULL;

	(void)state;
	assert_ok(gorgon_interp_create(&opts.known, &interp));
	print(interp, "here\n", text);
	interp = NULL;
	ns.later[1] = 1;
	assert_error(gorgon_interp_create(&opts.known, &interp), GORGON_ERROR_ARGUMENT,
		     "gorgon_ns_opts: byte ");
	opts.known.ns = NULL;
	opts.later[0] = (uint64_t)1 << 63;
	assert_error(gorgon_interp_create(&opts.known, &interp), GORGON_ERROR_ARGUMENT,
		     "gorgon_interp_opts: byte ");
	assert_null(interp);
}

static void every_structure_of_options_may_be_longer(void **state)
{
	NEWER(gorgon_open_opts) open = {.known = {.size = sizeof(open)}};
	NEWER(gorgon_start_opts) start = {.known = {.size = sizeof(start), .no_site = true}};
	NEWER(gorgon_interp_opts) interp = {.known = {.size = sizeof(interp)}};
	NEWER(gorgon_pool_opts) pool_opts = {
		.known = {.size = sizeof(pool_opts), .interp = &interp.known, .start = &start.known,
			  .count = 1}};
	NEWER(gorgon_array_opts) array_opts = {
		.known = {.size = sizeof(array_opts),
			  .layout = {.format = "d", .ndim = 1, .shape = (ptrdiff_t[]){2}}}};
	struct gorgon_object *object;
	struct gorgon_array *array;
	struct gorgon_pool *pool;
	struct gorgon_ns *ns = test_ns();

	(void)state;
	assert_ok(gorgon_object_open(ns, test_module("libbasic.so"), &open.known, &object));
	open.later[0] = 1;
	assert_error(gorgon_object_open(ns, test_module("libbasic.so"), &open.known, &object),
		     GORGON_ERROR_ARGUMENT, "gorgon_open_opts: byte ");
	test_ns_destroy(ns);
	assert_ok(gorgon_array_create(&array_opts.known, &array));
	gorgon_array_release(array);
	array_opts.later[0] = 1;
	assert_error(gorgon_array_create(&array_opts.known, &array), GORGON_ERROR_ARGUMENT,
		     "gorgon_array_opts: byte ");
	assert_ok(gorgon_pool_create(&pool_opts.known, &pool));
	assert_ok(gorgon_pool_destroy(pool));
	start.later[1] = 1;
	assert_error(gorgon_pool_create(&pool_opts.known, &pool), GORGON_ERROR_ARGUMENT,
		     "gorgon_start_opts: byte ");
}

static void figures_are_written_as_far_as_the_host_knows_them(void **state)
{
	NEWER(gorgon_interp_stats) newer = {.known = {.size = sizeof(newer)}, .later = {1, 1}};
	struct gorgon_interp_stats older = {
		.size = offsetof(struct gorgon_interp_stats, relocate_ns), .relocate_ns = 77};
	struct gorgon_interp *interp = test_interp_create(NULL);

	(void)state;
	assert_ok(gorgon_interp_get_stats(interp, &older));
	assert_int_equal(older.size, offsetof(struct gorgon_interp_stats, relocate_ns));
	assert_true(older.load_ns > 0);
	assert_int_equal(older.relocate_ns, 77);
	assert_ok(gorgon_interp_get_stats(interp, &newer.known));
	assert_int_equal(newer.known.size, sizeof(newer));
	assert_true(newer.known.object_count > 0);
	assert_int_equal(newer.later[0] | newer.later[1], 0);
	older.size = 0;
	assert_error(gorgon_interp_get_stats(interp, &older), GORGON_ERROR_ARGUMENT,
		     "gorgon_interp_stats: size is 0, expected");
	assert_ok(gorgon_interp_destroy(interp));
}

static void what_is_no_size_is_refused(void **state)
{
	const size_t wrong[] = {0, 3, sizeof(struct gorgon_interp_opts) + 1};
	struct gorgon_interp *interp;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct gorgon_interp_opts opts = {.size = wrong[i]};

		assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT,
			     "gorgon_interp_opts: size is ");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_of_an_older_host_are_taken),
		cmocka_unit_test(options_of_a_newer_host_are_taken_while_they_are_defaults),
		cmocka_unit_test(every_structure_of_options_may_be_longer),
		cmocka_unit_test(figures_are_written_as_far_as_the_host_knows_them),
		cmocka_unit_test(what_is_no_size_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
