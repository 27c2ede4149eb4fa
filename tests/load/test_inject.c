// SPDX-License-Identifier: MIT
// Failure injection: the n-th call of malloc, mmap, ... that the loader makes fails, for
// each n (or fewer, see test_every()), and the process must hold what it held before. The linker turns the calls of
// the loader (a static library here) into calls of the __wrap_ functions below; see
// modules.mk. Calls inside of shared libraries are not reached.

#define _GNU_SOURCE
#include "cases.h"
#include "helpers.h"

#include "python/arrays/array.h"

#include "copy/rewrite.h"
#include "ns/ns.h"
#include "process/libc/environment.h"
#include "base/lock.h"
#include "ns/object.h"
#include "ns/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum group { MEMORY, MAPPINGS, FILES, GROUPS };

static const char *const group_names[GROUPS] = {"memory", "mappings", "files"};

// The group whose calls are counted, and how many more of them there are until one fails; 0: none fails.
static enum group armed;
static long countdown;
static bool hit;
static const char *hit_name;

static bool must_fail(enum group group, const char *name)
{
	if (group != armed || !countdown || --countdown)
		return false;
	hit = true;
	hit_name = name;
	return true;
}

#define WRAP(group, name, fail_value, errnum, ret, params, ...)                                    \
	ret __real_##name params;                                                                  \
	ret __wrap_##name params;                                                                  \
	ret __wrap_##name params                                                                   \
	{                                                                                          \
		if (must_fail(group, #name)) {                                                     \
			errno = errnum;                                                            \
			return fail_value;                                                         \
		}                                                                                  \
		return __real_##name(__VA_ARGS__);                                                 \
	}

WRAP(MEMORY, malloc, NULL, ENOMEM, void *, (size_t size), size)
WRAP(MEMORY, calloc, NULL, ENOMEM, void *, (size_t count, size_t size), count, size)
WRAP(MEMORY, realloc, NULL, ENOMEM, void *, (void *p, size_t size), p, size)
WRAP(MEMORY, reallocarray, NULL, ENOMEM, void *, (void *p, size_t count, size_t size), p, count,
     size)
WRAP(MEMORY, strdup, NULL, ENOMEM, char *, (const char *s), s)
WRAP(MEMORY, vasprintf, -1, ENOMEM, int, (char **ret, const char *format, va_list args), ret,
     format, args)
WRAP(MAPPINGS, mmap, MAP_FAILED, ENOMEM, void *,
     (void *addr, size_t size, int prot, int flags, int fd, off_t off), addr, size, prot, flags, fd,
     off)
WRAP(MAPPINGS, mprotect, -1, ENOMEM, int, (void *addr, size_t size, int prot), addr, size, prot)
WRAP(FILES, fstat, -1, EIO, int, (int fd, struct stat *st), fd, st)
WRAP(FILES, memfd_create, -1, EMFILE, int, (const char *name, unsigned flags), name, flags)
WRAP(FILES, pread, -1, EIO, ssize_t, (int fd, void *data, size_t size, off_t off), fd, data, size,
     off)
WRAP(FILES, pwrite, -1, EIO, ssize_t, (int fd, const void *data, size_t size, off_t off), fd, data,
     size, off)

int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int size;

	if (must_fail(MEMORY, "asprintf"))
		return -1;
	va_start(args, format);
	size = __real_vasprintf(ret, format, args);
	va_end(args);
	return size;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	if (must_fail(FILES, "open")) {
		errno = EMFILE;
		return -1;
	}
	return __real_open(path, flags, 0600);
}

static void arm(enum group group, long n)
{
	armed = group;
	hit = false;
	countdown = n;
}

static void disarm(void)
{
	countdown = 0;
}

// --- one scenario after the other ------------------------------------------------------

struct scenario {
	const char *name;
	struct gorgon_error *(*run)(void);
};

// libtls_user.so refers to it.
TEST_EXPORT __thread int test_host_tls;

// A namespace that is there before and after each load.
static struct gorgon_ns *ns;

static struct gorgon_error *load(const char *module)
{
	struct gorgon_object *object = NULL;
	struct gorgon_error *err = gorgon_object_open(ns, module, NULL, &object);

	disarm();
	if (!err)
		gorgon_object_close(object);
	return err;
}

