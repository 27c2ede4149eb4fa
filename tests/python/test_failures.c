// SPDX-License-Identifier: MIT
// Failure injection through an interpreter's life: each call of the libraries' code to the C library and to libelf
// fails once, in a forked child, while an interpreter is created, started, imports extensions, shares an array, is
// packed for debuggers, is destroyed. Afterwards the child must hold what a child without a failure holds, the
// other interpreter's results must be right, and the error must name the cause.
//
// Without arguments: the first call of each place in the code, or of each n-th place (test_every()). `test_failures all` is for make check-long: each
// call fails alone, and the first one of each place also with all of its kind after it. `test_failures all STEP
// [NUMBER]` runs a part of these.

#define _GNU_SOURCE
#include "../lib/cases.h"
#include "../lib/helpers.h"
#include "failing.h"

#include "base/clock.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 60 // that a child may take, or as many times that as test_every() says

// What a process holds besides what helpers.h counts.
struct held {
	struct test_snapshot snapshot;
	size_t keys, libraries, threads;
	int64_t witness;
};

// What a child reports.
struct result {
	bool ended;
	enum gorgon_error_code code;
	char message[1 << 14], unexpected[1024];
	struct held held;
};

static struct result *result;
static struct failing_record *record;
static bool every_call;
static size_t only; // 0: all
static unsigned seconds;

// Interpreters besides the interpreter for which calls fail.
static struct gorgon_interp *witness, *spare;

// How much time has passed: a case makes the clock go on.
static uint64_t passed;

uint64_t __real_gorgon_now(void);
uint64_t __wrap_gorgon_now(void);
uint64_t __wrap_gorgon_now(void)
{
	return __real_gorgon_now() + passed;
}

// For children, in which an assertion of cmocka would have no test to return to.
static void must_work(struct gorgon_error *error)
{
	if (!error)
		return;
	snprintf(result->unexpected, sizeof(result->unexpected), "%s", gorgon_error_message(error));
	_exit(1);
}

// --- what a process holds --------------------------------------------------------------------------

static size_t count_free_keys(void)
{
	static pthread_key_t keys[2048];
	size_t count = 0;

	while (count < 2048 && !pthread_key_create(&keys[count], NULL))
		count++;
	for (size_t i = 0; i < count; i++)
		pthread_key_delete(keys[i]);
	return count;
}

static int count_library(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)info;
	(void)size;
	++*(size_t *)count;
	return 0;
}

static size_t count_threads(void)
{
#ifdef __SANITIZE_THREAD__
	return 1; // the sanitizer has threads of its own, which come and go
#endif
	char line[128];
	FILE *in = fopen("/proc/self/status", "re");
	size_t ret = 0;

	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "Threads:", 8))
			ret = strtoul(line + 8, NULL, 10);
	if (in)
		fclose(in);
	return ret;
}

static int64_t ask_witness(void)
{
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST}, ret;
	int64_t number;

	must_work(gorgon_interp_call(witness, NULL, "f", &args, NULL, &ret));
	number = ret.integer;
	gorgon_value_deinit(&ret);
	return number;
}

static size_t threads_that_stay; // 1, or more where the processor is emulated

static void look(struct held *held)
{
	held->witness = ask_witness();
	held->snapshot = test_snapshot();
	held->keys = count_free_keys();
	dl_iterate_phdr(count_library, &held->libraries);
	// A thread that was joined may be on its way out.
	for (int i = 0; (held->threads = count_threads()) > threads_that_stay && i < 100; i++)
		usleep(10000);
}

// --- steps in an interpreter's life ----------------------------------------------------------------

#define ISOLATION "loader/isolate/"
#define KEEPER	  "loader/process/kernel/exchange.c"

struct step {
	const char *name;
	void (*prepare)(void);		    // in the parent
	struct gorgon_error *(*run)(void);  // in the child, where calls fail
	bool python_runs;
	const char *file; // only calls of source files with this in their name fail
};

static struct gorgon_error *create_copy(void);

static void prepare_nothing(void)
{
}

static void prepare_created(void)
{
	spare = test_interp_create(NULL);
}

static void prepare_started(void)
{
	struct gorgon_start_opts opts = {.size = sizeof(opts), .isolated = true};

	spare = test_interp_start(NULL, &opts);
}

extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));

