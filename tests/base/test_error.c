// SPDX-License-Identifier: MIT
// loader/base/error.c

#define _GNU_SOURCE
#include "helpers.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

static void error_create_formatted_keeps_code_and_text(void **state)
{
	struct gorgon_error *err = gorgon_error_create(GORGON_ERROR_FORMAT, "%s: bad %d", "x.so",
						       7);

	(void)state;
	assert_int_equal(gorgon_error_code(err), GORGON_ERROR_FORMAT);
	assert_string_equal(gorgon_error_message(err), "x.so: bad 7");
	assert_int_equal(gorgon_error_errno(err), 0);
	gorgon_error_destroy(err);
}

static void error_create_os_appends_description_and_keeps_errno(void **state)
{
	struct gorgon_error *err = gorgon_error_create_os(ENOENT, "%s", "x.so");

	(void)state;
	assert_int_equal(gorgon_error_code(err), GORGON_ERROR_OS);
	assert_int_equal(gorgon_error_errno(err), ENOENT);
	assert_string_equal(gorgon_error_message(err), "x.so: No such file or directory");
	gorgon_error_destroy(err);
}

static void error_create_os_unknown_errno_has_text(void **state)
{
	(void)state;
	assert_error(gorgon_error_create_os(99999, "x"), GORGON_ERROR_OS, "x: unknown error");
}

// One line, whatever a file is called or has in it; printable text of any language stays.
static void error_message_is_printable(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"one\ntwo", "one\\x0atwo"},
		{"\033[2Jgone", "\\x1b[2Jgone"},
		{"\xff\xfe.so", "\\xff\\xfe.so"},
		{"cut \xc3", "cut \\xc3"},
		{"c1 \xc2\x9b", "c1 \\xc2\\x9b"},
		{"turned \xe2\x80\xae", "turned \\xe2\\x80\\xae"},
		{"surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80"},
		{"\x7f\t", "\\x7f\\x09"},
		{"Zürich 東京 🐍", "Zürich 東京 🐍"},
		{"", ""},
	};
	struct gorgon_error *err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		err = gorgon_error_create(GORGON_ERROR_FORMAT, "%s", cases[i].text);
		assert_string_equal(gorgon_error_message(err), cases[i].shown);
		err = gorgon_error_prefix(err, "\n");
		assert_memory_equal(gorgon_error_message(err), "\\x0a: ", 6);
		gorgon_error_destroy(err);
	}
	assert_error(gorgon_error_create_os(ENOENT, "\r.so"), GORGON_ERROR_OS,
		     "\\x0d.so: No such file or directory");
}

static void error_prefix_puts_text_before_and_keeps_the_rest(void **state)
{
	struct gorgon_error *err =
		gorgon_error_prefix(gorgon_error_create_os(EACCES, "open"), "y.so");

	(void)state;
	assert_string_equal(gorgon_error_message(err), "y.so: open: Permission denied");
	assert_int_equal(gorgon_error_errno(err), EACCES);
	assert_int_equal(gorgon_error_code(err), GORGON_ERROR_OS);
	gorgon_error_destroy(err);
}

static void error_prefix_no_memory_stays_the_static_one(void **state)
{
	(void)state;
	assert_ptr_equal(gorgon_error_prefix(&gorgon_error_nomem, "z"), &gorgon_error_nomem);
}

static void error_accessors_null_mean_no_error(void **state)
{
	(void)state;
	assert_int_equal(gorgon_error_code(NULL), GORGON_OK);
	assert_int_equal(gorgon_error_errno(NULL), 0);
	assert_string_equal(gorgon_error_message(NULL), "no error");
	gorgon_error_destroy(NULL);
}

static void error_destroy_no_memory_may_be_repeated(void **state)
{
	(void)state;
	gorgon_error_destroy(&gorgon_error_nomem);
	gorgon_error_destroy(&gorgon_error_nomem);
	assert_int_equal(gorgon_error_code(&gorgon_error_nomem), GORGON_ERROR_NOMEM);
	assert_string_equal(gorgon_error_message(&gorgon_error_nomem), "no memory");
}

// The numbers are ABI.
static void error_code_values_are_fixed(void **state)
{
	(void)state;
	assert_int_equal(GORGON_OK, 0);
	assert_int_equal(GORGON_ERROR_NOMEM, 1);
	assert_int_equal(GORGON_ERROR_OS, 2);
	assert_int_equal(GORGON_ERROR_FORMAT, 3);
	assert_int_equal(GORGON_ERROR_MACHINE, 4);
	assert_int_equal(GORGON_ERROR_MISSING, 5);
	assert_int_equal(GORGON_ERROR_UNRESOLVED, 6);
	assert_int_equal(GORGON_ERROR_UNSUPPORTED, 7);
	assert_int_equal(GORGON_ERROR_PYTHON, 8);
	assert_int_equal(GORGON_ERROR_BUSY, 9);
	assert_int_equal(GORGON_ERROR_ARGUMENT, 10);
	assert_int_equal(GORGON_ERROR_EXCEPTION, 11);
	assert_int_equal(GORGON_ERROR_CANCELLED, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_create_formatted_keeps_code_and_text),
		cmocka_unit_test(error_create_os_appends_description_and_keeps_errno),
		cmocka_unit_test(error_create_os_unknown_errno_has_text),
		cmocka_unit_test(error_message_is_printable),
		cmocka_unit_test(error_prefix_puts_text_before_and_keeps_the_rest),
		cmocka_unit_test(error_prefix_no_memory_stays_the_static_one),
		cmocka_unit_test(error_accessors_null_mean_no_error),
		cmocka_unit_test(error_destroy_no_memory_may_be_repeated),
		cmocka_unit_test(error_code_values_are_fixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
