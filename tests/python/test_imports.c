// SPDX-License-Identifier: MIT
// loader/python/imports.c: interpreters use what others have found out of modules' files.
// ../run/test_imports.py has what programs see.

#define _GNU_SOURCE
#include "calls.h"

#include "python/pyfiles.h"

#define IMPORT "import colorsys, wsgiref.util\n"

static void interpreters_use_what_others_have_found(void **state)
{
	struct gorgon_interp *first = start(), *second, *third;
	uint64_t before = gorgon_pyfile_now(), learnt;

	(void)state;
	run(first, IMPORT);
	learnt = gorgon_pyfile_now();
	assert_true(learnt >= before + 5); // two modules, a package, and their code
	second = start();
	run(second, IMPORT "assert wsgiref.util.__spec__.loader.__class__.__module__ == '_frozen_importlib_external'\n");
	assert_int_equal(gorgon_pyfile_now(), learnt);
	destroy(first);

	// What was found before the caches were declared invalid counts no more, for this interpreter.
	third = start();
	run(third, "import importlib; importlib.invalidate_caches()\n" IMPORT);
	assert_true(gorgon_pyfile_now() > learnt);
	destroy(second);
	destroy(third);
}

static void nothing_is_kept_without_bytes(void **state)
{
	struct gorgon_interp *interp;
	uint64_t count;

	(void)state;
	test_keep(GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, 0, GORGON_KEEP_SECONDS);
	interp = start();
	run(interp, IMPORT "import importlib.machinery, types\n"
			   "assert isinstance(importlib.machinery.FileFinder.find_spec, types.FunctionType)\n");
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
		fresh_unit_test(interpreters_use_what_others_have_found),
		fresh_unit_test(nothing_is_kept_without_bytes),
		fresh_unit_test(bytes_may_go_while_an_interpreter_runs),
	};

	return cmocka_run_group_tests_name("imports", tests, test_warm_up, NULL);
}
