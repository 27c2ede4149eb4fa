// SPDX-License-Identifier: MIT loader/python/values/function.c and view.c: functions of the host as
// callables of Python, views of objects' memory.

#define _GNU_SOURCE
#include "calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int destroyed;

static void count_destroyed(void *ctx)
{
	(void)ctx;
	destroyed++;
}

// Put a function of the host into __main__.
static void define(struct gorgon_interp *interp, const char *name,
		   struct gorgon_error *(*call)(void *, const struct gorgon_value *,
						const struct gorgon_value *,
						struct gorgon_answer *),
		   void *ctx)
{
	struct gorgon_function_opts opts = {.size = sizeof(opts),
					    .name = name,
					    .doc = "a word",
					    .call = call,
					    .ctx = ctx,
					    .destroy = count_destroyed};
	struct gorgon_pyobject *function, *module;
	struct gorgon_value value;

	assert_ok(gorgon_function_create(interp, &opts, &function));
	assert_ok(gorgon_pyobject_find(interp, NULL, NULL, &module));
	value = gorgon_value_of_object(function);
	assert_ok(gorgon_pyobject_set_attr(module, name, &value));
	gorgon_pyobject_release(module);
	gorgon_pyobject_release(function);
}

// --- calls ----------------------------------------------------------------------------------

static struct gorgon_error *echo(void *ctx, const struct gorgon_value *args,
				 const struct gorgon_value *kwargs, struct gorgon_answer *answer)
{
	struct gorgon_value both[2] = {*args, *kwargs};
	struct gorgon_value list = gorgon_value_of_list(both, 2);

	(void)ctx;
	return gorgon_answer_set(answer, &list);
}

static void arguments_and_answers_cross(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	define(interp, "echo", echo, NULL);
	run(interp, "assert echo() == [[], {}]\n"
		    "assert echo(1, 2.5, 'x', b'y', None, True, [1, (2,)], {'a': 1}) == "
		    "[[1, 2.5, 'x', b'y', None, True, [1, [2]], {'a': 1}], {}]\n"
		    "assert echo(1, key='word') == [[1], {'key': 'word'}]\n"
		    "assert (echo.__name__, echo.__doc__) == ('echo', 'a word')\n"
		    "thing = object()\n"
		    "assert echo(thing, each=thing) == [[thing], {'each': thing}]\n"
		    "import functools, threading\n"
		    "assert list(map(functools.partial(echo, 1), [2])) == [[[1, 2], {}]]\n"
		    "threads = [threading.Thread(target=echo, args=(i,)) for i in range(20)]\n"
		    "[t.start() for t in threads]; [t.join() for t in threads]\n");
	destroy(interp);
}

static void arguments_beyond_the_limits_are_a_type_error(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	define(interp, "echo", echo, NULL);
	assert_raised(gorgon_interp_run_string(interp, "echo(1 << 70)", NULL), "TypeError",
		      "64 bits");
	assert_raised(gorgon_interp_run_string(interp, "echo(x=1 << 70)", NULL), "TypeError",
		      "64 bits");
	assert_raised(gorgon_interp_run_string(interp, "a = []\na.append(a)\necho(a)", NULL),
		      "TypeError", "deep");
	run(interp, "assert echo(1) == [[1], {}]\n");
	destroy(interp);
}

// --- errors -----------------------------------------------------------------------------------

static struct gorgon_error *fails(void *ctx, const struct gorgon_value *args,
				  const struct gorgon_value *kwargs, struct gorgon_answer *answer)
{
	const struct gorgon_value *items = args->list.items;

	(void)ctx;
	(void)kwargs;
	(void)answer;
	return gorgon_exception_create(items[0].text.data, items[1].text.data);
}

static struct gorgon_error *call_into(void *ctx, const struct gorgon_value *args,
				      const struct gorgon_value *kwargs,
				      struct gorgon_answer *answer)
{
	(void)kwargs;
	(void)answer;
	return gorgon_interp_run_string(ctx, args->list.items[0].text.data, NULL);
}

