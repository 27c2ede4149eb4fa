// SPDX-License-Identifier: MIT
// loader/python/arrays/charges.c: arrays that interpreters share are charged to those that hold them, a share each.

#define _GNU_SOURCE
#include "calls.h"

#include <string.h>

#define MIB (1024 * 1024)

static uint64_t charged(struct gorgon_interp *interp)
{
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	assert_ok(gorgon_interp_get_stats(interp, &stats));
	return stats.block_bytes;
}

// Shares 12 MiB under the name "memory", which is the only holder.
#define SHARE "import gorgon; gorgon.share(bytes(12 << 20), 'memory', copy=True)"
#define RECEIVE "import gorgon; x = gorgon.receive('memory')"

// What the interpreter does may be numpy's import, if numpy is installed.
static void run_receive(struct gorgon_interp *interp)
{
	test_hide_leaks(true);
	run(interp, RECEIVE);
	test_hide_leaks(false);
}

static void charges_are_shares_that_change_as_holders_come_and_go(void **state)
{
	struct gorgon_interp *giver = start(), *one = start(), *two = start();

	(void)state;
	run(giver, SHARE);
	assert_int_equal(charged(giver), 12 * MIB);
	run_receive(one);
	assert_int_equal(charged(giver), 6 * MIB);
	assert_int_equal(charged(one), 6 * MIB);
	run_receive(two);
	assert_int_equal(charged(giver), 4 * MIB);
	assert_int_equal(charged(one), 4 * MIB);
	assert_int_equal(charged(two), 4 * MIB);
	run(two, "y = gorgon.receive('memory'); del x");
	assert_int_equal(charged(two), 4 * MIB);
	run(one, "gorgon.withdraw('memory')");
	assert_int_equal(charged(giver), 0);
	assert_int_equal(charged(one), 6 * MIB);
	destroy(one);
	assert_int_equal(charged(two), 12 * MIB);
	run(two, "del y");
	assert_int_equal(charged(two), 0);
	destroy(giver);
	destroy(two);
}

static void charges_are_the_whole_to_the_byte(void **state)
{
	struct gorgon_interp *interps[] = {start(), start(), start()};
	uint64_t sum = 0;

	(void)state;
	run(interps[0], "import gorgon; gorgon.share(bytes(1000), 'memory', copy=True)");
	for (int i = 1; i < 3; i++)
		run_receive(interps[i]);
	for (int i = 0; i < 3; i++) {
		assert_in_range(charged(interps[i]), 333, 334);
		sum += charged(interps[i]);
	}
	assert_int_equal(sum, 1000);
	run(interps[0], "gorgon.withdraw('memory')");
	for (int i = 0; i < 3; i++)
		destroy(interps[i]);
}

// A tensor for other libraries holds the memory, too.
static void charges_of_a_tensor_end_with_it(void **state)
{
	struct gorgon_interp *giver = start(), *other = start();

	(void)state;
	run(giver, SHARE);
	test_hide_leaks(true);
	run(other, "import gorgon; x = gorgon.receive('memory', plain=True)");
	test_hide_leaks(false);
	run(other, "y = x.__dlpack__(max_version=(1, 0)); del x");
	assert_int_equal(charged(other), 6 * MIB);
	run(other, "del y");
	assert_int_equal(charged(other), 0);
	assert_int_equal(charged(giver), 12 * MIB);
	run(giver, "gorgon.withdraw('memory')");
	destroy(giver);
	destroy(other);
}

static void charges_of_a_name_end_with_its_giver(void **state)
{
	struct gorgon_interp *giver = start(), *other;

	(void)state;
	run(giver, SHARE);
	destroy(giver);
	other = start();
	assert_int_equal(charged(other), 0);
	run_receive(other);
	assert_int_equal(charged(other), 12 * MIB);
	assert_ok(gorgon_array_withdraw("memory"));
	assert_int_equal(charged(other), 12 * MIB);
	destroy(other);
}

