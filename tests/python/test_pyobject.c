// SPDX-License-Identifier: MIT
// loader/python/calls/held.c, pyobject.c, replica.c: references of the host to Python objects.

#define _GNU_SOURCE
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- shorthands --------------------------------------------------------------------------

static struct gorgon_pyobject *find(struct gorgon_interp *interp, const char *name)
{
	struct gorgon_pyobject *ret = NULL;

	assert_ok(gorgon_pyobject_find(interp, NULL, name, &ret));
	return ret;
}

static struct gorgon_pyobject *create(struct gorgon_interp *interp, struct gorgon_value value)
{
	struct gorgon_pyobject *ret = NULL;

	assert_ok(gorgon_pyobject_create(interp, &value, &ret));
	return ret;
}

static struct gorgon_pyobject *attr(struct gorgon_pyobject *object, const char *name)
{
	struct gorgon_pyobject *ret = NULL;

	assert_ok(gorgon_pyobject_get_attr(object, name, &ret));
	return ret;
}

static struct gorgon_error *call1(struct gorgon_pyobject *function, struct gorgon_value arg,
				  struct gorgon_pyobject **ret)
{
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&arg, 1}};

	return gorgon_pyobject_call(function, &args, NULL, ret);
}

static struct gorgon_value of(struct gorgon_pyobject *object)
{
	return (struct gorgon_value){.kind = GORGON_VALUE_OBJECT, .object = object};
}

// The value of an int, whose reference is released.
static int64_t take_int(struct gorgon_pyobject *object)
{
	struct gorgon_value value;

	assert_ok(gorgon_pyobject_get_value(object, &value));
	assert_int_equal(value.kind, GORGON_VALUE_INT);
	gorgon_pyobject_release(object);
	return value.integer;
}

static int64_t number_of(struct gorgon_interp *interp, const char *name)
{
	return take_int(find(interp, name));
}

static void assert_string(struct gorgon_pyobject *object, const char *expected)
{
	struct gorgon_value value;

	assert_ok(gorgon_pyobject_get_value(object, &value));
	assert_int_equal(value.kind, GORGON_VALUE_STRING);
	assert_string_equal(value.text.data, expected);
	gorgon_value_deinit(&value);
	gorgon_pyobject_release(object);
}

// `gone` lists the numbers of the objects that are destroyed.
#define COUNTED                                                                                    \
	"gone = []\n"                                                                              \
	"class Counted:\n"                                                                         \
	"    def __init__(self, number): self.number = number\n"                                   \
	"    def __del__(self): gone.append(self.number)\n"

// --- attributes, items, calls ---------------------------------------------------------------

static void attributes_are_those_of_the_object(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object, *ret = NULL;
	struct gorgon_value value = VALUE_INT(8);
	bool has = false;

	(void)state;
	run(interp, "class A: x = 7\na = A()\na.inner = A()\n"
		    "class B:\n"
		    "    @property\n"
		    "    def broken(self): raise ValueError('no')\n"
		    "b = B()\n");
	object = find(interp, "a");
	assert_int_equal(gorgon_pyobject_interp(object), gorgon_interp_number(interp));
	assert_int_equal(take_int(attr(object, "inner.x")), 7);
	assert_ok(gorgon_pyobject_set_attr(object, "x", &value));
	assert_int_equal(number_of(interp, "a.x"), 8);
	assert_int_equal(number_of(interp, "A.x"), 7);
	value = of(object);
	assert_ok(gorgon_pyobject_set_attr(object, "self", &value));
	run(interp, "assert a.self is a\ndel a.self");
	assert_raised(gorgon_pyobject_get_attr(object, "y", &ret), "AttributeError", "has no attribute 'y'");
	assert_null(ret);
	assert_ok(gorgon_pyobject_has_attr(object, "x", &has));
	assert_true(has);
	assert_ok(gorgon_pyobject_has_attr(object, "inner.y", &has));
	assert_false(has);
	gorgon_pyobject_release(object);
	// Any other exception is an error and not an answer.
	object = find(interp, "b");
	assert_raised(gorgon_pyobject_has_attr(object, "broken", &has), "ValueError", "no");
	gorgon_pyobject_release(object);
	destroy(interp);
}