static struct gorgon_error *load_group(void)
{
	return load(test_module("libboth.so"));
}

static struct gorgon_error *load_tls(void)
{
	return load(test_module("libtls_user.so"));
}

static struct gorgon_error *load_cplusplus(void)
{
	return load(test_module("libcatch.so"));
}

static struct gorgon_error *load_unique(void)
{
	return load(test_module("libunique_a.so"));
}

// A compiler in a library registers code and takes it back; after that nothing of it is left, whichever call has
// failed.
static struct gorgon_error *load_registrar(void)
{
	struct gorgon_object *object = NULL;
	struct gorgon_error *err =
		gorgon_object_open(ns, test_module("libjit_direct.so"), NULL, &object);
	int (*add)(const char *name), one, two;
	void (*take_back)(int number);
	long left = countdown;

	if (err) {
		disarm();
		return err;
	}
	countdown = 0; // looking them up needs memory, too
	add = SYMBOL(object, int (*)(const char *), "jit_add");
	take_back = SYMBOL(object, void (*)(int), "jit_remove");
	countdown = left;
	one = add("one");
	two = add("two");
	if (one >= 0)
		take_back(one);
	if (two >= 0)
		take_back(two);
	disarm();
	gorgon_object_close(object);
	return NULL;
}

static struct gorgon_error *create_ns(void)
{
	static const char *const share[] = {"libfoo.so*", "libbar.so*", NULL};
	static const char *const environment[] = {"SPAM=1", "EGGS=2", NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts),
				      .share = share,
				      .keep_private = share,
				      .environment = environment};
	struct gorgon_ns *other = NULL;
	struct gorgon_error *err = gorgon_ns_create(&opts, &other);

	// Either the variable is there, or the error is that there is no memory.
	if (!err && gorgon_setenv("MORE", "3", 1, other->environment))
		assert_int_equal(errno, ENOMEM);
	else if (!err)
		assert_string_equal(gorgon_getenv("MORE", other->environment), "3");
	disarm();
	if (!err)
		err = gorgon_ns_destroy(other);
	return err;
}

static struct gorgon_error *load_with_search(void)
{
	struct gorgon_object *provider = NULL, *object = NULL;
	struct gorgon_object *search[] = {NULL, NULL};
	struct gorgon_open_opts opts = {.size = sizeof(opts), .search = search};
	struct gorgon_error *err = gorgon_object_open(ns, test_module("libprovider.so"), NULL, &provider);

	search[0] = provider;
	if (!err)
		err = gorgon_object_open(ns, test_module("liblate.so"), &opts, &object);
	disarm();
	if (object)
		gorgon_object_close(object);
	if (provider)
		gorgon_object_close(provider);
	return err;
}

static struct gorgon_error *find_python(void)
{
	struct gorgon_python python = {0};
	struct gorgon_error *err = gorgon_python_find("/usr/bin/python3", &python);

	disarm();
	gorgon_python_deinit(&python);
	return err;
}

static struct gorgon_error *create_interp(void)
{
	struct gorgon_interp *interp = NULL;
	struct gorgon_error *err = gorgon_interp_create(NULL, &interp);

	disarm();
	if (!err) {
		test_ignore_inittab(interp);
		err = gorgon_interp_destroy(interp);
	}
	return err;
}

static bool see_dep(void *ctx, const struct gorgon_dep *dep)
{
	(void)ctx;
	return dep->name != NULL;
}

static struct gorgon_error *list_deps(void)
{
	static const char *const keep[] = {"libm.so.*", NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .keep_private = keep};

	// libstdc++ needs libm, so the two have different reasons.
	return gorgon_deps_for_each(&opts, test_module("libtop.so"), test_module("libcatch.so"),
				    see_dep, NULL);
}

static bool see_import(void *ctx, const struct gorgon_import *import)
{
	(void)ctx;
	return import->name != NULL;
}

static struct gorgon_error *list_imports(void)
{
	return gorgon_imports_for_each(NULL, test_module("libtop.so"), test_module("libcatch.so"),
				       see_import, NULL);
}

#define FRAMES	   300
#define FRAMES_AT  UINT64_C(0x100000000000)
#define FRAME_STEP 0x10000