// A name that is taken already charges nobody.
static void charges_of_a_refused_name_are_taken_back(void **state)
{
	struct gorgon_interp *giver = start(), *other = start();

	(void)state;
	run(giver, SHARE);
	assert_raised(gorgon_interp_run_string(other, SHARE, NULL), "ValueError", "the name is taken");
	assert_int_equal(charged(other), 0);
	assert_int_equal(charged(giver), 12 * MIB);
	run(giver, "gorgon.withdraw('memory')");
	destroy(giver);
	destroy(other);
}

static void charges_are_not_made_for_memory_of_the_host(void **state)
{
	struct gorgon_array_opts opts = {.size = sizeof(opts),
					 .layout = {.format = "B", .ndim = 1, .shape = (ptrdiff_t[]){3 * MIB}}};
	struct gorgon_interp *interp = start();
	struct gorgon_array *array;

	(void)state;
	assert_ok(gorgon_array_create(&opts, &array));
	assert_ok(gorgon_array_share(array, "memory"));
	gorgon_array_release(array);
	run_receive(interp);
	assert_int_equal(charged(interp), 0);
	run(interp, "gorgon.share(x, 'once more'); del x; gorgon.withdraw('memory'); gorgon.withdraw('once more')");
	assert_int_equal(charged(interp), 0);
	destroy(interp);
}

static struct gorgon_interp *start_limited(uint64_t limit, uint64_t hard_limit)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = limit, .memory_hard_limit = hard_limit};

	return test_interp_start(&opts, NULL);
}

// What is received is in the list before Python looks whether there is a MemoryError: only a refusal leaves the list empty.
#define RECEIVE_INTO_LIST "import gorgon\n"                                                                            \
			  "x = []\n"                                                                                   \
			  "x.extend(map(gorgon.receive, ['memory']))\n"

// 200 MiB for two are 100 MiB each, which is beyond the limit. For three they are not.
static void charges_beyond_the_hard_limit_are_refused(void **state)
{
	struct gorgon_interp *giver = start(), *limited = start_limited(96 * MIB, 96 * MIB), *other = start();

	(void)state;
	run(giver, "import gorgon; gorgon.share(bytes(200 << 20), 'memory', copy=True)");
	test_hide_leaks(true);
	assert_raised(gorgon_interp_run_string(limited, RECEIVE_INTO_LIST, NULL), "MemoryError", "");
	test_hide_leaks(false);
	assert_int_equal(charged(giver), 200 * MIB);
	assert_int_equal(charged(limited), 0);
	run_receive(other);
	run_receive(limited);
	assert_in_range(charged(limited), 200 * MIB / 3, 200 * MIB / 3 + 2);
	run(limited, "del x; y = bytes(10 << 20); del y");
	assert_raised(gorgon_interp_run_string(limited, "for i in range(9): gorgon.share(bytes(10 << 20), str(i), copy=True)",
					       NULL), "MemoryError", "");
	assert_true(charged(limited) >= 40 * MIB);
	destroy(limited);
	for (char name[2] = "0"; *name <= '9'; (*name)++)
		gorgon_error_destroy(gorgon_array_withdraw(name));
	run(giver, "gorgon.withdraw('memory')");
	destroy(giver);
	destroy(other);
}

// The others have gone, and the program holds it all alone now.
static void charges_that_grow_beyond_the_limit_are_noticed(void **state)
{
	struct gorgon_interp *giver = start(), *limited = start_limited(128 * MIB, 0);

	(void)state;
	run(giver, "import gorgon; gorgon.share(bytes(140 << 20), 'memory', copy=True)");
	run_receive(limited);
	assert_int_equal(charged(limited), 70 * MIB);
	run(giver, "gorgon.withdraw('memory')");
	assert_int_equal(charged(limited), 140 * MIB);
	assert_raised(gorgon_interp_run_string(limited, "y = [bytes(1000) for i in range(100)]", NULL), "MemoryError", "");
	run(limited, "del x; y = [bytes(1000) for i in range(100)]");
	destroy(giver);
	destroy(limited);
}

