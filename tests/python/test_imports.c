// SPDX-License-Identifier: MIT
// loader/python/imports.c: interpreters use what others have read of modules' files.
// ../run/test_imports.py has what programs see.

#define _GNU_SOURCE
#include "calls.h"

#include "python/pyfiles.h"

#define IMPORT "import colorsys, wsgiref.util\n"

static void interpreters_use_what_others_have_read(void **state)
{
	struct gorgon_interp *first = start(), *second;
	uint64_t before, read, again;

	(void)state;
	gorgon_pyfile_kept(&before);
	run(first, IMPORT);
	gorgon_pyfile_kept(&read);
	assert_true(read >= before + 3); // two modules and a package
	second = start();
	run(second, IMPORT "assert wsgiref.util.__spec__.loader.__class__.__module__ == '_frozen_importlib_external'\n");
	gorgon_pyfile_kept(&again);
	assert_int_equal(again, read);
	destroy(first);
	destroy(second);
}

static void nothing_is_kept_without_bytes(void **state)
{
	struct gorgon_interp *interp;
	uint64_t count;

	(void)state;
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, 0, GORGON_KEEP_SECONDS);
	interp = start();
	run(interp, IMPORT "import importlib.machinery, types\n"
			   "assert isinstance(importlib.machinery.SourceFileLoader.get_code, types.FunctionType)\n");
	assert_int_equal(gorgon_pyfile_kept(&count), 0);
	assert_ok(gorgon_keep(NULL));
	destroy(interp);
}

// An interpreter that began with it goes on with it.
static void bytes_may_go_while_an_interpreter_runs(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, 0, GORGON_KEEP_SECONDS);
	run(interp, IMPORT);
	assert_ok(gorgon_keep(NULL));
	gorgon_trim();
	run(interp, "import sys, wsgiref.headers\nassert wsgiref.headers.Headers\n");
	destroy(interp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fresh_unit_test(interpreters_use_what_others_have_read),
		fresh_unit_test(nothing_is_kept_without_bytes),
		fresh_unit_test(bytes_may_go_while_an_interpreter_runs),
	};

	return cmocka_run_group_tests_name("imports", tests, test_warm_up, NULL);
}
