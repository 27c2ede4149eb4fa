// SPDX-License-Identifier: MIT
// loader/python/values/value.c: plain values across the border.

#define _GNU_SOURCE
#include "calls.h"

#include <stdio.h>
#include <string.h>

static void call_each_kind_of_value_comes_back_as_it_went(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value inner[] = {
		VALUE_INT(INT64_MIN),
		VALUE_INT(INT64_MAX),
		{.kind = GORGON_VALUE_FLOAT, .number = -0.5},
		{.kind = GORGON_VALUE_BOOL, .boolean = true},
		{.kind = GORGON_VALUE_BOOL, .boolean = false},
		{.kind = GORGON_VALUE_NONE},
		VALUE_STRING("gr\303\274n\0x"),
		{.kind = GORGON_VALUE_BYTES, .text = {"\0\377", 2}},
	};
	struct gorgon_value entry[] = {VALUE_STRING("key"), VALUE_LIST(inner)};
	struct gorgon_value dict = {.kind = GORGON_VALUE_DICT, .list = {entry, 1}}, ret, *items;

	(void)state;
	run(interp, "def f(x):\n"
		    "    assert x == {'key': [-2**63, 2**63-1, -0.5, True, False, None,\n"
		    "                         'gr\\xfcn\\0x', b'\\0\\xff']}, x\n"
		    "    assert [type(i) for i in x['key'][3:6]] == [bool, bool, type(None)]\n"
		    "    return x\n");
	assert_ok(call_f(interp, &dict, &ret));
	assert_int_equal(ret.kind, GORGON_VALUE_DICT);
	assert_int_equal(ret.list.count, 1);
	assert_string_equal(ret.list.items[0].text.data, "key");
	items = ret.list.items[1].list.items;
	assert_int_equal(ret.list.items[1].list.count, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(items[i].kind, inner[i].kind);
	assert_true(items[0].integer == INT64_MIN && items[1].integer == INT64_MAX);
	assert_true(items[2].number == -0.5 && items[3].boolean && !items[4].boolean);
	assert_int_equal(items[6].text.size, 7);
	assert_memory_equal(items[6].text.data, "gr\303\274n\0x", 8); // and a zero byte
	assert_int_equal(items[7].text.size, 2);
	assert_memory_equal(items[7].text.data, "\0\377", 3);
	gorgon_value_deinit(&ret);
	assert_int_equal(ret.kind, GORGON_VALUE_NONE);
	destroy(interp);
}

static void call_arrays_that_nothing_holds_cross_without_a_copy(void **state)
{
	double numbers[] = {1, 2, 3};
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = {.format = "d", .ndim = 1, .shape = (ptrdiff_t[]){3}},
		.writable = true,
		.data = numbers,
	};
	struct gorgon_interp *interp;
	struct gorgon_value array = {.kind = GORGON_VALUE_ARRAY}, ret, *items;
	struct gorgon_array_info info;

	(void)state;
	test_hide_leaks(true); // of numpy's
	interp = start();
	run(interp, "import numpy, gorgon\n"
		    "gorgon.use_data_handler()\n"
		    "def f(x):\n"
		    "    x[0] = 10\n"
		    "    y = numpy.arange(4)\n"
		    "    return [x[1:], y, numpy.frombuffer(b'ab', 'u1'), memoryview(x),\n"
		    "            numpy.timedelta64(2, 's')]\n");
	assert_ok(gorgon_array_create(&opts, &array.array));
	assert_ok(call_f(interp, &array, &ret));
	gorgon_array_release(array.array);
	assert_true(numbers[0] == 10);
	items = ret.list.items;
	for (int i = 0; i < 5; i++)
		assert_int_equal(items[i].kind, GORGON_VALUE_ARRAY);
	// The host's own memory comes back as a copy.
	gorgon_array_get_info(items[0].array, &info);
	assert_true(info.data != numbers + 1 && info.layout.shape[0] == 2 && info.writable);
	assert_memory_equal(info.data, numbers + 1, 2 * sizeof(*numbers));
	gorgon_array_get_info(items[3].array, &info);
	assert_true(info.data != numbers && info.layout.shape[0] == 3);
	// An array in the interpreter's own memory is copied.
	gorgon_array_get_info(items[2].array, &info);
	assert_memory_equal(info.data, "ab", 2);
	gorgon_array_get_info(items[4].array, &info);
	assert_true(info.layout.ndim == 0 && *(int64_t *)info.data == 2);
	destroy(interp);
	test_hide_leaks(false);
	// The array outlives its interpreter.
	gorgon_array_get_info(items[1].array, &info);
	assert_true(info.layout.shape[0] == 4 && ((int64_t *)info.data)[3] == 3);
	gorgon_value_deinit(&ret);
}