// Starts an interpreter whose array `x` of 12 MiB is memory of our data handler, or skips the test.
static struct gorgon_interp *start_maker(void)
{
	struct gorgon_interp *interp = start();
	struct gorgon_error *err;

	test_hide_leaks(true); // numpy's
	err = gorgon_interp_run_string(interp, "import gorgon, numpy", NULL);
	test_hide_leaks(false);
	if (err) {
		gorgon_error_destroy(err);
		destroy(interp);
		skip_because("numpy is not installed");
	}
	run(interp, "gorgon.use_data_handler()\n"
		    "x = numpy.zeros(12 << 20, 'u1')\n"
		    "def f(_): return globals().pop('x')\n");
	assert_int_equal(charged(interp), 12 * MIB);
	return interp;
}

static void charges_of_a_result_go_to_who_receives_it(void **state)
{
	struct gorgon_interp *maker = start_maker(), *other = start();
	struct gorgon_value none = {.kind = GORGON_VALUE_NONE}, result;

	(void)state;
	assert_ok(call_f(maker, &none, &result)); // it does not keep it
	assert_int_equal(charged(maker), 0);
	test_hide_leaks(true);
	run(other, "def f(x):\n"
		   " global y\n"
		   " y = x\n");
	assert_ok(call_f(other, &result, NULL));
	test_hide_leaks(false);
	assert_int_equal(charged(maker), 0);
	assert_int_equal(charged(other), 12 * MIB);
	gorgon_value_deinit(&result);
	run(other, "del y");
	assert_int_equal(charged(other), 0);
	destroy(maker);
	destroy(other);
}

// The host has a copy.
static void charges_of_a_result_that_is_kept_are_the_makers(void **state)
{
	struct gorgon_interp *maker = start_maker();
	struct gorgon_value none = {.kind = GORGON_VALUE_NONE}, result;

	(void)state;
	run(maker, "def f(_): return x");
	assert_ok(call_f(maker, &none, &result));
	assert_int_equal(charged(maker), 12 * MIB);
	run(maker, "del x");
	assert_int_equal(charged(maker), 0);
	gorgon_value_deinit(&result);
	destroy(maker);
}

// The maker's memory has been others', too, and is its own again.
static void charges_of_a_maker_that_is_alone_again_end_once(void **state)
{
	struct gorgon_interp *maker = start_maker(), *other = start();

	(void)state;
	run(maker, "gorgon.share(x, 'memory')");
	run_receive(other);
	assert_int_equal(charged(maker), 6 * MIB);
	run(other, "del x");
	run(maker, "gorgon.withdraw('memory')");
	assert_int_equal(charged(maker), 12 * MIB);
	run(maker, "del x");
	assert_int_equal(charged(maker), 0);
	run(maker, "x = numpy.zeros(12 << 20, 'u1'); gorgon.share(x, 'memory')");
	assert_int_equal(charged(maker), 12 * MIB);
	run(maker, "gorgon.withdraw('memory'); del x");
	assert_int_equal(charged(maker), 0);
	destroy(maker);
	destroy(other);
}

// The host gives an interpreter's memory a name: nobody is charged for that.
static void charges_of_a_name_of_the_host_are_nobodys(void **state)
{
	struct gorgon_interp *maker = start_maker(), *other = start();
	struct gorgon_value none = {.kind = GORGON_VALUE_NONE}, result;

	(void)state;
	assert_ok(call_f(maker, &none, &result));
	assert_ok(gorgon_array_share(result.array, "memory"));
	gorgon_value_deinit(&result);
	assert_int_equal(charged(maker), 0);
	run_receive(other);
	assert_int_equal(charged(other), 12 * MIB);
	assert_ok(gorgon_array_withdraw("memory"));
	assert_int_equal(charged(other), 12 * MIB);
	destroy(maker);
	destroy(other);
}