static void errors_are_raised_as_what_they_are(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();

	(void)state;
	define(interp, "fail", fails, NULL);
	assert_raised(gorgon_interp_run_string(interp, "fail('ValueError', 'too large')", NULL),
		      "ValueError", "too large");
	assert_raised(gorgon_interp_run_string(interp, "fail('queue.Empty', 'none')", NULL),
		      "_queue.Empty", "none");
	assert_raised(gorgon_interp_run_string(interp, "fail('no.such.Class', 'text')", NULL),
		      "RuntimeError", "no.such.Class: text");
	assert_raised(gorgon_interp_run_string(interp, "fail('print', 'text')", NULL),
		      "RuntimeError", "print: text");
	// What another interpreter has raised, and what this one has.
	define(interp, "in_other", call_into, other);
	assert_raised(gorgon_interp_run_string(interp, "in_other('{}[7]')", NULL), "KeyError", "7");
	define(interp, "in_this", call_into, interp);
	run(interp, "try:\n    in_this('1 / 0')\nexcept ZeroDivisionError as error:\n    assert "
		    "'division' in str(error)\n"
		    "else:\n    assert False\n"
		    "in_this('name = in_this.__name__')\nassert name == 'in_this'\n");
	// A class that wants more than a message.
	assert_raised(gorgon_interp_run_string(interp, "fail('UnicodeDecodeError', 'text')", NULL),
		      "RuntimeError", "UnicodeDecodeError: text");
	destroy(interp);
	destroy(other);
}

static struct gorgon_error *answer_bytes(void *ctx, const struct gorgon_value *args,
					 const struct gorgon_value *kwargs,
					 struct gorgon_answer *answer)
{
	const struct gorgon_value text = gorgon_value_of_text("\xff");

	(void)ctx;
	(void)args;
	(void)kwargs;
	return gorgon_answer_set(answer, &text);
}

// Also on threads that Python has started, which are in no call of the host.
static void what_does_not_cross_is_an_exception_on_every_thread(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	define(interp, "echo", echo, NULL);
	define(interp, "answer", answer_bytes, NULL);
	run(interp, "import threading\n"
		    "def check():\n"
		    "    for function, args in (echo, ['\\udcff']), (answer, []):\n"
		    "        try:\n            function(*args)\n"
		    "        except (TypeError, RuntimeError) as error:\n"
		    "            seen.append(str(error))\n"
		    "seen = []\n"
		    "check()\n"
		    "thread = threading.Thread(target=check)\nthread.start()\nthread.join()\n"
		    "assert 'surrogates not allowed' in seen[0], seen\n"
		    "assert 'invalid start byte' in seen[1], seen\n"
		    "assert seen[2:] == seen[:2], seen\n");
	destroy(interp);
}

static void bad_options_are_refused(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_function_opts opts = {
		.size = sizeof(opts), .name = "f", .destroy = count_destroyed};
	struct gorgon_pyobject *ret = NULL;
	struct gorgon_error *err;

	(void)state;
	destroyed = 0;
	err = gorgon_function_create(interp, &opts, &ret);
	assert_int_equal(gorgon_error_code(err), GORGON_ERROR_ARGUMENT);
	assert_string_equal(gorgon_error_message(err), "function: has no call");
	gorgon_error_destroy(err);
	opts.call = echo;
	opts.name = NULL;
	err = gorgon_function_create(interp, &opts, &ret);
	assert_string_equal(gorgon_error_message(err), "function: has no name");
	gorgon_error_destroy(err);
	assert_null(ret);
	destroy(interp);
	assert_int_equal(destroyed, 0);
}

// --- life ---------------------------------------------------------------------------------------

static void functions_live_as_long_as_somebody_refers_to_them(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	destroyed = 0;
	define(interp, "one", echo, NULL);
	define(interp, "two", echo, NULL);
	define(interp, "three", echo, NULL);
	run(interp, "import gc\n[1][0]\nkept = one\ndel one\n");
	assert_int_equal(destroyed, 0);
	run(interp, "del kept\n");
	assert_int_equal(destroyed, 1);
	run(interp, "import builtins\nbuiltins.three = three\n"
		    "cycle = [two]\ncycle.append(cycle)\ndel two, cycle\ngc.collect()\n");
	assert_int_equal(destroyed, 2);
	destroy(interp);
	assert_int_equal(destroyed, 3);
}

struct life {
	struct gorgon_interp *interp;
	sem_t *begun;
};

static struct gorgon_error *wait_for_interrupt(void *ctx, const struct gorgon_value *args,
					       const struct gorgon_value *kwargs,
					       struct gorgon_answer *answer)
{
	struct life *life = ctx;

	(void)args;
	(void)kwargs;
	(void)answer;
	assert_ok(gorgon_interp_interrupt(life->interp));
	return NULL;
}