// Objects that are only addresses, with gaps between them, are listed and taken out again. An object that could not
// be taken out for want of memory must not hide objects that come later.
static struct gorgon_error *list_frames(void)
{
	static struct gorgon_object objects[FRAMES];
	static struct gorgon_image image;
	struct gorgon_object all = {.start = FRAMES_AT,
				    .end = FRAMES_AT + FRAMES * FRAME_STEP,
				    .image = &image,
				    .ns = ns};
	struct gorgon_error *err = NULL;

	gorgon_lock();
	for (int i = 0; i < FRAMES && !err; i++) {
		uint64_t start = FRAMES_AT + (uint64_t)(i * 7 % FRAMES) * FRAME_STEP;

		objects[i] = (struct gorgon_object){
			.start = start, .end = start + FRAME_STEP / 2, .image = &image, .ns = ns};
		err = gorgon_unwind_register(&objects[i]);
	}
	for (int i = FRAMES; i-- > 0;)
		gorgon_unwind_unregister(&objects[i]);
	disarm();
	for (int i = 0; i < FRAMES; i++)
		assert_null(gorgon_unwind_ns_at(FRAMES_AT + (uint64_t)i * FRAME_STEP));
	assert_ok(gorgon_unwind_register(&all));
	for (int i = 0; i < FRAMES; i++)
		assert_ptr_equal(gorgon_unwind_ns_at(FRAMES_AT + (uint64_t)i * FRAME_STEP), ns);
	gorgon_unwind_unregister(&all);
	gorgon_unlock();
	return err;
}

// After a failure there is no copy.
static struct gorgon_error *rewrite(void)
{
	static const struct gorgon_rewrite_opts opts = {.soname = "libother.so"};
	const char *to = test_temp("rewritten.so");
	struct gorgon_error *err = gorgon_rewrite(test_module("libbasic.so"), to, &opts);

	disarm();
	assert_int_equal(unlink(to), err ? -1 : 0);
	return err;
}

static const struct scenario scenarios[] = {
	{"ns_create", create_ns},	 {"object_open_group", load_group},
	{"object_open_tls", load_tls},	 {"object_open_cplusplus", load_cplusplus},
	{"object_open_unique", load_unique}, {"python_find", find_python},
	{"interp_create", create_interp}, {"deps_for_each", list_deps},
	{"imports_for_each", list_imports}, {"unwind_register", list_frames},
	{"registrar", load_registrar},
	{"rewrite", rewrite}, {"object_open_with", load_with_search},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(*scenarios))

struct row {
	const struct scenario *scenario;
	enum group group;
};

// Which error a failure may become. Some failures are no errors: an object that cannot be registered with debuggers
// is loaded all the same, and a directory of a search path that cannot be read is passed over.
static void check_code(enum group group, long n, struct gorgon_error *err)
{
	enum gorgon_error_code code = gorgon_error_code(err);
	bool known = code == GORGON_OK || code == GORGON_ERROR_NOMEM;

	if (group != MEMORY)
		known |= code == GORGON_ERROR_OS || code == GORGON_ERROR_MISSING ||
			 code == GORGON_ERROR_PYTHON || code == GORGON_ERROR_FORMAT;

	if (!known)
		print_error("call %ld (%s): error %d \"%s\"\n", n, hit_name, code,
			    gorgon_error_message(err));
	gorgon_error_destroy(err);
	assert_true(known);
}

static void scenario_nth_call_fails_leaves_nothing(void **state)
{
	const struct row *row = *state;
	struct test_snapshot before;
	long n = 1, errors = 0;

	ns = test_ns();
	// Without failures, once more: what the process keeps for good is there now.
	assert_ok(row->scenario->run());
	assert_ok(row->scenario->run());
	before = test_snapshot();
	for (;; n += (long)test_every()) {
		struct gorgon_error *err;

		arm(row->group, n);
		err = row->scenario->run();
		disarm();
		if (!hit) {
			assert_ok(err);
			break;
		}
		errors += err != NULL;
		check_code(row->group, n, err);
		test_notes();
		assert_unchanged(&before);
	}
	assert_ok(row->scenario->run());
	assert_unchanged(&before);
	test_ns_destroy(ns);
	test_notes();
	print_message("%s: %ld calls, %ld errors\n", row->scenario->name, n - 1, errors);
	assert_true(n == 1 || errors > 0 || test_every() > 1);
}