// What CPython never frees has no names once its copy is unloaded: the leak checker could not tell it from ours.
static void prepare_started_copy(void)
{
	struct gorgon_start_opts opts = {.size = sizeof(opts), .isolated = true};

	if (__lsan_disable)
		__lsan_disable();
	assert_ok(create_copy());
	assert_ok(gorgon_interp_start(spare, &opts));
	if (__lsan_enable)
		__lsan_enable();
}

static void prepare_ctypes(void)
{
	prepare_started();
	assert_ok(gorgon_interp_run_string(spare, "import ctypes", NULL));
}

static void prepare_arrays(void)
{
	prepare_started();
	assert_ok(gorgon_interp_run_string(spare, "import array, gorgon, numpy", NULL));
}

static void prepare_numpy(void)
{
	prepare_started();
	assert_ok(gorgon_interp_run_string(spare, "import numpy", NULL));
}

static void prepare_lazy(void)
{
	struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts), .debug = GORGON_DEBUG_LAZY};
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns_opts};

	spare = test_interp_create(&opts);
}

static struct gorgon_error *create(void)
{
	return gorgon_interp_create(NULL, &spare);
}

static struct gorgon_error *create_copy(void)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .isolate = GORGON_ISOLATE_COPY};

	return gorgon_interp_create(&opts, &spare);
}

static struct gorgon_error *start(void)
{
	struct gorgon_start_opts opts = {.size = sizeof(opts), .isolated = true};

	return gorgon_interp_start(spare, &opts);
}

static struct gorgon_error *run(const char *source)
{
	return gorgon_interp_run_string(spare, source, NULL);
}

static struct gorgon_error *run_main(void)
{
	const char *const argv[] = {"-I", "-c", "pass"};
	int status = -1;
	struct gorgon_error *err = gorgon_interp_main(spare, 3, argv, &status);

	// Python says on stderr why it could not start.
	if (!err && status)
		err = NULL;
	return err;
}

static struct gorgon_error *import_numpy(void)
{
	return run("import numpy");
}

// Not ctypes: libffi 3.5 keeps a descriptor for its trampolines.
static struct gorgon_error *import_libraries(void)
{
	return run("import lzma, decimal");
}

// Opens an extension by its name, an extension with thread-local storage, and libraries with constructors and
// exceptions of C++.
static struct gorgon_error *open_libraries(void)
{
	char *source;
	struct gorgon_error *err;

	if (asprintf(&source, "for name in '%s', '%s', '%s': ctypes.CDLL(name)\n", test_module("libtls.so"),
		     test_module("libcatch.so"), test_module("libinit.so")) < 0)
		abort();
	err = run(source);
	free(source);
	return err;
}

static struct gorgon_error *share(void)
{
	struct gorgon_array *array = NULL;
	struct gorgon_error *err = run("a = gorgon.share(array.array('d', [1, 2, 3]), 'failures', copy=True)\n"
				       "b = memoryview(gorgon.receive('failures'))\n"
				       "assert b[2] == 3\n");

	if (!err)
		err = gorgon_array_receive("failures", &array);
	gorgon_array_release(array);
	return err;
}

// A load in another namespace packs the namespaces that have loaded nothing for a while.
static struct gorgon_error *pack(void)
{
	struct gorgon_ns *ns = NULL;
	struct gorgon_object *object = NULL;
	struct gorgon_error *err;

	passed = 3000000000;
	err = gorgon_ns_create(NULL, &ns);
	if (!err)
		err = gorgon_object_open(ns, test_module("libbasic.so"), NULL, &object);
	failing_end();
	if (ns)
		must_work(gorgon_ns_destroy(ns));
	return err;
}

// A refused end may be repeated.
static struct gorgon_error *destroy(void)
{
	struct gorgon_error *err = gorgon_interp_destroy(spare);

	if (!err)
		spare = NULL;
	return err;
}

static struct gorgon_python found; // by the step's preparation

static void prepare_found(void)
{
	gorgon_python_deinit(&found);
	assert_ok(gorgon_python_find(NULL, &found));
}

static struct gorgon_error *find_pythons(void)
{
	const char *const names[] = {NULL, "/usr/bin/python" TEST_PYTHON, found.libpython, found.executable};
	struct gorgon_error *err = NULL;
	struct gorgon_python python;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !err; i++)
		if (!(err = gorgon_python_find(names[i], &python)))
			gorgon_python_deinit(&python);
	return err;
}