static void modules_are_found_and_imported(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *module, *ret = NULL;

	(void)state;
	assert_ok(gorgon_pyobject_find(interp, "json", NULL, &module));
	assert_string(attr(module, "decoder.__name__"), "json.decoder");
	gorgon_pyobject_release(module);
	assert_raised(gorgon_pyobject_find(interp, "no_such_module", NULL, &ret), "ModuleNotFoundError", "no_such_module");
	assert_raised(gorgon_pyobject_find(interp, NULL, "nothing", &ret), "AttributeError", "nothing");
	destroy(interp);
}

static void items_have_keys_of_any_kind(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_value key = VALUE_STRING("k"), value = VALUE_INT(3);
	struct gorgon_pyobject *dict, *tuple, *ret = NULL;

	(void)state;
	run(interp, "d = {}\nt = (1, 2)\n");
	dict = find(interp, "d");
	tuple = find(interp, "t");
	assert_ok(gorgon_pyobject_set_item(dict, &key, &value));
	assert_ok(gorgon_pyobject_get_item(dict, &key, &ret));
	assert_int_equal(take_int(ret), 3);
	ret = NULL;
	// The key is the object itself.
	key = of(tuple);
	value = of(dict);
	assert_ok(gorgon_pyobject_set_item(dict, &key, &value));
	run(interp, "assert d == {'k': 3, (1, 2): d} and list(d)[1] is t; d.clear()");
	assert_raised(gorgon_pyobject_get_item(dict, &key, &ret), "KeyError", "(1, 2)");
	assert_raised(gorgon_pyobject_set_item(tuple, &key, &value), "TypeError", "does not support item assignment");
	key = (struct gorgon_value)VALUE_INT(2);
	assert_raised(gorgon_pyobject_get_item(tuple, &key, &ret), "IndexError", "out of range");
	assert_null(ret);
	gorgon_pyobject_release(tuple);
	gorgon_pyobject_release(dict);
	destroy(interp);
}

static void calls_take_values_and_references(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *f, *object, *ret = NULL;
	struct gorgon_value inner[2], items[2], args = VALUE_LIST(items), name = VALUE_STRING("k"), entry[2];
	struct gorgon_value kwargs = {.kind = GORGON_VALUE_DICT, .list = {entry, 1}}, result;

	(void)state;
	run(interp, "class A: pass\na = A()\n"
		    "def f(x, y, k=None):\n"
		    "    assert x == 1 and y == [2, a] and y[1] is a and k is a\n"
		    "    return k\n");
	f = find(interp, "f");
	object = find(interp, "a");
	inner[0] = (struct gorgon_value)VALUE_INT(2);
	inner[1] = of(object);
	items[0] = (struct gorgon_value)VALUE_INT(1);
	items[1] = (struct gorgon_value)VALUE_LIST(inner);
	entry[0] = name;
	entry[1] = of(object);
	assert_ok(gorgon_pyobject_call(f, &args, &kwargs, &ret));
	assert_true(gorgon_pyobject_is(ret, object));
	assert_false(gorgon_pyobject_is(ret, f));
	// An object that is no plain value says so.
	assert_error(gorgon_pyobject_get_value(ret, &result), GORGON_ERROR_UNSUPPORTED, "object: a value of type A");
	gorgon_pyobject_release(ret);
	ret = NULL;
	// The result may be dropped, and other calls take references, too.
	assert_ok(gorgon_pyobject_call(f, &args, &kwargs, NULL));
	assert_error(gorgon_interp_call(interp, NULL, "f", &args, &kwargs, &result), GORGON_ERROR_UNSUPPORTED, "type A");
	assert_raised(gorgon_pyobject_call(f, NULL, NULL, &ret), "TypeError", "2 required positional arguments");
	assert_raised(gorgon_pyobject_call(object, NULL, NULL, &ret), "TypeError", "not callable");
	assert_error(gorgon_pyobject_call(f, &name, NULL, &ret), GORGON_ERROR_ARGUMENT, "args is of kind 4, expected a list");
	assert_error(gorgon_pyobject_call(f, NULL, &name, &ret), GORGON_ERROR_ARGUMENT, "kwargs is of kind 4, expected a dict");
	assert_null(ret);
	gorgon_pyobject_release(f);
	gorgon_pyobject_release(object);
	destroy(interp);
}

