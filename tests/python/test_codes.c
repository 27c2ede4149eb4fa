// SPDX-License-Identifier: MIT
// Each error code, provoked through the public interface by something that happens to hosts,
// and what holds for the errors of all of them. The compiler names a code that has no case.

#define _GNU_SOURCE
#include "calls.h"
#include "machine.h"
#include "elf_builder.h"

#include <string.h>

static struct gorgon_error *no_memory(void)
{
	const ptrdiff_t shape[] = {PTRDIFF_MAX - 10};
	struct gorgon_array_opts opts = {
		.size = sizeof(opts), .layout = {.format = "|u1", .ndim = 1, .shape = shape}};
	struct gorgon_array *array;

	return gorgon_array_create(&opts, &array);
}

static struct gorgon_error *open_file(const char *path)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object;
	struct gorgon_error *err = gorgon_object_open(ns, path, NULL, &object);

	test_ns_destroy(ns);
	return err;
}

static struct gorgon_error *open_text(void)
{
	const char *path = test_temp("libtext.so");

	test_write(path, "no library\n", 11);
	return open_file(path);
}

static struct gorgon_error *open_foreign(void)
{
	struct elf_file file = elf_build(&(struct elf_builder){0});
	const char *path = test_temp("libforeign.so");

	elf_apply(&file, &(struct elf_change)EHDR(e_machine, TEST_OTHER_MACHINE));
	test_write(path, file.data, file.size);
	elf_file_deinit(&file);
	return open_file(path);
}

static struct gorgon_error *receive_nothing(void)
{
	struct gorgon_array *array;

	return gorgon_array_receive("nobody has shared this", &array);
}

static struct gorgon_error *find_no_python(void)
{
	struct gorgon_python python;

	return gorgon_python_find("/bin/sh", &python);
}

static struct gorgon_error *call_before_start(void)
{
	struct gorgon_interp *interp = test_interp_create(NULL);
	struct gorgon_error *err = gorgon_interp_run_string(interp, "pass", NULL);

	destroy(interp);
	return err;
}

static struct gorgon_error *create_with_wrong_size(void)
{
	struct gorgon_ns_opts opts = {.size = 1};
	struct gorgon_ns *ns;

	return gorgon_ns_create(&opts, &ns);
}

static struct gorgon_error *raise_exception(void)
{
	struct gorgon_interp *interp = start();
	struct gorgon_error *err = gorgon_interp_run_string(interp, "1 / 0", NULL);

	destroy(interp);
	return err;
}

// The job waits behind a job that runs.
static struct gorgon_error *cancel_job(void)
{
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 1};
	struct gorgon_job *first, *second;
	struct gorgon_pool *pool;
	struct gorgon_error *err;

	init_waiting();
	opts.warm_up = "def f():\n"
		       "    import ctypes\n"
		       "    ctypes.CDLL(None).test_call_wait()\n";
	assert_ok(gorgon_pool_create(&opts, &pool));
	assert_ok(gorgon_pool_submit(pool, NULL, "f", NULL, NULL, -1, &first));
	sem_wait(&reached);
	assert_ok(gorgon_pool_submit(pool, NULL, "f", NULL, NULL, -1, &second));
	assert_ok(gorgon_job_cancel(second));
	err = gorgon_job_finish(second, NULL);
	sem_post(&go_on);
	assert_ok(gorgon_job_finish(first, NULL));
	assert_ok(gorgon_pool_destroy(pool));
	return err;
}

static struct gorgon_error *abandon(void)
{
	struct gorgon_interp *interp = test_interp_start(NULL, NULL);
	struct gorgon_error *err;

	assert_ok(gorgon_interp_run_string(interp, "import threading, time\n"
						   "def f():\n"
						   "  try: time.sleep(1000)\n"
						   "  finally: f()\n"
						   "threading.Thread(target=f).start()\n", NULL));
	err = gorgon_interp_stop_within(interp, 10);
	gorgon_error_destroy(gorgon_interp_destroy(interp)); // fails, because its thread is parked
	return err;
}

static struct gorgon_error *provoke(enum gorgon_error_code code)
{
	switch (code) {
	case GORGON_OK:
		return NULL;
	case GORGON_ERROR_NOMEM:
		return no_memory();
	case GORGON_ERROR_OS:
		return open_file("/nonexistent.so");
	case GORGON_ERROR_FORMAT:
		return open_text();
	case GORGON_ERROR_MACHINE:
		return open_foreign();
	case GORGON_ERROR_MISSING:
		return receive_nothing();
	case GORGON_ERROR_UNRESOLVED:
		return open_file(test_module("libundefined.so"));
	case GORGON_ERROR_UNSUPPORTED:
		return open_file(test_module("libbasic_textrel.so"));
	case GORGON_ERROR_PYTHON:
		return find_no_python();
	case GORGON_ERROR_BUSY:
		return call_before_start();
	case GORGON_ERROR_ARGUMENT:
		return create_with_wrong_size();
	case GORGON_ERROR_EXCEPTION:
		return raise_exception();
	case GORGON_ERROR_CANCELLED:
		return cancel_job();
	case GORGON_ERROR_ABANDONED:
		return abandon();
	}
	return NULL;
}

static void error_each_code_can_happen(void **state)
{
	unsigned code = GORGON_OK + 1;
	struct gorgon_error *err;

	(void)state;
	for (; (err = provoke(code)); code++) {
		const char *message = gorgon_error_message(err);

		if (gorgon_error_code(err) != code)
			fail_msg("code %u, expected %u: %s", gorgon_error_code(err), code, message);
		if (!*message || strchr(message, '\n') || message[strlen(message) - 1] == '.')
			fail_msg("code %u: not one line without a full stop: \"%s\"", code, message);
		assert_int_equal(gorgon_error_errno(err) != 0, code == GORGON_ERROR_OS);
		assert_int_equal(gorgon_error_exception(err) != NULL, code == GORGON_ERROR_EXCEPTION);
		gorgon_error_destroy(err);
	}
	assert_int_equal(code, GORGON_ERROR_ABANDONED + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_each_code_can_happen),
	};

	return cmocka_run_group_tests_name("codes", tests, test_warm_up, NULL);
}