static bool see_dep(void *count, const struct gorgon_dep *dep)
{
	(void)dep;
	++*(size_t *)count;
	return true;
}

static bool see_import(void *count, const struct gorgon_import *import)
{
	(void)import;
	++*(size_t *)count;
	return true;
}

static struct gorgon_error *list_needs(void)
{
	const char *path = test_module("libcatch.so");
	size_t count = 0;
	struct gorgon_error *err = gorgon_deps_for_each(NULL, found.libpython, path, see_dep, &count);

	return err ?: gorgon_imports_for_each(NULL, found.libpython, path, see_import, &count);
}

static void forget_memory(void *ctx, void *data)
{
	(void)ctx;
	(void)data;
}

static struct gorgon_error *make_arrays(void)
{
	static double items[6];
	const ptrdiff_t shape[] = {3, 2}, strides[] = {8, 24};
	const struct gorgon_array_layout layout = {.format = "<f8", .ndim = 2, .shape = shape, .strides = strides};
	const struct gorgon_array_opts all[] = {
		{.size = sizeof(*all), .layout = layout},
		{.size = sizeof(*all), .layout = layout, .huge_pages = true, .alignment = 1 << 16},
		{.size = sizeof(*all), .layout = layout, .locked = true},
		{.size = sizeof(*all), .layout = layout, .data = items, .destroy = forget_memory},
	};
	struct gorgon_array *array = NULL;
	struct gorgon_error *err = NULL;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && !err; i++) {
		gorgon_array_release(array);
		array = NULL;
		err = gorgon_array_create(&all[i], &array);
	}
	err = err ?: gorgon_array_share(array, "failures");
	gorgon_array_release(array);
	return err ?: gorgon_array_withdraw("failures");
}

static struct gorgon_error *hand_on(void)
{
	struct gorgon_error *err;
	int fd = -1;

	// The thread that keeps descriptors starts with the first one, and stays.
	failing_end();
	must_work(gorgon_descriptor_send("first", 0));
	threads_that_stay++;
	failing_go_on();
	err = gorgon_descriptor_send("failures", 0);
	err = err ?: gorgon_descriptor_receive("failures", &fd);
	if (!err)
		close(fd);
	return err;
}

static void prepare_functions(void)
{
	prepare_started();
	assert_ok(gorgon_interp_run_string(spare,
					   "import pickle, array\n"
					   "class Class: pass\n"
					   "def f(*args): return [*args, {'a': 1.5}, array.array('d', [1, 2]), 'text', b'bytes', None]\n"
					   "def g(): raise ValueError('text')\n",
					   NULL));
}

#define TEXT(s)                                                                                    \
	{                                                                                          \
		.kind = GORGON_VALUE_STRING, .text = {s, sizeof(s) - 1}                            \
	}
#define LIST(of)                                                                                   \
	{                                                                                          \
		.kind = GORGON_VALUE_LIST, .list = {of, sizeof(of) / sizeof(*(of))}                \
	}

static struct gorgon_error *cross(void)
{
	struct gorgon_value pair[] = {TEXT("key"), {.kind = GORGON_VALUE_INT, .integer = 3}};
	struct gorgon_value items[] = {TEXT("text"), {.kind = GORGON_VALUE_DICT, .list = {pair, 1}}, {.kind = GORGON_VALUE_NONE}};
	struct gorgon_value args[] = {LIST(items), {.kind = GORGON_VALUE_FLOAT, .number = 0.5}};
	struct gorgon_value list = LIST(args), none = {.kind = GORGON_VALUE_LIST}, ret;
	struct gorgon_error *err = gorgon_interp_call(spare, NULL, "f", &list, NULL, &ret);

	if (err)
		return err;
	gorgon_value_deinit(&ret);
	err = gorgon_interp_call(spare, NULL, "g", &none, NULL, &ret);
	if (!gorgon_error_exception(err) || strcmp(gorgon_error_exception(err)->type, "ValueError"))
		return err;
	gorgon_error_destroy(err);
	return NULL;
}

static struct gorgon_error *use_objects(void)
{
	const struct gorgon_value number = {.kind = GORGON_VALUE_INT, .integer = 1}, none = {.kind = GORGON_VALUE_LIST};
	struct gorgon_pyobject *objects[8] = {NULL};
	struct gorgon_replica *replica = NULL;
	struct gorgon_value ret = {.kind = GORGON_VALUE_NONE};
	struct gorgon_error *err;
	bool is = false;