static void references_to_another_interpreter_are_refused(void **state)
{
	struct gorgon_interp *one = start(), *other = start_with_identity();
	struct gorgon_pyobject *object, *f = find(other, "f"), *type, *ret = NULL;
	struct gorgon_value value, list = {.kind = GORGON_VALUE_LIST, .list = {&value, 1}};
	bool answer;

	(void)state;
	object = create(one, (struct gorgon_value)VALUE_INT(5));
	value = of(object);
	assert_error(call1(f, list, &ret), GORGON_ERROR_ARGUMENT, "args[0][0]: an object of another interpreter");
	assert_error(call_f(other, &value, NULL), GORGON_ERROR_ARGUMENT, "args[0]: an object of another interpreter");
	assert_ok(gorgon_pyobject_get_type(object, &type));
	assert_error(gorgon_pyobject_is_instance(f, type, &answer), GORGON_ERROR_ARGUMENT, "the type is of interpreter");
	assert_null(ret);
	gorgon_pyobject_release(type);
	gorgon_pyobject_release(object);
	gorgon_pyobject_release(f);
	destroy(one);
	destroy(other);
}

static void iteration_ends_with_null(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *list, *iterator, *item = NULL;

	(void)state;
	run(interp, "l = [10, 11]\n"
		    "def g():\n"
		    "    yield 1\n"
		    "    raise ValueError('broken')\n"
		    "broken = g()\n");
	list = find(interp, "l");
	assert_ok(gorgon_pyobject_iterate(list, &iterator));
	for (int i = 10; i < 12; i++) {
		assert_ok(gorgon_pyobject_next(iterator, &item));
		assert_int_equal(take_int(item), i);
	}
	assert_ok(gorgon_pyobject_next(iterator, &item));
	assert_null(item);
	assert_raised(gorgon_pyobject_next(list, &item), "TypeError", "not an iterator");
	gorgon_pyobject_release(iterator);
	iterator = find(interp, "broken");
	assert_ok(gorgon_pyobject_next(iterator, &item));
	assert_int_equal(take_int(item), 1);
	item = NULL;
	assert_raised(gorgon_pyobject_next(iterator, &item), "ValueError", "broken");
	assert_null(item);
	gorgon_pyobject_release(iterator);
	iterator = create(interp, (struct gorgon_value)VALUE_INT(5));
	assert_raised(gorgon_pyobject_iterate(iterator, &item), "TypeError", "not iterable");
	gorgon_pyobject_release(iterator);
	gorgon_pyobject_release(list);
	destroy(interp);
}

static void types_are_compared(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object, *base, *type, *other;
	bool answer = false;

	(void)state;
	run(interp, "class A: pass\nclass B(A): pass\nb = B()\n");
	object = find(interp, "b");
	base = find(interp, "A");
	other = create(interp, (struct gorgon_value)VALUE_STRING("text"));
	assert_ok(gorgon_pyobject_is_instance(object, base, &answer));
	assert_true(answer);
	assert_ok(gorgon_pyobject_is_instance(other, base, &answer));
	assert_false(answer);
	assert_raised(gorgon_pyobject_is_instance(object, other, &answer), "TypeError", "isinstance");
	assert_ok(gorgon_pyobject_get_type(object, &type));
	assert_false(gorgon_pyobject_is(type, base));
	assert_string(attr(type, "__qualname__"), "B");
	gorgon_pyobject_release(type);
	gorgon_pyobject_release(other);
	gorgon_pyobject_release(base);
	gorgon_pyobject_release(object);
	destroy(interp);
}

// --- releasing ------------------------------------------------------------------------------

static void release_keeps_the_object_until_the_last_holder_and_the_next_call(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object, *again;

	(void)state;
	run(interp, COUNTED "a = Counted(1)\n");
	object = find(interp, "a");
	again = gorgon_pyobject_retain(object);
	run(interp, "del a");
	assert_int_equal(take_int(attr(object, "number")), 1);
	gorgon_pyobject_release(object);
	run(interp, "assert gone == []");
	gorgon_pyobject_release(again);
	run(interp, "assert gone == [1], gone");
	gorgon_pyobject_release(NULL);
	destroy(interp);
}

