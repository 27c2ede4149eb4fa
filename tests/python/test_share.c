// SPDX-License-Identifier: MIT
// loader/python: arrays that programs and the host share, and what an interpreter that is destroyed leaves to the
// others. tests/run/test_share.py has what programs see.

#define _GNU_SOURCE
#include "helpers.h"

#include "python/arrays/array.h"
#include "python/arrays/block.h"

#include <pthread.h>
#include <stdlib.h>

static unsigned destroyed;

static void count_destroy(void *ctx, void *data)
{
	(void)ctx;
	(void)data;
	destroyed++;
}

// Runs a program in an interpreter of its own, which is destroyed afterwards.
static void run(const char *code, int expected)
{
	struct gorgon_interp *interp = test_interp_create(NULL);
	const char *argv[] = {"-I", "-c", code};
	int status = -1;

	assert_ok(test_interp_main(interp, 3, argv, &status));
	assert_int_equal(status, expected);
	assert_ok(gorgon_interp_destroy(interp));
}

static struct gorgon_array *receive(const char *name)
{
	struct gorgon_array *array;

	assert_ok(gorgon_array_receive(name, &array));
	return array;
}

// Shares the host's numbers under the name "numbers".
static void share_numbers(int *numbers, bool writable)
{
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = {.format = "i", .ndim = 2, .shape = (ptrdiff_t[]){2, 3}},
		.writable = writable,
		.data = numbers,
		.destroy = count_destroy,
	};
	struct gorgon_array *array;

	destroyed = 0;
	assert_ok(gorgon_array_create(&opts, &array));
	assert_ok(gorgon_array_share(array, "numbers"));
	gorgon_array_release(array);
}

static void share_host_memory_is_read_and_written_in_place(void **state)
{
	int numbers[6] = {1, 2, 3, 4, 5, 6};

	(void)state;
	share_numbers(numbers, true);
	run("import gorgon\n"
	    "a = gorgon.receive('numbers', writable=True)\n"
	    "assert a.tolist() == [[1, 2, 3], [4, 5, 6]] and a.dtype.char == 'i'\n"
	    "a[1, 2] = 60\n",
	    0);
	assert_int_equal(numbers[5], 60);
	assert_int_equal(destroyed, 0);
	assert_ok(gorgon_array_withdraw("numbers"));
	assert_int_equal(destroyed, 1);
}

static void share_destroyed_interpreter_lets_go_of_what_it_received(void **state)
{
	int numbers[6] = {0};

	(void)state;
	share_numbers(numbers, false);
	// With a reference too many Python never drops the array.
	run("import ctypes, gorgon\n"
	    "a = gorgon.receive('numbers')\n"
	    "ctypes.pythonapi.Py_IncRef(ctypes.py_object(a))\n"
	    "gorgon.withdraw('numbers')\n",
	    0);
	assert_int_equal(destroyed, 1);
}

static void share_destroyed_owner_leaves_its_array_to_the_others(void **state)
{
	struct gorgon_array *array;

	(void)state;
	run("import ctypes, gorgon, numpy\n"
	    "gorgon.use_data_handler()\n"
	    "a = numpy.arange(100000.)\n"
	    "ctypes.pythonapi.Py_IncRef(ctypes.py_object(a))\n"
	    "gorgon.share(a[::-2], 'from the past')\n"
	    "raise Exception('the owner ends')\n",
	    1);
	array = receive("from the past");
	assert_true(*(double *)array->data == 99999);
	// The array alone still holds the block.
	assert_int_equal(array->block->count, 1);
	gorgon_array_release(array);
	run("import gorgon\n"
	    "a = gorgon.receive('from the past')\n"
	    "assert a.shape == (50000,) and a.sum() == sum(range(1, 100000, 2))\n"
	    "gorgon.withdraw('from the past')\n"
	    "assert a[-1] == 1\n",
	    0);
	assert_error(gorgon_array_receive("from the past", &array), GORGON_ERROR_MISSING,
		     "nobody has shared it");
}

