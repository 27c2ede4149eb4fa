// SPDX-License-Identifier: MIT Python lines for debuggers in interpreters of a host: what is
// registered, and that it goes with the interpreter.

#define _GNU_SOURCE
#include "calls.h"

#include "process/kernel/dispositions.h"
#include "process/kernel/signal_dispatch.h"
#include "python/lines/alarms.h"
#include "python/lines/state.h"

#include <glob.h>
#include <jitreg.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __aarch64__
#include "../jitreg/watch_aarch64.h"
#else
#include "../jitreg/watch_x86_64.h"
#endif

#define MODULE "def price(n):\n    return n * 2\ndef called(n):\n    return price(n)\n"

static bool is_supported(void)
{
	struct gorgon_python python;
	unsigned minor;

	assert_ok(gorgon_python_find(NULL, &python));
	minor = python.minor;
	gorgon_python_deinit(&python);
	return minor <= 15;
}

// The number of symfiles that an interpreter has when it has started, and how many more when it has run a module's file
// twice. Modules that Python's start imports from installed packages are files, too.
static size_t symfiles_of(enum gorgon_python_lines lines, size_t *ret_more)
{
	const struct gorgon_ns_opts ns = {.size = sizeof(ns), .debug = GORGON_DEBUG_FULL};
	const struct gorgon_interp_opts opts = {
		.size = sizeof(opts), .ns = &ns, .python_lines = lines};
	const char *path = test_temp("lines_module.py");
	size_t before = jitreg_count(), ret;
	struct gorgon_interp *interp;

	test_write(path, MODULE, strlen(MODULE));
	interp = test_interp_create(&opts);
	assert_ok(gorgon_interp_start(interp, NULL));
	ret = jitreg_count() - before;
	assert_ok(gorgon_interp_run_file(interp, path));
	run(interp, "assert price(4) == 8\n");
	assert_ok(gorgon_interp_run_file(interp, path));
	run(interp, "assert price(5) == 10\n");
	*ret_more = jitreg_count() - before - ret;
	destroy(interp);
	assert_int_equal(jitreg_count(), before);
	return ret;
}

static bool has_watcher(void)
{
	bool ret = false;
	char name[64];
	glob_t found;

	assert_int_equal(glob("/proc/self/task/*/comm", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");

		if (!file)
			continue; // the thread has just ended
		ret |= fgets(name, sizeof(name), file) && !strcmp(name, "gorgon-lines\n");
		fclose(file);
	}
	globfree(&found);
	return ret;
}

static void lines_come_and_go_with_the_interpreter(void **state)
{
	size_t without, with, more;

	(void)state;
	if (!is_supported())
		skip();
	without = symfiles_of(GORGON_PYTHON_LINES_OFF, &more);
	assert_int_equal(more, 0);
	assert_int_equal(symfiles_of(GORGON_PYTHON_LINES_DEFAULT, &more), without); // no debugger
	assert_int_equal(more, 0);
	for (int i = 0; i < 4; i++) {
		with = symfiles_of(i % 2 ? GORGON_PYTHON_LINES_AUTO : GORGON_PYTHON_LINES_ON, &more);
		assert_true(with > without); // the code that CPython calls
		assert_int_equal(more, 2);
	}
	for (int i = 0; i < 1000 && has_watcher(); i++)
		usleep(10000);
	assert_false(has_watcher());
}

// The same code object again, and code that comes by value and is gone before it comes again.
static void what_is_run_again_is_registered_once(void **state)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts),
						.python_lines = GORGON_PYTHON_LINES_ON};
	const char *path = test_temp("lines_module.py");
	struct gorgon_interp *interp;
	size_t before;

	(void)state;
	if (!is_supported())
		skip();
	test_write(path, MODULE, strlen(MODULE));
	interp = test_interp_create(&opts);
	assert_ok(gorgon_interp_start(interp, NULL));
	assert_ok(gorgon_interp_run_file(interp, path));
	before = jitreg_count();
	run(interp, "import marshal, types\n"
		    "source = 'def price(n):\\n    return sum(n for _ in [1, 2])\\n'\n"
		    "code = compile(source, price.__code__.co_filename, 'exec')\n"
		    "data = marshal.dumps(code.co_consts[0])\n"
		    "for i in range(50): exec(code)\n"
		    "for i in range(50):\n"
		    "    assert types.FunctionType(marshal.loads(data), {})(i) == 2 * i\n");
	assert_int_equal(jitreg_count(), before + 3); // the text that is run has lines, too
	destroy(interp);
}

static void lines_are_refused_where_they_are_not_known(void **state)
{
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts), .isolate = GORGON_ISOLATE_COPY, .python_lines = GORGON_PYTHON_LINES_ON};
	struct gorgon_interp *interp;

	(void)state;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_UNSUPPORTED,
		     "python_lines: ");
	opts.python_lines = GORGON_PYTHON_LINES_AUTO;
	assert_ok(gorgon_interp_create(&opts, &interp));
	destroy(interp);
	opts.python_lines = GORGON_PYTHON_LINES_ALL + 1;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT,
		     "gorgon_interp_opts: python_lines is 5, expected 0 to 4");
}

// What is done at SIGURG, the library's own dispatcher apart.
static uintptr_t action_now(void)
{
	struct sigaction now;

	assert_false(sigaction(SIGURG, NULL, &now));
	return now.sa_flags & SA_SIGINFO && now.sa_sigaction == gorgon_signals_dispatch
		       ? gorgon_dispositions.host_words[SIGURG]
		       : action_word_of(&now);
}

static void note_signal(int number)
{
	(void)number;
}