static void *release_in_thread(void *object)
{
	gorgon_pyobject_release(object);
	return NULL;
}

// Releases on a thread that was never in an interpreter, and waits for the end of that thread.
static void release_elsewhere(struct gorgon_pyobject *object)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, release_in_thread, object), 0);
	pthread_join(thread, NULL);
}

static void release_on_another_thread_does_not_wait_for_the_gil(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object;
	struct thread holder;

	(void)state;
	init_waiting();
	run(interp, COUNTED "a = Counted(1)\n");
	object = find(interp, "a");
	run(interp, "del a");
	// A function of PyDLL keeps the GIL, from here to sem_post().
	spawn(&holder, interp, "import ctypes\n"
			       "ctypes.PyDLL(None).test_call_reached()\n"
			       "ctypes.PyDLL(None).test_call_wait()\n"
			       "assert gone == []\n");
	sem_wait(&reached);
	release_elsewhere(object);
	sem_post(&go_on);
	assert_ok(join(&holder));
	run(interp, "assert gone == [1], gone");
	destroy(interp);
}

static void *release_when_reached(void *object)
{
	sem_wait(&reached);
	gorgon_pyobject_release(object);
	return NULL;
}

static void release_reaches_a_call_that_runs_on_the_main_thread(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object;
	pthread_t thread;

	(void)state;
	init_waiting();
	run(interp, COUNTED "a = Counted(1)\n");
	object = find(interp, "a");
	run(interp, "del a");
	assert_int_equal(pthread_create(&thread, NULL, release_when_reached, object), 0);
	// No further call of the host begins while this one waits.
	run(interp, REACHED "import time\n"
		    "end = time.monotonic() + 60\n"
		    "while not gone and time.monotonic() < end: time.sleep(0.001)\n"
		    "assert gone == [1], 'nobody came'\n");
	pthread_join(thread, NULL);
	destroy(interp);
}

static struct gorgon_pyobject *released_by_destructor;

TEST_EXPORT void test_release_another(void);
TEST_EXPORT void test_release_another(void)
{
	gorgon_pyobject_release(released_by_destructor);
}

static void release_by_a_destructor_and_exit_in_it(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object, *kept;

	(void)state;
	run(interp, COUNTED "import ctypes\n"
			    "class Nested(Counted):\n"
			    "    def __del__(self):\n"
			    "        gone.append(self.number)\n"
			    "        ctypes.PyDLL(None).test_release_another()\n"
			    "class Last:\n"
			    "    def __del__(self): ctypes.CDLL(None).exit(4)\n"
			    "a, b, c = Nested(1), Counted(2), Last()\n");
	object = find(interp, "a");
	released_by_destructor = find(interp, "b");
	run(interp, "del a, b");
	gorgon_pyobject_release(object);
	run(interp, "assert gone == [1, 2], gone");
	object = find(interp, "c");
	kept = find(interp, "gone");
	run(interp, "del c");
	gorgon_pyobject_release(object);
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_PYTHON, "exit(4)");
	assert_error(gorgon_pyobject_has_attr(kept, "x", &(bool){false}), GORGON_ERROR_BUSY, "has ended");
	gorgon_pyobject_release(kept);
	assert_ok(gorgon_interp_destroy(interp));
}

// --- the end and interrupts -----------------------------------------------------------------

static int counted_at_end;

TEST_EXPORT void test_call_count(int count);
TEST_EXPORT void test_call_count(int count)
{
	counted_at_end = count;
}

