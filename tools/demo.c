// SPDX-License-Identifier: MIT
// gorgon demo: what private interpreters are good for, in three steps: each has its own objects,
// their threads compute at once, and each imports numpy.

#define _GNU_SOURCE
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIB                                                                                        \
	"def fib(n):\n"                                                                            \
	"    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"

// In both cases two threads call fib.
static const char fib_one_interpreter[] =
	FIB "import threading\n"
	    "threads = [threading.Thread(target=fib, args=(32,)) for _ in range(2)]\n"
	    "[t.start() for t in threads]\n"
	    "[t.join() for t in threads]\n";
static const char fib_each_interpreter[] = FIB "fib(32)\n";

static const char none_program[] =
	"import gorgon; print(f'  interpreter {gorgon.interpreter}: id(None) = {id(None):#x}')";

static const char numpy_program[] =
	"import gorgon, numpy as np\n"
	"a = np.arange(6.).reshape(2, 3)\n"
	"print(f'  interpreter {gorgon.interpreter}: numpy {np.__version__}, "
	"a @ a.T = {(a @ a.T).tolist()}')\n";

static const char *demo_python; // for gorgon_python_find()

static struct gorgon_error *demo_run(unsigned count, const char *code, int *status)
{
	const char *const argv[] = {"-c", code};
	struct program program = {.count = count, .python = demo_python, .argc = 2, .argv = argv,
				  .files = GORGON_FILES_THREAD};
	struct result *results = calloc(count, sizeof(*results));
	struct gorgon_error *err;

	if (!results)
		abort();
	fflush(stdout);
	err = program_run(&program, results);
	for (unsigned i = 0; i < count && !err && !*status; i++)
		*status = results[i].status;
	free(results);
	return err;
}

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

// Elapsed time alone tells little on a machine that is busy: the processor time beside it says what
// was at once.
static struct gorgon_error *time_fib(unsigned interpreters, const char *code, const char *title,
				     int *status)
{
	double start = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
	struct gorgon_error *err = demo_run(interpreters, code, status);

	if (err)
		return err;
	start = seconds(CLOCK_MONOTONIC) - start;
	used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
	printf("  %s  %.2f s, %.2f s of processor time: %.1f processors at once\n", title, start,
	       used, used / start);
	return NULL;
}

static int demo_parse(int key, char *arg, struct argp_state *state)
{
	unsigned *count = state->input;

	if (key != 'n' && key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (key == 'n')
		*count = (unsigned)strtoul(arg, NULL, 10);
	if (key == ARGP_KEY_ARG || *count < 1 || *count > 1000)
		return tool_usage("demo: %s: expected -n N, from 1 to 1000", arg);
	return 0;
}

static int demo_show(unsigned count)
{
	struct gorgon_error *err;
	int status = 0;

	puts("Two interpreters, two Nones:");
	if ((err = demo_run(2, none_program, &status)))
		return tool_fail(err, TOOL_FAILED);
	puts("fib(32) on two threads:");
	if ((err = time_fib(1, fib_one_interpreter, "one interpreter ", &status)) ||
	    (err = time_fib(2, fib_each_interpreter, "two interpreters", &status)))
		return tool_fail(err, TOOL_FAILED);
	printf("numpy in %u interpreters at once:\n", count);
	if ((err = demo_run(count, numpy_program, &status)))
		return tool_fail(err, TOOL_FAILED);
	return status;
}

int tool_demo(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{NULL, 'n', "N", 0, "Interpreters with numpy (default 3)", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = demo_parse,
		.doc = "Shows what private interpreters are good for: objects of their own, "
		       "threads that compute at once, numpy in each."};
	struct chosen chosen;
	unsigned count = 3;
	int status = tool_parse(&argp, 0, argc, argv, &count);

	status = status ?: python_take(NULL, false, &chosen);
	if (status)
		return status;
	demo_python = chosen.path;
	status = demo_show(count);
	python_deinit(&chosen);
	return status;
}