static void call_scalars_of_numpy_are_what_they_are(void **state)
{
	struct gorgon_value none = {.kind = GORGON_VALUE_NONE}, ret, *items;
	struct gorgon_interp *interp;
	struct gorgon_error *err;

	(void)state;
	test_hide_leaks(true);
	interp = start();
	run(interp, "import numpy as np\n"
		    "def f(x):\n"
		    "    return [np.bool_(True), np.array([False])[0],\n"
		    "            *(t(np.iinfo(t).min) for t in (np.int8, np.int16, np.int32, np.int64)),\n"
		    "            *(t(np.iinfo(t).max) for t in (np.uint8, np.uint16, np.uint32, np.int64)),\n"
		    "            *(t(0.5) for t in (np.float16, np.float32, np.float64)), {np.int16(3): np.bool_(False)}]\n");
	assert_ok(call_f(interp, &none, &ret));
	items = ret.list.items;
	assert_int_equal(ret.list.count, 14);
	assert_true(items[0].kind == GORGON_VALUE_BOOL && items[0].boolean);
	assert_true(items[1].kind == GORGON_VALUE_BOOL && !items[1].boolean);
	for (int i = 0; i < 8; i++) {
		static const int64_t expected[] = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, UINT8_MAX, UINT16_MAX, UINT32_MAX, INT64_MAX};

		assert_int_equal(items[2 + i].kind, GORGON_VALUE_INT);
		assert_int_equal(items[2 + i].integer, expected[i]);
	}
	for (int i = 10; i < 13; i++)
		assert_true(items[i].kind == GORGON_VALUE_FLOAT && items[i].number == 0.5);
	assert_true(items[13].list.items[0].kind == GORGON_VALUE_INT && items[13].list.items[0].integer == 3);
	assert_int_equal(items[13].list.items[1].kind, GORGON_VALUE_BOOL);
	gorgon_value_deinit(&ret);
	run(interp, "def f(x): return np.uint64(2**63)\n");
	err = call_f(interp, &none, &ret);
	assert_error(err, GORGON_ERROR_UNSUPPORTED, "more than 64 bits");
	destroy(interp);
	test_hide_leaks(false);
}

static void call_subclasses_cross_as_their_base(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value none = {.kind = GORGON_VALUE_NONE}, ret, *items;

	(void)state;
	run(interp, "import enum, collections\n"
		    "def f(x):\n"
		    "    return (enum.IntEnum('E', 'a b').b, type('F', (float,), {})(2.5),\n"
		    "            collections.OrderedDict(a=1), collections.namedtuple('P', 'x')(7),\n"
		    "            type('S', (str,), {})('s'), bytearray(b'ba'))\n");
	assert_ok(call_f(interp, &none, &ret));
	items = ret.list.items;
	assert_int_equal(ret.kind, GORGON_VALUE_LIST);
	assert_int_equal(ret.list.count, 6);
	assert_int_equal(items[0].integer, 2);
	assert_true(items[1].kind == GORGON_VALUE_FLOAT && items[1].number == 2.5);
	assert_int_equal(items[2].kind, GORGON_VALUE_DICT);
	assert_int_equal(items[3].list.items[0].integer, 7);
	assert_string_equal(items[4].text.data, "s");
	assert_true(items[5].kind == GORGON_VALUE_BYTES && !strcmp(items[5].text.data, "ba"));
	gorgon_value_deinit(&ret);
	destroy(interp);
}

static void call_result_that_cannot_cross_is_refused(void **state)
{
	static const struct {
		const char *expression, *text;
	} cases[] = {
		{"[0, {'a': {1}}]", "result[1][0]: a value of type set, expected None, bool, int"},
		{"2 ** 63", "result: an int that needs more than 64 bits"},
		{"[-2 ** 63 - 1]", "result[0]: an int that needs more than 64 bits"},
		{"cyclic", "result[0][0][0]: nested deeper than 64, or within itself"},
		{"own_value", "nested deeper than 64, or within itself"},
		{"doubled", "more than 1048576 values at once"},
		{"[None] * 1048576", "result: more than 1048576 values at once"},
		{"dict.fromkeys(range(600000))", "result: more than 1048576 values at once"},
		{"3j", "a value of type complex"},
	};
	struct gorgon_interp *interp = start();

	(void)state;
	run(interp, "cyclic = []; cyclic.append(cyclic)\n"
		    "own_value = {}; own_value['x'] = own_value\n"
		    "doubled = []\n"
		    "for i in range(50): doubled = [doubled, doubled]\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gorgon_value ret = VALUE_INT(42);
		char source[100];

		snprintf(source, sizeof(source), "def f(): return %s", cases[i].expression);
		run(interp, source);
		assert_error(gorgon_interp_call(interp, NULL, "f", NULL, NULL, &ret),
			     GORGON_ERROR_UNSUPPORTED, cases[i].text);
		assert_int_equal(ret.integer, 42); // untouched
		assert_ok(gorgon_interp_call(interp, NULL, "f", NULL, NULL, NULL));
	}
	destroy(interp);
}