// Who resizes memory that others hold gets memory of its own.
static void charges_of_resized_memory_are_apart(void **state)
{
	struct gorgon_interp *maker = start_maker(), *other = start();

	(void)state;
	run(maker, "gorgon.share(x[::2], 'memory')");
	run_receive(other);
	assert_int_equal(charged(other), 6 * MIB);
	run(maker, "gorgon.withdraw('memory'); x.resize(20 << 20, refcheck=False)");
	assert_int_equal(charged(maker), 20 * MIB);
	assert_int_equal(charged(other), 12 * MIB);
	run(other, "del x");
	run(maker, "x.resize(10 << 20, refcheck=False)");
	assert_int_equal(charged(maker), 10 * MIB);
	run(maker, "del x");
	assert_int_equal(charged(maker), 0);
	destroy(maker);
	destroy(other);
}

static void charges_of_a_mask_go_with_its_array(void **state)
{
	struct gorgon_interp *maker = start_maker(), *other = start();

	(void)state;
	run(maker, "del x; x = numpy.ma.masked_equal(numpy.zeros(4 << 20, 'u1'), 0); gorgon.share(x, 'memory')");
	assert_true(charged(maker) >= 8 * MIB);
	run_receive(other);
	assert_in_range(charged(other), 4 * MIB, 4 * MIB + 100000);
	run(maker, "del x"); // the name has both, too
	assert_in_range(charged(maker), 4 * MIB, 4 * MIB + 100000);
	run(maker, "gorgon.withdraw('memory')");
	assert_in_range(charged(other), 8 * MIB, 8 * MIB + 100000);
	assert_true(charged(maker) < MIB);
	run(other, "del x");
	assert_true(charged(other) < 100000);
	destroy(maker);
	destroy(other);
}

// The array's own memory would be allowed.
static void charges_of_an_array_whose_mask_is_refused_are_taken_back(void **state)
{
	struct gorgon_interp *maker = start_maker(), *limited = start_limited(96 * MIB, 96 * MIB);

	(void)state;
	run(maker, "x = numpy.ma.masked_equal(numpy.zeros(120 << 20, 'u1'), 0); gorgon.share(x, 'memory')");
	test_hide_leaks(true);
	run(limited, "import numpy");
	assert_raised(gorgon_interp_run_string(limited, RECEIVE_INTO_LIST, NULL), "MemoryError", "");
	test_hide_leaks(false);
	assert_int_equal(charged(limited), 0);
	run(maker, "gorgon.withdraw('memory')");
	destroy(maker);
	destroy(limited);
}

// A case that fails leaves the name to the next one.
static int withdraw(void **state)
{
	(void)state;
	gorgon_error_destroy(gorgon_array_withdraw("memory"));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(charges_are_shares_that_change_as_holders_come_and_go,
					  withdraw),
		cmocka_unit_test_teardown(charges_are_the_whole_to_the_byte, withdraw),
		cmocka_unit_test_teardown(charges_of_a_tensor_end_with_it, withdraw),
		cmocka_unit_test_teardown(charges_of_a_name_end_with_its_giver, withdraw),
		cmocka_unit_test_teardown(charges_of_a_refused_name_are_taken_back, withdraw),
		cmocka_unit_test_teardown(charges_are_not_made_for_memory_of_the_host, withdraw),
		cmocka_unit_test_teardown(charges_beyond_the_hard_limit_are_refused, withdraw),
		cmocka_unit_test_teardown(charges_that_grow_beyond_the_limit_are_noticed, withdraw),
		cmocka_unit_test_teardown(charges_of_a_result_go_to_who_receives_it, withdraw),
		cmocka_unit_test(charges_of_a_result_that_is_kept_are_the_makers),
		cmocka_unit_test_teardown(charges_of_a_maker_that_is_alone_again_end_once,
					  withdraw),
		cmocka_unit_test_teardown(charges_of_a_name_of_the_host_are_nobodys, withdraw),
		cmocka_unit_test_teardown(charges_of_resized_memory_are_apart, withdraw),
		cmocka_unit_test_teardown(charges_of_a_mask_go_with_its_array, withdraw),
		cmocka_unit_test_teardown(charges_of_an_array_whose_mask_is_refused_are_taken_back,
					  withdraw),
	};

	return cmocka_run_group_tests_name("charges", tests, test_warm_up, NULL);
}