// A debugger comes and goes, before and while there are interpreters.
static void the_signal_of_stops_is_given_back(void **state)
{
	static const struct {
		void (*handler)(int);
		bool taken;
	} before[] = {{SIG_DFL, true}, {SIG_IGN, true}, {note_signal, false}};
	struct gorgon_interp *interp = NULL;
	const pid_t thread = getpid();

	(void)state;
	for (int i = 0; i < 2; i++) {
		for (size_t j = 0; j < sizeof(before) / sizeof(*before); j++) {
			const struct sigaction action = {.sa_handler = before[j].handler};
			const uintptr_t word = action_word_of(&action);

			assert_false(sigaction(SIGURG, &action, NULL));
			for (int turn = 0; turn < 2; turn++) {
				gorgon_lines_alarms_find(&thread, 1);
				gorgon_lines_alarms_put_off(false);
				assert_int_equal(action_now() != word, before[j].taken);
				gorgon_lines_alarms_end();
				assert_int_equal(action_now(), word);
			}
		}
		if (!i) {
			interp = test_interp_start(NULL, NULL);
		}
	}
	destroy(interp);
	signal(SIGURG, SIG_DFL);
}

// --- breakpoints
// ------------------------------------------------------------------------------------------------

// As a debugger's temporary ones. They are hit in this order.
static struct {
	uint8_t *at;
	watch_code before;
} breakpoints[2];
static size_t breakpoint_count;
static volatile size_t hit_count;

static void write_code(uint8_t *at, watch_code code)
{
	uintptr_t page = (uintptr_t)getpagesize(), start = (uintptr_t)at & -page;

	assert_false(mprotect((void *)start, page, PROT_READ | PROT_WRITE | PROT_EXEC));
	memcpy(at, &code, sizeof(code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
	assert_false(mprotect((void *)start, page, PROT_READ | PROT_EXEC));
}

static void set_breakpoint(uint8_t *at)
{
	breakpoints[breakpoint_count].at = at;
	memcpy(&breakpoints[breakpoint_count++].before, at, sizeof(watch_code));
	write_code(at, WATCH_BREAKPOINT);
}

static void take_breakpoint(int number, siginfo_t *info, void *context)
{
	uint8_t *at = watch_again(context);

	(void)number;
	(void)info;
	assert_true(hit_count < breakpoint_count);
	assert_ptr_equal(at, breakpoints[hit_count].at);
	write_code(at, breakpoints[hit_count++].before);
}

static struct gorgon_lines_function *find_function(const struct gorgon_lines *lines, const char *name)
{
	for (struct gorgon_lines_file *file = lines->files; file; file = file->next)
		for (size_t i = 0; i < file->function_count; i++)
			if (!strcmp(file->functions[i].name, name))
				return &file->functions[i];
	fail_msg("no function %s", name);
	return NULL;
}

// Breakpoints are seen by a thread that looks now and then. All of them are hit at the first time then.
static void run_until_hit(struct gorgon_interp *interp, const char *source)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < 1000 && !hit_count; i++) {
		nanosleep(&pause, NULL);
		run(interp, source);
	}
	assert_int_equal(hit_count, breakpoint_count);
	hit_count = breakpoint_count = 0;
}

static void a_line_is_stopped_at_and_waited_for(void **state)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts),
						.python_lines = GORGON_PYTHON_LINES_ON};
	const struct sigaction action = {.sa_sigaction = take_breakpoint, .sa_flags = SA_SIGINFO};
	const char *path = test_temp("lines_module.py");
	struct gorgon_interp *interp;
	uint8_t *line;

	(void)state;
	if (!is_supported())
		skip();
	assert_false(sigaction(SIGTRAP, &action, NULL));
	test_write(path, MODULE, strlen(MODULE));
	interp = test_interp_create(&opts);
	assert_ok(gorgon_interp_start(interp, NULL));
	assert_ok(gorgon_interp_run_file(interp, path));
	line = gorgon_lines_stub(find_function(interp->lines, "lines_module.price"), 2);
	set_breakpoint(line);
	run_until_hit(interp, "assert price(4) == 8\n");
	set_breakpoint(line);
	set_breakpoint(line + GORGON_LINES_STUB_RESUME); // it returns to its caller from there
	run_until_hit(interp, "assert called(5) == 10\n");
	set_breakpoint(interp->lines->code + GORGON_LINES_RAISED);
	run_until_hit(interp, "try:\n    raise KeyError\nexcept KeyError:\n    pass\n");
	destroy(interp);
	signal(SIGTRAP, SIG_DFL);
}

// Functions call each other in one evaluator: its first bytes were as expected.
static void the_evaluator_begins_with_a_jump(void **state)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts),
						.python_lines = GORGON_PYTHON_LINES_ON};
	struct gorgon_interp *interp;

	(void)state;
	if (!is_supported())
		skip();
	interp = test_interp_create(&opts);
	assert_ok(gorgon_interp_start(interp, NULL));
	run(interp, "assert sum(n for n in range(4)) == 6\n"
		    "def f(n): return n and f(n - 1)\n"
		    "try: f(10**6)\n"
		    "except RecursionError: pass\n");
	assert_int_equal(interp->lines->state, GORGON_LINES_READY);
	assert_non_null(interp->lines->evaluator_patch.at);
	assert_int_equal(!!interp->lines->limit, interp->python.minor == 11);
	destroy(interp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_and_go_with_the_interpreter),
		cmocka_unit_test(what_is_run_again_is_registered_once),
		cmocka_unit_test(lines_are_refused_where_they_are_not_known),
		cmocka_unit_test(the_signal_of_stops_is_given_back),
		cmocka_unit_test(a_line_is_stopped_at_and_waited_for),
		cmocka_unit_test(the_evaluator_begins_with_a_jump),
	};

	return cmocka_run_group_tests_name("lines", tests, test_warm_up, NULL);
}