static void call_largest_values_cross(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value ret, *inner = &ret;
	int depth = 0;

	(void)state;
	run(interp, "def f():\n"
		    "    x = []\n"
		    "    for i in range(63): x = [x]\n"
		    "    return x\n"
		    "def g(): return [None] * 1048575\n");
	assert_ok(gorgon_interp_call(interp, NULL, "f", NULL, NULL, &ret));
	for (; inner->list.count; inner = inner->list.items)
		depth++;
	assert_int_equal(depth, 63);
	gorgon_value_deinit(&ret);
	assert_ok(gorgon_interp_call(interp, NULL, "g", NULL, NULL, &ret));
	assert_int_equal(ret.list.count, 1048575);
	gorgon_value_deinit(&ret);
	destroy(interp);
}

static void call_arguments_that_cannot_cross_are_refused(void **state)
{
	struct gorgon_interp *interp = start_with_identity();
	struct gorgon_value cyclic = {.kind = GORGON_VALUE_LIST, .list = {&cyclic, 1}};
	struct gorgon_value unknown = {.kind = (enum gorgon_value_kind)11};
	struct gorgon_value huge = {.kind = GORGON_VALUE_BYTES, .text = {"x", SIZE_MAX}};
	struct gorgon_value utf8 = VALUE_STRING("\377");
	struct gorgon_value one = VALUE_INT(1);
	struct gorgon_value list_entry[] = {{.kind = GORGON_VALUE_LIST}, VALUE_INT(1)};
	struct gorgon_value unhashable = {.kind = GORGON_VALUE_DICT, .list = {list_entry, 1}};

	(void)state;
	assert_error(call_f(interp, &cyclic, NULL), GORGON_ERROR_ARGUMENT,
		     "args[0][0][0]: nested deeper than 64, or within itself");
	assert_error(call_f(interp, &unknown, NULL), GORGON_ERROR_ARGUMENT,
		     "args[0]: unknown kind of value");
	assert_error(call_f(interp, &huge, NULL), GORGON_ERROR_ARGUMENT,
		     "args[0]: larger than memory can be");
	assert_raised(call_f(interp, &utf8, NULL), "UnicodeDecodeError", "invalid start byte");
	assert_raised(call_f(interp, &unhashable, NULL), "TypeError", "unhashable");
	assert_error(gorgon_interp_call(interp, NULL, "f", &one, NULL, NULL), GORGON_ERROR_ARGUMENT,
		     "f: args is of kind 2, expected a list (6)");
	assert_error(gorgon_interp_call(interp, NULL, "f", NULL, &one, NULL), GORGON_ERROR_ARGUMENT,
		     "f: kwargs is of kind 2, expected a dict (7)");
	assert_ok(call_f(interp, &one, NULL)); // none the worse for it
	destroy(interp);
}

static void call_keywords_and_dotted_names_arrive(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value list[] = {VALUE_INT(1), VALUE_INT(2)}, items[] = {VALUE_LIST(list)};
	struct gorgon_value keyword[] = {VALUE_STRING("separators"), {.kind = GORGON_VALUE_NONE},
					 VALUE_STRING("indent"), VALUE_INT(1)};
	struct gorgon_value args = VALUE_LIST(items), ret;
	struct gorgon_value kwargs = {.kind = GORGON_VALUE_DICT, .list = {keyword, 2}};

	(void)state;
	assert_ok(gorgon_interp_call(interp, "json", "dumps", &args, &kwargs, &ret));
	assert_string_equal(ret.text.data, "[\n 1,\n 2\n]");
	gorgon_value_deinit(&ret);
	assert_ok(gorgon_interp_call(interp, "os", "path.basename.__name__.upper", NULL, NULL, &ret));
	assert_string_equal(ret.text.data, "BASENAME");
	gorgon_value_deinit(&ret);
	destroy(interp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_each_kind_of_value_comes_back_as_it_went),
		cmocka_unit_test(call_arrays_that_nothing_holds_cross_without_a_copy),
		cmocka_unit_test(call_scalars_of_numpy_are_what_they_are),
		cmocka_unit_test(call_subclasses_cross_as_their_base),
		cmocka_unit_test(call_result_that_cannot_cross_is_refused),
		cmocka_unit_test(call_largest_values_cross),
		cmocka_unit_test(call_arguments_that_cannot_cross_are_refused),
		cmocka_unit_test(call_keywords_and_dotted_names_arrive),
	};

	return cmocka_run_group_tests_name("value", tests, test_warm_up, NULL);
}