	(void)((err = gorgon_pyobject_find(spare, "__main__", "Class", &objects[0])) ||
	       (err = gorgon_pyobject_call(objects[0], &none, NULL, &objects[1])) ||
	       (err = gorgon_pyobject_set_attr(objects[1], "number", &number)) ||
	       (err = gorgon_pyobject_has_attr(objects[1], "number", &is)) ||
	       (err = gorgon_pyobject_get_attr(objects[1], "__dict__", &objects[2])) ||
	       (err = gorgon_pyobject_set_item(objects[2], &number, &number)) ||
	       (err = gorgon_pyobject_get_item(objects[2], &number, &objects[3])) ||
	       (err = gorgon_pyobject_iterate(objects[2], &objects[4])) ||
	       (err = gorgon_pyobject_next(objects[4], &objects[5])) ||
	       (err = gorgon_pyobject_get_value(objects[2], &ret)) ||
	       (err = gorgon_pyobject_is_instance(objects[1], objects[0], &is)) ||
	       (err = gorgon_replica_create(objects[1], &replica)) ||
	       (err = gorgon_replica_get(replica, spare, &objects[6])));
	gorgon_value_deinit(&ret);
	gorgon_replica_release(replica);
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		gorgon_pyobject_release(objects[i]);
	return err;
}

static struct gorgon_error *use_pool(void)
{
	const struct gorgon_pool_opts opts = {
		.size = sizeof(opts), .count = 1, .warm_up = "import time\ndef f(*args): return args[-1]"};
	struct gorgon_value text = TEXT("text"), args = {.kind = GORGON_VALUE_LIST, .list = {&text, 1}}, ret;
	struct gorgon_job *job = NULL;
	struct gorgon_pool *pool = NULL;
	struct gorgon_error *err = gorgon_pool_create(&opts, &pool), *ended;

	if (err)
		return err;
	err = gorgon_pool_submit(pool, NULL, "f", &args, NULL, -1, &job);
	if (!err && !(err = gorgon_job_finish(job, &ret)))
		gorgon_value_deinit(&ret);
	ended = gorgon_pool_destroy(pool);
	if (err)
		gorgon_error_destroy(ended);
	return err ?: ended;
}

static const struct step steps[] = {
	{"share", prepare_arrays, share, true, ""},
	{"create", prepare_nothing, create, false, ""},
	{"create_copy", prepare_nothing, create_copy, false, ""},
	{"pack", prepare_lazy, pack, false, ""},
	{"open_libraries", prepare_ctypes, open_libraries, true, ""},
	{"start", prepare_created, start, true, ""},
	{"main", prepare_created, run_main, true, ""},
	{"destroy_created", prepare_created, destroy, false, ""},
	{"destroy_started", prepare_started, destroy, true, ""},
	{"import_numpy", prepare_started, import_numpy, true, ""},
	{"destroy_numpy", prepare_numpy, destroy, true, ""},
	{"find", prepare_found, find_pythons, false, ""},
	{"needs", prepare_found, list_needs, false, ""},
	{"arrays", prepare_nothing, make_arrays, false, ""},
	{"descriptors", prepare_nothing, hand_on, false, KEEPER},
	{"values", prepare_functions, cross, true, ""},
	{"objects", prepare_functions, use_objects, true, ""},
	{"pool", prepare_nothing, use_pool, true, "loader/python/pool.c"},
	{"import_copy", prepare_started_copy, import_libraries, true, ISOLATION},
};

#define STEPS (sizeof(steps) / sizeof(*steps))

// --- a child ---------------------------------------------------------------------------------------

// What the libraries write to stderr goes to a file in this folder.
static char folder[] = "/tmp/gorgon-failures-XXXXXX";

static void use_empty_folders(size_t n, bool all)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%zu-%d", folder, n, all);
	if (mkdir(path, 0700) || setenv("XDG_CACHE_HOME", path, 1) || setenv("TMPDIR", path, 1))
		err(1, "%s", path);
}