static void stop_gives_up_all_before_atexit_and_references_stay_safe(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object, *function, *ret = NULL;
	unsigned number = gorgon_interp_number(interp);
	struct gorgon_value value;

	(void)state;
	run(interp, COUNTED "import atexit\n"
			    "a = Counted(1)\n"
			    "f = a.__init__\n"
			    "@atexit.register\n"
			    "def end():\n"
			    "    import ctypes\n"
			    "    ctypes.CDLL(None).test_call_count(len(gone))\n");
	object = find(interp, "a");
	function = find(interp, "f");
	run(interp, "del a, f");
	counted_at_end = -1;
	assert_ok(gorgon_interp_try_stop(interp));
	assert_int_equal(counted_at_end, 1);
	assert_error(gorgon_pyobject_get_attr(object, "number", &ret), GORGON_ERROR_BUSY,
		     "has ended, and with it the host's references");
	assert_error(gorgon_pyobject_get_value(object, &value), GORGON_ERROR_BUSY, "has ended");
	assert_false(gorgon_pyobject_is(object, object));
	gorgon_pyobject_release(function);
	assert_ok(gorgon_interp_destroy(interp));
	assert_error(gorgon_pyobject_call(object, NULL, NULL, &ret), GORGON_ERROR_BUSY, "has ended");
	assert_int_equal(gorgon_pyobject_interp(object), number);
	assert_null(ret);
	gorgon_pyobject_release(object);
}

static void stop_that_is_refused_leaves_references_alone(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_pyobject *object = create(interp, (struct gorgon_value)VALUE_INT(9));
	struct thread busy;

	(void)state;
	init_waiting();
	spawn(&busy, interp, REACHED WAIT);
	sem_wait(&reached);
	assert_error(gorgon_interp_try_stop(interp), GORGON_ERROR_BUSY, "calls are running");
	assert_int_equal(take_int(object), 9);
	sem_post(&go_on);
	assert_ok(join(&busy));
	destroy(interp);
}

struct looping {
	struct gorgon_pyobject *function, *ret;
	struct gorgon_error *err;
};

static void *call_in_thread(void *arg)
{
	struct looping *looping = arg;

	looping->err = gorgon_pyobject_call(looping->function, NULL, NULL, &looping->ret);
	return NULL;
}

static void interrupt_of_a_call_leaves_references_alone(void **state)
{
	struct gorgon_interp *interp = start();
	struct looping looping = {0};
	pthread_t thread;

	(void)state;
	init_waiting();
	run(interp, "import ctypes, time\n"
		    "def f():\n"
		    "    ctypes.CDLL(None).test_call_reached()\n"
		    "    while True: time.sleep(60)\n");
	looping.function = find(interp, "f");
	assert_int_equal(pthread_create(&thread, NULL, call_in_thread, &looping), 0);
	sem_wait(&reached);
	assert_ok(gorgon_interp_interrupt(interp));
	pthread_join(thread, NULL);
	assert_raised(looping.err, "KeyboardInterrupt", "");
	assert_null(looping.ret);
	assert_string(attr(looping.function, "__name__"), "f");
	gorgon_pyobject_release(looping.function);
	destroy(interp);
}

// Threads use references until the interpreter ends beneath them.
static void *use_until_refused(void *arg)
{
	struct gorgon_pyobject *object = arg, *ret;
	struct gorgon_error *err;
	enum gorgon_error_code code;

	while (!(err = gorgon_pyobject_get_attr(object, "real", &ret)))
		gorgon_pyobject_release(ret);
	code = gorgon_error_code(err);
	gorgon_error_destroy(err);
	gorgon_pyobject_release(object);
	return (void *)(uintptr_t)code;
}

static void end_while_threads_use_references_is_safe(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		struct gorgon_interp *interp = start();
		struct gorgon_pyobject *object = create(interp, (struct gorgon_value)VALUE_INT(9));
		pthread_t threads[4];
		void *code;

		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, use_until_refused,
							gorgon_pyobject_retain(object)), 0);
		gorgon_pyobject_release(object);
		run(interp, "import time; time.sleep(0.02)");
		assert_ok(gorgon_interp_stop(interp));
		assert_ok(gorgon_interp_destroy(interp));
		for (int i = 0; i < 4; i++) {
			pthread_join(threads[i], &code);
			assert_int_equal((uintptr_t)code, GORGON_ERROR_BUSY);
		}
	}
}

// --- replicas --------------------------------------------------------------------------------