// Passes a tree and an array in and out, and an exception with all its text. CPython allocates through the loader,
// too: its own failures are MemoryErrors, or nothing where it copes without.
static struct gorgon_error *call(struct gorgon_interp *interp, const char *function,
				 struct gorgon_array *array)
{
	struct gorgon_value entry[] = {{.kind = GORGON_VALUE_STRING, .text = {"key", 3}},
				       {.kind = GORGON_VALUE_INT, .integer = 1}};
	struct gorgon_value items[] = {{.kind = GORGON_VALUE_DICT, .list = {entry, 1}},
				       {.kind = GORGON_VALUE_ARRAY, .array = array}};
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {items, 2}}, ret;
	struct gorgon_error *err = gorgon_interp_call(interp, NULL, function, &args, NULL, &ret);

	disarm();
	if (!err)
		gorgon_value_deinit(&ret);
	return err;
}

static void interp_call_nth_allocation_fails_is_an_error_and_no_more(void **state)
{
	// numpy is left out, because its import does not survive failures. From 3.13 on no import of a built-in
	// module does (its name is NULL in CPython's table of modules), so these imports come before the failures.
	struct gorgon_start_opts start_opts = {.size = sizeof(start_opts), .no_site = true};
	struct gorgon_array_opts opts = {
		.size = sizeof(opts),
		.layout = {.format = "d", .ndim = 1, .shape = (ptrdiff_t[]){3}},
		.writable = true,
	};
	struct gorgon_interp *interp = test_interp_start(NULL, &start_opts);
	struct gorgon_array *array;
	long errors = 0;

	(void)state;
	assert_ok(gorgon_array_create(&opts, &array));
	assert_ok(gorgon_interp_run_string(interp,
					   "import array\n"
					   "class Tensor: pass\n"
					   "own = array.array('d', [1, 2])\n"
					   "def f(x, a):\n"
					   "    Tensor.__dlpack__ = lambda self: a.obj.__dlpack__()\n"
					   "    ret = [x, 'text', b'bytes', (x, [x]), 'y' * 9999]\n"
					   "    return ret + [a, a[::-2], own, Tensor()]\n"
					   "def g(x, a): raise ValueError(x)\n",
					   NULL));
	if (strtol(strchr(TEST_PYTHON, '.') + 1, NULL, 10) >= 13)
		assert_ok(gorgon_interp_run_string(interp, "import gorgon", NULL));
	for (int raises = 0; raises < 2; raises++) {
		for (long n = 1;; n++) {
			struct gorgon_error *err;
			enum gorgon_error_code code;

			arm(MEMORY, n);
			err = call(interp, raises ? "g" : "f", array);
			code = gorgon_error_code(err);
			if (hit && code != GORGON_OK && code != GORGON_ERROR_NOMEM &&
			    code != GORGON_ERROR_EXCEPTION)
				fail_msg("call %ld (%s): error %d \"%s\"", n, hit_name, code,
					 gorgon_error_message(err));
			errors += hit && err;
			gorgon_error_destroy(err);
			if (!hit)
				break;
		}
		assert_ok(call(interp, "f", array));
	}
	assert_true(errors > 10);
	assert_ok(gorgon_interp_destroy(interp));
	// Whatever failed, only this function holds the array.
	assert_int_equal(array->count, 1);
	gorgon_array_release(array);
}

int main(void)
{
	static struct row rows[SCENARIOS * GROUPS];
	static struct CMUnitTest tests[SCENARIOS * GROUPS + 1];
	static char names[SCENARIOS * GROUPS][80];

	for (size_t i = 0; i < SCENARIOS * GROUPS; i++) {
		rows[i] = (struct row){&scenarios[i / GROUPS], (enum group)(i % GROUPS)};
		snprintf(names[i], sizeof(names[i]), "%s_nth_call_for_%s_fails_leaves_nothing",
			 rows[i].scenario->name, group_names[rows[i].group]);
		tests[i] = (struct CMUnitTest){
			.name = names[i],
			.test_func = scenario_nth_call_fails_leaves_nothing,
			.initial_state = &rows[i],
		};
	}
	tests[SCENARIOS * GROUPS] = (struct CMUnitTest)cmocka_unit_test(
		interp_call_nth_allocation_fails_is_an_error_and_no_more);
	return cmocka_run_group_tests_name("inject", tests, test_warm_up, NULL);
}