enum { THREADS = 8, LIVES = 3, NAMES = 6 };

// Shares that are tried by all of them; tests/long/arrays.py wants more.
#define SHARES "7200"

// Owners come and go. Each shares under names that all use, holds what it receives from others too often to let go
// of it, and ends in one of three ways.
static void *live_and_die(void *arg)
{
	static const char code[] =
		"import ctypes, gorgon, numpy, os, random, sys\n"
		"gorgon.use_data_handler()\n"
		"held = []\n"
		"for i in range(int(os.environ['SHARES']) // 24):\n"
		"    name = str(random.randrange(6))\n"
		"    a = numpy.full(random.randrange(1, 5000), i)\n"
		"    if random.random() < 0.1: del held[:random.randrange(len(held) + 1)]\n"
		"    for action in gorgon.withdraw, lambda name: gorgon.share(a, name), gorgon.receive:\n"
		"        try:\n"
		"            held.append(action(name))\n"
		"        except (KeyError, ValueError):\n"
		"            pass\n"
		"arrays = [a for a in held if a is not None]\n"
		"assert all(a.min() == a.max() for a in arrays)\n"
		"ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))\n"
		"if gorgon.interpreter % 3 == 1: raise SystemExit('ends')\n"
		"if gorgon.interpreter % 3 == 2: ctypes.CDLL(None).exit(1)\n";
	int *failures = arg;

	for (int i = 0; i < LIVES; i++) {
		struct gorgon_interp *interp = test_interp_create(NULL);
		const char *argv[] = {"-I", "-c", code};
		int status = -1;

		assert_ok(test_interp_main(interp, 3, argv, &status));
		*failures += status != (gorgon_interp_number(interp) % 3 != 0);
		assert_ok(gorgon_interp_destroy(interp));
	}
	return NULL;
}

static void share_owners_die_at_random(void **state)
{
	pthread_t threads[THREADS];
	int failures[THREADS] = {0};
	unsigned left = 0;

	(void)state;
	assert_int_equal(THREADS * LIVES, 24); // in the program
	setenv("SHARES", SHARES, false);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, live_and_die, &failures[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(failures[i], 0);
	}
	for (int i = 0; i < NAMES; i++) {
		const char name[] = {(char)('0' + i), 0};
		struct gorgon_array *array;
		struct gorgon_error *err = gorgon_array_receive(name, &array);
		const int64_t *items;

		gorgon_error_destroy(err);
		if (err)
			continue;
		assert_ok(gorgon_array_withdraw(name));
		items = (const int64_t *)array->data;
		for (ptrdiff_t k = 0; k < array->layout.shape[0]; k++)
			assert_int_equal(items[k], items[0]);
		// Only the host still holds the array.
		assert_int_equal(array->count, 1);
		assert_int_equal(array->block->count, 1);
		gorgon_array_release(array);
		left++;
	}
	assert_true(left > 0);
}

static void share_bytes_are_copied_for_the_host(void **state)
{
	struct gorgon_array *array;
	struct gorgon_array_info info;

	(void)state;
	run("import gorgon\n"
	    "gorgon.share(b'some bytes', 'bytes', copy=True)\n",
	    0);
	array = receive("bytes");
	gorgon_array_get_info(array, &info);
	assert_string_equal(info.layout.format, "B");
	assert_int_equal(info.layout.ndim, 1);
	assert_int_equal(info.layout.shape[0], 10);
	assert_memory_equal(info.data, "some bytes", 10);
	assert_false(info.writable);
	gorgon_array_release(array);
	assert_ok(gorgon_array_withdraw("bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share_host_memory_is_read_and_written_in_place),
		cmocka_unit_test(share_destroyed_interpreter_lets_go_of_what_it_received),
		cmocka_unit_test(share_destroyed_owner_leaves_its_array_to_the_others),
		cmocka_unit_test(share_owners_die_at_random),
		cmocka_unit_test(share_bytes_are_copied_for_the_host),
	};

	return cmocka_run_group_tests_name("share", tests, test_warm_up, NULL);
}