// An importable module of each interpreter that counts how often its objects are unpickled.
#define MODULE                                                                                     \
	"import sys, types\n"                                                                      \
	"m = types.ModuleType('m'); sys.modules['m'] = m\n"                                        \
	"exec('''\n"                                                                               \
	"made = 0\n"                                                                               \
	"class Model:\n"                                                                           \
	"    def __init__(self, k): self.k = k\n"                                                  \
	"    def __setstate__(self, state):\n"                                                     \
	"        global made\n"                                                                    \
	"        made += 1\n"                                                                      \
	"        self.__dict__.update(state)\n"                                                    \
	"    def forward(self, x): return self.k * x\n"                                            \
	"''', m.__dict__)\n"

static int64_t forward(struct gorgon_pyobject *model, int64_t x)
{
	struct gorgon_pyobject *method = attr(model, "forward"), *result;

	assert_ok(call1(method, (struct gorgon_value)VALUE_INT(x), &result));
	gorgon_pyobject_release(method);
	return take_int(result);
}

static void replica_is_unpickled_once_where_it_is_used(void **state)
{
	struct gorgon_interp *one = start(), *two = start(), *three = start();
	struct gorgon_pyobject *model, *copy, *again, *same;
	struct gorgon_replica *replica;

	(void)state;
	run(one, MODULE "model = m.Model(3)\n");
	run(two, MODULE);
	run(three, MODULE);
	model = find(one, "model");
	assert_ok(gorgon_replica_create(model, &replica));
	assert_true(gorgon_replica_size(replica) > 10);
	assert_ok(gorgon_replica_get(replica, two, &copy));
	assert_ok(gorgon_replica_get(replica, two, &again));
	assert_true(gorgon_pyobject_is(copy, again));
	assert_int_equal(gorgon_pyobject_interp(copy), gorgon_interp_number(two));
	assert_int_equal(forward(copy, 5), 15);
	// In its own interpreter a replica is the object itself.
	assert_ok(gorgon_replica_get(replica, one, &same));
	assert_true(gorgon_pyobject_is(same, model));
	run(one, "assert m.made == 0");
	run(two, "assert m.made == 1");
	run(three, "assert m.made == 0");
	gorgon_pyobject_release(same);
	gorgon_pyobject_release(again);
	gorgon_pyobject_release(model);
	// The replica outlives its interpreter, and references outlive the replica.
	destroy(one);
	gorgon_replica_release(gorgon_replica_retain(replica));
	assert_ok(gorgon_replica_get(replica, three, &again));
	assert_int_equal(forward(again, 7), 21);
	gorgon_replica_release(replica);
	assert_int_equal(forward(again, 8), 24);
	assert_int_equal(forward(copy, 8), 24);
	gorgon_pyobject_release(again);
	gorgon_pyobject_release(copy);
	destroy(two);
	destroy(three);
}

static void replica_is_an_argument_of_calls_and_jobs(void **state)
{
	struct gorgon_interp *one = start();
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 2,
					 .warm_up = MODULE "def use(model, x): return model.forward(x)\n"};
	struct gorgon_pyobject *model;
	struct gorgon_value args[2] = {{.kind = GORGON_VALUE_REPLICA}, VALUE_INT(0)}, list = VALUE_LIST(args), ret;
	struct gorgon_pool *pool;
	struct gorgon_job *jobs[8];

	(void)state;
	run(one, MODULE "model = m.Model(3)\n");
	model = find(one, "model");
	assert_ok(gorgon_replica_create(model, &args[0].replica));
	gorgon_pyobject_release(model);
	destroy(one);
	assert_ok(gorgon_pool_create(&opts, &pool));
	for (int i = 0; i < 8; i++) {
		args[1].integer = i;
		assert_ok(gorgon_pool_submit(pool, NULL, "use", &list, NULL, -1, &jobs[i]));
	}
	// The jobs hold the replica.
	gorgon_replica_release(args[0].replica);
	for (int i = 0; i < 8; i++) {
		assert_ok(gorgon_job_finish(jobs[i], &ret));
		assert_int_equal(ret.integer, 3 * i);
	}
	assert_ok(gorgon_pool_destroy(pool));
}