static void run_step(const struct step *step, size_t n, bool all)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	const struct gorgon_exception *exception;
	struct gorgon_error *error;

	use_empty_folders(n, all);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		signal(deadly[i], SIG_DFL); // cmocka handles them
	alarm(seconds);
	threads_that_stay = count_threads();
	failing_begin(record, n, all, step->python_runs);
	error = step->run();
	failing_end();
	result->code = gorgon_error_code(error);
	exception = gorgon_error_exception(error);
	if (exception) // its first line need not say why; nor does numpy 2, whose ImportError has the reason as its cause
		snprintf(result->message, sizeof(result->message), "%s%s: %s", exception->traceback, exception->type,
			 exception->message);
	else
		snprintf(result->message, sizeof(result->message), "%s", gorgon_error_message(error));
	gorgon_error_destroy(error);
	if (spare)
		must_work(gorgon_interp_destroy(spare));
	gorgon_error_destroy(gorgon_array_withdraw("failures")); // the name is not there after some failures
	look(&result->held);
	result->ended = true;
}

// Runs the step in a child in which the n-th call fails; 0: none does. Returns the status as waitpid() has it.
static int in_child(const struct step *step, size_t n, bool all)
{
	int status;
	pid_t pid;

	memset(result, 0, sizeof(*result));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		run_step(step, n, all);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	test_run("rm -rf %s/*", folder);
	return status;
}

// --- what a failure may look like ------------------------------------------------------------------

static bool names_cause(const struct failing_call *call)
{
	if (result->code == GORGON_OK)
		return true; // there is another way, or nothing was lost
	if (call->kind == FAILING_ELF)
		return true; // it says what it could not read, and libelf's reason is not set here
	if (call->kind == FAILING_MEMORY || call->number == ENOMEM)
		return result->code == GORGON_ERROR_NOMEM || strcasestr(result->message, "memory");
	if (!call->number)
		return strstr(result->message, "/no/memory");
	// A descriptor that cannot be looked at is taken for another file's.
	if (!strcmp(call->function, "fstat") && strstr(result->message, strerror(EBADF)))
		return true;
	return strstr(result->message, strerror(call->number));
}

// How a child's process differs from that of a child without a failure; "": not at all.
static const char *compare(const struct step *step, const struct held *before, bool unmaps)
{
	static char text[512];
	const struct held *now = &result->held;
	const struct {
		const char *name;
		uint64_t then, now;
		bool ignored;
	} rows[] = {
		{"library mappings", before->snapshot.file_maps, now->snapshot.file_maps, unmaps},
		// A thread's stack and heap may stay with the C library; Python's arenas do when the system's linker has loaded it.
		{"nameless bytes", before->snapshot.anon_bytes, now->snapshot.anon_bytes,
		 unmaps || now->snapshot.anon_bytes < before->snapshot.anon_bytes || !strcmp(step->file, ISOLATION)},
		{"descriptors", before->snapshot.fds, now->snapshot.fds, false},
		{"images", before->snapshot.images, now->snapshot.images, false},
		{"JIT entries", before->snapshot.jit_entries, now->snapshot.jit_entries, false},
		{"namespaces", before->snapshot.namespaces, now->snapshot.namespaces, false},
		{"objects", before->snapshot.objects, now->snapshot.objects, false},
		{"free keys", before->keys, now->keys, false},
		{"system's libraries", before->libraries, now->libraries, false},
		{"threads", before->threads, now->threads, false},
		{"the witness's answer", (uint64_t)before->witness, (uint64_t)now->witness, false},
	};
	size_t used = 0;

	text[0] = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!rows[i].ignored && rows[i].then != rows[i].now)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %" PRIu64 ", expected %" PRIu64 "; ",
						 rows[i].name, rows[i].now, rows[i].then);
	return text;
}

// Prints what is wrong. Returns whether nothing is.
static bool judge(const struct step *step, size_t n, bool all, int status, const struct held *before)
{
	const struct failing_call *call = &record->calls[n - 1];
	const char *wrong;
	char text[64];

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(failing_place(call->from), "loader/ns/tls.c")) {
		wrong = ""; // no memory for a thread's variables when they are first used: the system's linker ends the process, too
	} else if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "%s", strsignal(WTERMSIG(status)));
		wrong = text;
	} else if (status || !result->ended) {
		wrong = result->unexpected[0] ? result->unexpected : "it ends early";
	} else if (!names_cause(call)) {
		wrong = "the message does not name the cause";
	} else {
		wrong = compare(step, before, call->kind == FAILING_UNMAPPING);
	}
	if (*wrong)
		print_error("%s: call %zu%s, %s() from %s, fails: %s\n    error %d \"%s\"\n", step->name, n,
			    all ? " and all after it" : "", call->function, failing_place(call->from), wrong, result->code,
			    result->message + (strlen(result->message) > 300 ? strlen(result->message) - 300 : 0));
	return !*wrong;
}