static void an_interrupt_comes_when_the_function_has_returned(void **state)
{
	struct life life = {.interp = start()};

	(void)state;
	define(life.interp, "wait", wait_for_interrupt, &life);
	assert_raised(gorgon_interp_run_string(life.interp, "wait()\nfor _ in range(10**9): pass\n",
					       NULL),
		      "KeyboardInterrupt", "");
	// The call goes on after an argument that does not cross, and can be interrupted.
	assert_raised(gorgon_interp_run_string(life.interp,
					       "try:\n    wait('\\udcff')\n"
					       "except TypeError:\n    pass\n"
					       "wait()\nfor _ in range(10**9): pass\n",
					       NULL),
		      "KeyboardInterrupt", "");
	destroy(life.interp);
}

// --- views ----------------------------------------------------------------------------------------

static struct gorgon_pyobject *named(struct gorgon_interp *interp, const char *name)
{
	struct gorgon_pyobject *ret;

	assert_ok(gorgon_pyobject_find(interp, NULL, name, &ret));
	return ret;
}

static void a_view_is_the_memory_of_the_object(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object;
	struct gorgon_array_info info;
	struct gorgon_view *view;

	(void)state;
	run(interp,
	    "import array\nnumbers = array.array('d', [1, 2, 3])\nbytes_ = bytearray(b'abc')\n");
	object = named(interp, "numbers");
	assert_ok(gorgon_pyobject_view(object, true, &view));
	gorgon_view_get_info(view, &info);
	assert_string_equal(info.layout.format, "d");
	assert_int_equal(info.layout.ndim, 1);
	assert_int_equal(info.layout.shape[0], 3);
	assert_int_equal(info.layout.strides[0], 8);
	assert_true(info.writable);
	((double *)info.data)[1] = 7.5;
	run(interp, "assert list(numbers) == [1, 7.5, 3]\nnumbers[0] = 4\n");
	assert_true(((double *)info.data)[0] == 4);
	assert_raised(gorgon_interp_run_string(interp, "numbers.append(1)", NULL), "BufferError",
		      "");
	gorgon_pyobject_release(object);
	run(interp, "del numbers\n");
	assert_true(((double *)info.data)[2] == 3);
	gorgon_view_release(view);
	object = named(interp, "bytes_");
	assert_ok(gorgon_pyobject_view(object, false, &view));
	gorgon_view_release(view);
	run(interp, "bytes_.append(1)\n");
	gorgon_pyobject_release(object);
	destroy(interp);
}

static void what_has_no_memory_or_may_not_be_written_to_is_refused(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object;
	struct gorgon_array_info info;
	struct gorgon_view *view = NULL;

	(void)state;
	run(interp, "constant = b'abc'\nnumber = 1\ngrid = memoryview(bytes(range(6))).cast('B', "
		    "(2, 3))\n");
	object = named(interp, "constant");
	assert_raised(gorgon_pyobject_view(object, true, &view), "BufferError", "");
	assert_ok(gorgon_pyobject_view(object, false, &view));
	gorgon_view_get_info(view, &info);
	assert_false(info.writable);
	assert_memory_equal(info.data, "abc", 3);
	gorgon_view_release(view);
	gorgon_pyobject_release(object);
	object = named(interp, "number");
	assert_raised(gorgon_pyobject_view(object, false, &view), "TypeError", "");
	gorgon_pyobject_release(object);
	object = named(interp, "grid");
	assert_ok(gorgon_pyobject_view(object, false, &view));
	gorgon_view_get_info(view, &info);
	assert_int_equal(info.layout.ndim, 2);
	assert_int_equal(info.layout.shape[1], 3);
	assert_int_equal(info.layout.strides[0], 3);
	gorgon_pyobject_release(object);
	destroy(interp);
	gorgon_view_release(view); // after the end of the interpreter
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_and_answers_cross),
		cmocka_unit_test(arguments_beyond_the_limits_are_a_type_error),
		cmocka_unit_test(errors_are_raised_as_what_they_are),
		cmocka_unit_test(what_does_not_cross_is_an_exception_on_every_thread),
		cmocka_unit_test(bad_options_are_refused),
		cmocka_unit_test(functions_live_as_long_as_somebody_refers_to_them),
		cmocka_unit_test(an_interrupt_comes_when_the_function_has_returned),
		cmocka_unit_test(a_view_is_the_memory_of_the_object),
		cmocka_unit_test(what_has_no_memory_or_may_not_be_written_to_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