static void replica_of_what_cannot_be_pickled_or_imported_is_an_exception(void **state)
{
	struct gorgon_interp *one = start(), *two = start();
	struct gorgon_pyobject *object, *ret = NULL;
	struct gorgon_replica *replica = NULL;

	(void)state;
	run(one, MODULE "model = m.Model(3)\nl = lambda: 0\n");
	object = find(one, "l");
	assert_error(gorgon_replica_create(object, &replica), GORGON_ERROR_EXCEPTION, "lambda");
	assert_null(replica);
	gorgon_pyobject_release(object);
	object = find(one, "model");
	assert_ok(gorgon_replica_create(object, &replica));
	assert_raised(gorgon_replica_get(replica, two, &ret), "ModuleNotFoundError", "'m'");
	assert_null(ret);
	// Now the module is there, and unpickling succeeds.
	run(two, MODULE);
	assert_ok(gorgon_replica_get(replica, two, &ret));
	assert_int_equal(forward(ret, 2), 6);
	gorgon_pyobject_release(ret);
	gorgon_pyobject_release(object);
	gorgon_replica_release(replica);
	destroy(one);
	destroy(two);
}

struct getter {
	struct gorgon_interp *interp;
	struct gorgon_replica *replica;
	struct gorgon_pyobject *ret;
	struct gorgon_error *err;
};

static void *get_in_thread(void *arg)
{
	struct getter *getter = arg;

	getter->err = gorgon_replica_get(getter->replica, getter->interp, &getter->ret);
	return NULL;
}

static void replica_threads_that_come_first_at_once_get_the_same_copy(void **state)
{
	struct gorgon_interp *one = start(), *two = start();
	struct gorgon_pyobject *object;
	struct getter getters[4];
	struct gorgon_replica *replica;
	pthread_t threads[4];

	(void)state;
	run(one, MODULE "model = m.Model(3)\n");
	// While one thread unpickles, others can use the interpreter.
	run(two, MODULE "def slow(self, state):\n"
			"    import time; time.sleep(0.05); self.__dict__.update(state)\n"
			"m.Model.__setstate__ = slow\n");
	object = find(one, "model");
	assert_ok(gorgon_replica_create(object, &replica));
	for (int i = 0; i < 4; i++) {
		getters[i] = (struct getter){two, replica, NULL, NULL};
		assert_int_equal(pthread_create(&threads[i], NULL, get_in_thread, &getters[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_ok(getters[i].err);
	}
	for (int i = 1; i < 4; i++)
		assert_true(gorgon_pyobject_is(getters[0].ret, getters[i].ret));
	for (int i = 0; i < 4; i++)
		gorgon_pyobject_release(getters[i].ret);
	gorgon_pyobject_release(object);
	gorgon_replica_release(replica);
	destroy(one);
	destroy(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_those_of_the_object),
		cmocka_unit_test(modules_are_found_and_imported),
		cmocka_unit_test(items_have_keys_of_any_kind),
		cmocka_unit_test(calls_take_values_and_references),
		cmocka_unit_test(references_to_another_interpreter_are_refused),
		cmocka_unit_test(iteration_ends_with_null),
		cmocka_unit_test(types_are_compared),
		cmocka_unit_test(release_keeps_the_object_until_the_last_holder_and_the_next_call),
		cmocka_unit_test(release_on_another_thread_does_not_wait_for_the_gil),
		cmocka_unit_test(release_reaches_a_call_that_runs_on_the_main_thread),
		cmocka_unit_test(release_by_a_destructor_and_exit_in_it),
		cmocka_unit_test(stop_gives_up_all_before_atexit_and_references_stay_safe),
		cmocka_unit_test(stop_that_is_refused_leaves_references_alone),
		cmocka_unit_test(interrupt_of_a_call_leaves_references_alone),
		cmocka_unit_test(end_while_threads_use_references_is_safe),
		cmocka_unit_test(replica_is_unpickled_once_where_it_is_used),
		cmocka_unit_test(replica_is_an_argument_of_calls_and_jobs),
		cmocka_unit_test(replica_of_what_cannot_be_pickled_or_imported_is_an_exception),
		cmocka_unit_test(replica_threads_that_come_first_at_once_get_the_same_copy),
	};

	return cmocka_run_group_tests_name("pyobject", tests, NULL, NULL);
}