// --- cases -----------------------------------------------------------------------------------------

#define PLACES_MAX 4096

// Whether a call comes from this place for the first time.
static bool is_new(const void **seen, const void *from)
{
	size_t i = 0;

	while (seen[i] && seen[i] != from)
		i++;
	assert_true(i + 1 < PLACES_MAX);
	if (seen[i])
		return false;
	seen[i] = from;
	return true;
}

static void step_survives_each_failure(void **state)
{
	const struct step *step = *state;
	const void *seen[PLACES_MAX] = {NULL};
	size_t calls, chosen = 0, places = 0, failures = 0, errors = 0, wrong = 0;
	struct failing_call *whole; // what is called without a failure
	struct held before;

	step->prepare();
	for (int i = 0; i < 2; i++) { // what stays for good is there the second time
		if (in_child(step, 0, false) || !result->ended || result->code)
			fail_msg("%s: without a failure: %s", step->name, result->message);
		for (size_t n = 0; n < record->count; n++)
			failing_place(record->calls[n].from); // reads tables of lines, which later children inherit
	}
	before = result->held;
	calls = record->count;
	assert_true(calls > 0);
	whole = malloc(calls * sizeof(*whole));
	assert_non_null(whole);
	memcpy(whole, record->calls, calls * sizeof(*whole));
	for (size_t n = only ?: 1; n <= (only ?: calls); n++) {
		bool first = is_new(seen, whole[n - 1].from);

		if (!strstr(failing_place(whole[n - 1].from), step->file))
			continue;
		chosen++;
		if (first && places++ % test_every())
			continue;
		for (int all = 0; all <= every_call; all++) {
			int status;

			if (!first && (all || !every_call))
				continue;
			if (all && !strcmp(step->file, KEEPER))
				continue; // a thread that cannot send anything cannot say why: process/test_files.c
			status = in_child(step, n, all);
			failures++;
			if (record->count < n && result->ended)
				continue; // there were fewer calls this time
			errors += result->code != GORGON_OK;
			wrong += !judge(step, n, all, status, &before);
		}
	}
	free(whole);
	if (spare)
		assert_ok(gorgon_interp_destroy(spare));
	spare = NULL;
	printf("failures: %s: %zu calls, %zu failures, %zu errors, %zu wrong\n", step->name, chosen, failures, errors, wrong);
	fflush(stdout);
	assert_int_equal(wrong, 0);
}

static int set_up(void **state)
{
	void *shared = mmap(NULL, sizeof(*result) + sizeof(*record), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	if (shared == MAP_FAILED)
		return -1;
	result = shared;
	seconds = SECONDS * (unsigned)test_every();
	record = (struct failing_record *)(result + 1);
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	// Large blocks are unmapped when they are freed. QEMU has no room for a heap of more than 16 MiB, and malloc() then maps
	// more memory for small blocks, which it keeps.
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (!mkdtemp(folder))
		return -1;
	failing_init();
	test_warm_up(NULL);
	witness = test_interp_start(NULL, NULL);
	assert_ok(gorgon_interp_run_string(witness,
					   "import numpy, ctypes, _ctypes, os\n"
					   "a = numpy.arange(10000)\n"
					   "def f(): return int((a * 2).sum()) + len(str(ctypes.c_int(3).value))\n",
					   NULL));
	return ask_witness() == 99990001 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	test_run("rm -rf %s", folder);
	assert_ok(gorgon_interp_destroy(witness));
	return 0;
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[STEPS];
	static char names[STEPS][64];
	size_t count = 0;

	every_call = argc > 1 && !strcmp(argv[1], "all");
	only = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	for (size_t i = 0; i < STEPS; i++) {
		if (argc > 2 && strcmp(argv[2], steps[i].name))
			continue;
		snprintf(names[count], sizeof(names[count]), "%s_each_call_fails_leaves_nothing", steps[i].name);
		tests[count] = (struct CMUnitTest){
			.name = names[count], .test_func = step_survives_each_failure, .initial_state = (void *)&steps[i]};
		count++;
	}
	return _cmocka_run_group_tests("failures", tests, count, set_up, tear_down);
}
