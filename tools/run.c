// SPDX-License-Identifier: MIT
// gorgon run: a program in N interpreters at once.

#define _GNU_SOURCE
#include "tool.h"

#include <errno.h>
#include <jitreg.h>
#include <json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_PYTHON = 256,
	OPT_ISOLATE,
	OPT_SHARE,
	OPT_PRIVATE,
	OPT_DEBUG,
	OPT_REPEAT,
	OPT_LABEL,
	OPT_TIMING,
	OPT_JSON,
	OPT_SHARED_FILES,
	OPT_SHARED_ENVIRONMENT,
	OPT_QUICK_END,
	OPT_CHECK_PYCS,
	OPT_NO_FAULT_REPORTS,
	OPT_MEMORY_LIMIT,
	OPT_THREAD_LIMIT,
	OPT_CPU_LIMIT,
	OPT_DENY,
	OPT_ALLOW_EXTENSION,
	OPT_VERBOSE,
	OPT_PYTHON_LINES,
};

static const struct argp_option options[] = {
	{NULL, 'n', "N", 0, "Number of interpreters, a thread each (default 1)", 1},
	{"python", OPT_PYTHON, "NAME", 0,
	 "A python executable, by its name in PATH or its file, a virtual environment's, or a "
	 "libpython "
	 "(default: python3 in PATH)",
	 1},
	{"repeat", OPT_REPEAT, "N", 0, "Run the program N times, with fresh interpreters each time",
	 1},
	{"label", OPT_LABEL, NULL, 0, "Put \"[i] \" before each line of output", 1},
	{"verbose", OPT_VERBOSE, NULL, 0,
	 "Print on stderr which CPython was taken and why, and at the end what was loaded, private "
	 "or shared, and why",
	 1},
	{"timing", OPT_TIMING, NULL, 0, "Print on stderr where the time went, for each interpreter",
	 1},
	{"json", OPT_JSON, NULL, 0, "Print the figures of --timing as JSON on stderr", 1},
	{"share", OPT_SHARE, "GLOB", 0, "Take matching libraries from the system (repeatable)", 1},
	{"private", OPT_PRIVATE, "GLOB", 0,
	 "Keep matching libraries private (repeatable; wins over --share); not the C library "
	 "or the dynamic linker",
	 1},
	{"debug", OPT_DEBUG, "MODE", 0,
	 "What debuggers are told: full (lines and locals in each copy), lazy (names and unwind "
	 "data, for hundreds of interpreters), off, or auto (the default: full up to 8 "
	 "interpreters, then lazy)",
	 1},
	{"python-lines", OPT_PYTHON_LINES, "MODE", 0,
	 "on: plain gdb and lldb show Python frames and stop at Python lines (break shop.py:4). "
	 "auto: the same where it can be done. all: also in the standard library. The default is "
	 "auto for up to 64 interpreters that gdb or lldb starts, else off",
	 1},
	{"isolate", OPT_ISOLATE, "HOW", 0,
	 "Who makes copies: loader (the default, gorgon's own) or copy (copies of files, for "
	 "the system's linker)",
	 1},
	{"shared-files", OPT_SHARED_FILES, NULL, 0,
	 "Descriptors, current directory and umask are the process's; otherwise each "
	 "interpreter has its own, as a process has",
	 1},
	{"shared-environment", OPT_SHARED_ENVIRONMENT, NULL, 0,
	 "The environment is the process's; otherwise each interpreter begins "
	 "with a copy and changes that",
	 1},
	{"quick-end", OPT_QUICK_END, NULL, 0,
	 "Objects that only refer to each other are not finalised at the end", 1},
	{"memory-limit", OPT_MEMORY_LIMIT, "SIZE", 0,
	 "Bytes (K, M, G: times 1024) that each interpreter may hold: beyond that garbage is "
	 "collected, then MemoryError is raised",
	 1},
	{"cpu-limit", OPT_CPU_LIMIT, "SECONDS", 0,
	 "Processor time that each program may use, all its threads together: then it is "
	 "interrupted (KeyboardInterrupt), and a quarter later stopped: the status is 137 if it "
	 "does not end",
	 1},
	{"thread-limit", OPT_THREAD_LIMIT, "N", 0,
	 "Threads that each program may have at a time, without its first one", 1},
	{"deny", OPT_DENY, "WHAT", 0,
	 "What programs may not do: extensions (modules in C), libraries (ctypes), fork, exec, "
	 "signals (handlers), with commas between them (repeatable). For order among friends: it "
	 "is no sandbox",
	 1},
	{"allow-extension", OPT_ALLOW_EXTENSION, "GLOB", 0,
	 "With --deny extensions: extensions that may be imported all the same, by "
	 "the file's name or, with a slash, its path (repeatable)",
	 1},
	{"no-fault-reports", OPT_NO_FAULT_REPORTS, NULL, 0,
	 "Do not say on stderr, before a fault (SIGSEGV, abort() and the like) ends "
	 "the process, which interpreter and which code had it",
	 1},
	{NULL, 0, NULL, 0, "What to run, as with python3:", 2},
	{NULL, 'c', "CODE", 0, "Statements; what follows are their arguments", 2},
	{NULL, 'm', "MODULE", 0, "A module, by its name; what follows are its arguments", 2},
	{NULL, 0, NULL, 0, "Options of python3, which gets them as they are:", 3},
	{NULL, 'b', NULL, 0, "Warn of comparisons of bytes with strings (-bb: raise)", 3},
	{NULL, 'B', NULL, 0, "Write no .pyc files", 3},
	{NULL, 'd', NULL, 0, "Debug the parser (debug builds)", 3},
	{NULL, 'E', NULL, 0, "Ignore PYTHON* environment variables", 3},
	{NULL, 'i', NULL, 0, "A prompt after the program; one interpreter only", 3},
	{NULL, 'I', NULL, 0, "Isolate from the environment and the user's packages", 3},
	{NULL, 'O', NULL, 0, "Remove assert statements (-OO: docstrings, too)", 3},
	{NULL, 'P', NULL, 0, "Put no unsafe folder before sys.path", 3},
	{NULL, 'q', NULL, 0, "Print no version at the prompt", 3},
	{NULL, 'R', NULL, 0, "Hash strings at random, whatever PYTHONHASHSEED says", 3},
	{NULL, 's', NULL, 0, "Do not add the user's packages to sys.path", 3},
	{NULL, 'S', NULL, 0, "Do not import site", 3},
	{NULL, 'u', NULL, 0, "Do not buffer stdout and stderr", 3},
	{NULL, 'v', NULL, 0, "Trace imports", 3},
	{NULL, 'W', "ARG", 0, "Control warnings", 3},
	{NULL, 'x', NULL, 0, "Skip the first line of the file", 3},
	{NULL, 'X', "OPT", 0, "An option of the implementation", 3},
	{"check-hash-based-pycs", OPT_CHECK_PYCS, "MODE", 0,
	 "Compare .pyc files that have a hash with their sources: always, default or never", 3},
	{0},
};

struct run {
	struct program program;
	unsigned repeat;
	bool table, json, interactive;
	struct words share, keep_private, extensions;
	struct words python; // what Python gets
	struct words options; // of @python, allocated here
	bool has_program;
};

static bool parse_count(const char *text, unsigned *ret)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || !value || value > 100000 || *text == '-')
		return false;
	*ret = (unsigned)value;
	return true;
}

static int parse_debug(struct run *run, const char *mode)
{
	if (!strcmp(mode, "auto"))
		run->program.ns.debug = GORGON_DEBUG_AUTO;
	else if (!strcmp(mode, "full"))
		run->program.ns.debug = GORGON_DEBUG_FULL;
	else if (!strcmp(mode, "off"))
		run->program.ns.debug = GORGON_DEBUG_OFF;
	else if (!strcmp(mode, "lazy"))
		run->program.ns.debug = GORGON_DEBUG_LAZY;
	else
		return tool_usage("--debug %s: expected auto, full, lazy or off", mode);
	return 0;
}

static int parse_python_lines(struct run *run, const char *mode)
{
	static const char *const words[] = {[GORGON_PYTHON_LINES_OFF] = "off",
					    [GORGON_PYTHON_LINES_ON] = "on",
					    [GORGON_PYTHON_LINES_AUTO] = "auto",
					    [GORGON_PYTHON_LINES_ALL] = "all"};

	for (unsigned i = GORGON_PYTHON_LINES_OFF; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(mode, words[i])) {
			run->program.python_lines = (enum gorgon_python_lines)i;
			return 0;
		}
	return tool_usage("--python-lines %s: expected auto, on, all or off", mode);
}

static int parse_isolate(struct run *run, const char *strategy)
{
	if (!strcmp(strategy, "loader"))
		run->program.isolate = GORGON_ISOLATE_LOADER;
	else if (!strcmp(strategy, "copy"))
		run->program.isolate = GORGON_ISOLATE_COPY;
	else
		return tool_usage("--isolate %s: expected loader or copy", strategy);
	return 0;
}

// Bytes, with K, M or G behind the number.
static bool parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	unit = *end && end > text ? strchr(units, *end) : NULL;
	if (errno || end == text || *text == '-' || !*ret || (*end && (!unit || end[1])))
		return false;
	return !unit || !__builtin_mul_overflow(*ret, UINT64_C(1) << 10 * (unit - units + 1), ret);
}

static bool parse_seconds(const char *text, uint64_t *ret_ms)
{
	char *end;
	double seconds = strtod(text, &end);

	// Only digits and a point: strtod() takes "inf", "nan" and hexadecimal numbers, too.
	if (end == text || *end || text[strspn(text, "0123456789.")] || seconds < 0.001 ||
	    seconds > 1e9)
		return false;
	*ret_ms = (uint64_t)(seconds * 1000 + 0.5);
	return true;
}

static int parse_deny(struct run *run, char *words)
{
	static const struct {
		const char *word;
		enum gorgon_deny flag;
	} known[] = {
		{"extensions", GORGON_DENY_EXTENSIONS},
		{"libraries", GORGON_DENY_LIBRARIES},
		{"fork", GORGON_DENY_FORK},
		{"exec", GORGON_DENY_EXEC},
		{"signals", GORGON_DENY_SIGNALS},
	};
	char *rest;

	for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		size_t i = 0;

		while (i < sizeof(known) / sizeof(*known) && strcmp(word, known[i].word))
			i++;
		if (i == sizeof(known) / sizeof(*known))
			return tool_usage(
				"--deny %s: expected extensions, libraries, fork, exec or signals",
				word);
		run->program.ns.deny |= known[i].flag;
	}
	return 0;
}

// The rest of the command line belongs to the program.
static void append_rest(struct run *run, struct argp_state *state)
{
	while (state->next < state->argc)
		words_add(&run->python, state->argv[state->next++]);
}

// Pass an option on to python3: -K, or -KVALUE, where K is @key.
static int append_option(struct run *run, int key, const char *value)
{
	char *word = tool_text("-%c%s", key, value ?: "");

	words_add(&run->options, word);
	words_add(&run->python, word);
	return 0;
}

static int parse_option(int key, char *arg, struct argp_state *state)
{
	struct run *run = state->input;

	switch (key) {
	case 'n':
		if (!parse_count(arg, &run->program.count))
			return tool_usage("-n %s: expected a number from 1 to 100000", arg);
		return 0;
	case OPT_REPEAT:
		if (!parse_count(arg, &run->repeat))
			return tool_usage("--repeat %s: expected a number from 1 to 100000", arg);
		return 0;
	case OPT_PYTHON:
		run->program.python = arg;
		return 0;
	case OPT_ISOLATE:
		return parse_isolate(run, arg);
	case OPT_SHARE:
		words_add(&run->share, arg);
		return 0;
	case OPT_PRIVATE:
		words_add(&run->keep_private, arg);
		return 0;
	case OPT_DEBUG:
		return parse_debug(run, arg);
	case OPT_PYTHON_LINES:
		return parse_python_lines(run, arg);
	case OPT_LABEL:
		run->program.label = true;
		return 0;
	case OPT_VERBOSE:
		run->program.verbose = true;
		return 0;
	case OPT_JSON:
		run->json = run->program.timing = true;
		return 0;
	case OPT_SHARED_FILES:
		run->program.files = GORGON_FILES_SHARED;
		return 0;
	case OPT_SHARED_ENVIRONMENT:
		run->program.ns.share_environment = true;
		return 0;
	case OPT_QUICK_END:
		run->program.end = GORGON_END_QUICK;
		return 0;
	case OPT_MEMORY_LIMIT:
		if (!parse_size(arg, &run->program.memory_limit))
			return tool_usage("--memory-limit %s: expected a size such as 500M", arg);
		return 0;
	case OPT_CPU_LIMIT:
		if (!parse_seconds(arg, &run->program.cpu_limit_ms))
			return tool_usage("--cpu-limit %s: expected seconds such as 2.5", arg);
		return 0;
	case OPT_THREAD_LIMIT:
		if (!parse_count(arg, &run->program.ns.thread_limit))
			return tool_usage("--thread-limit %s: expected a number from 1 to 100000",
					  arg);
		return 0;
	case OPT_DENY:
		return parse_deny(run, arg);
	case OPT_ALLOW_EXTENSION:
		words_add(&run->extensions, arg);
		return 0;
	case OPT_NO_FAULT_REPORTS:
		run->program.quiet_faults = true;
		return 0;
	case OPT_TIMING:
		run->table = run->program.timing = true;
		return 0;
	case 'c':
	case 'm':
		run->has_program = true;
		words_add(&run->python, key == 'c' ? "-c" : "-m");
		words_add(&run->python, arg);
		append_rest(run, state);
		return 0;
	case OPT_CHECK_PYCS:
		words_add(&run->python, "--check-hash-based-pycs");
		words_add(&run->python, arg);
		return 0;
	case ARGP_KEY_ARG:
		run->has_program = true;
		if (*arg == '-' && arg[1]) // behind "--"
			words_add(&run->python, "--");
		words_add(&run->python, arg);
		append_rest(run, state);
		return 0;
	default:
		if (key < 'A' || key > 'z')
			return ARGP_ERR_UNKNOWN;
		run->interactive |= key == 'i';
		return append_option(run, key, arg);
	}
}

// Several interpreters with a prompt would read from the same terminal at once.
static int run_check(const struct run *run)
{
	if (run->program.count == 1 && run->repeat == 1)
		return 0;
	if (!run->has_program)
		return tool_usage("run: no program: expected -c CODE, -m MODULE or FILE: a prompt "
				  "is for one interpreter only");
	if (run->interactive)
		return tool_usage("run: -i: a prompt is for one interpreter only");
	return 0;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static void print_table(const struct result *results, unsigned count)
{
	fprintf(stderr, "%6s %7s %8s %8s %8s %8s %9s %9s %9s\n", "interp", "objects", "load",
		"reloc", "register", "init", "run", "private", "shared");
	fprintf(stderr, "%6s %7s %8s %8s %8s %8s %9s %9s %9s\n", "", "", "ms", "ms", "ms", "ms",
		"ms", "MiB", "MiB");
	for (unsigned i = 0; i < count; i++) {
		const struct gorgon_interp_stats *s = &results[i].stats;

		fprintf(stderr, "%6u %7lu %8.2f %8.2f %8.2f %8.2f %9.2f %9.2f %9.2f\n",
			results[i].number, s->object_count, ms(s->load_ns), ms(s->relocate_ns),
			ms(s->register_ns), ms(s->init_ns), ms(s->run_ns), mib(s->private_bytes),
			mib(s->shared_bytes));
	}
}

static void print_json(const struct result *results, unsigned count)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < count; i++) {
		const struct gorgon_interp_stats *s = &results[i].stats;
		const struct {
			const char *name;
			uint64_t value;
		} fields[] = {
			{"interpreter", results[i].number}, {"status", (unsigned)results[i].status},
			{"objects", s->object_count},	    {"relaxed_objects", s->relaxed_count},
			{"load_ns", s->load_ns},	    {"relocate_ns", s->relocate_ns},
			{"register_ns", s->register_ns},    {"init_ns", s->init_ns},
			{"run_ns", s->run_ns},		    {"private_bytes", s->private_bytes},
			{"shared_bytes", s->shared_bytes},
		};
		struct json_object *row = json_object_new_object();

		for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++)
			json_object_object_add(row, fields[f].name,
					       json_object_new_uint64(fields[f].value));
		json_object_array_add(list, row);
	}
	fprintf(stderr, "%s\n", json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
}

// Run the program once in all interpreters. Returns the status of the lowest-numbered interpreter
// that failed, TOOL_FAILED if nothing was run, or 0.
static int run_once(struct run *run, bool last)
{
	struct result *results = calloc(run->program.count, sizeof(*results));
	struct gorgon_error *err;
	int status = 0;

	if (!results) {
		fputs("gorgon: no memory\n", stderr);
		return TOOL_FAILED;
	}
	run->program.last = last;
	err = program_run(&run->program, results);
	for (unsigned i = 0; i < run->program.count && !err && !status; i++)
		status = results[i].status;
	if (err) {
		status = tool_fail(err, TOOL_FAILED);
	} else {
		if (run->table)
			print_table(results, run->program.count);
		if (run->json)
			print_json(results, run->program.count);
	}
	free(results);
	return status;
}

static int parse_and_run(struct run *run, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "[-c CODE | -m MODULE | FILE] [ARG...]",
		.doc = "Runs a program in N private CPythons at once, a thread each. Without "
		       "a program it is python3's prompt, or "
		       "what is on stdin."
		       "\v"
		       "Exit status: 0, or that of the lowest-numbered interpreter that "
		       "failed (1 for an uncaught exception, k for "
		       "sys.exit(k)); 2 wrong usage; 3 no interpreter.",
	};
	int status = tool_parse(&argp, ARGP_IN_ORDER, argc, argv, run);
	struct chosen chosen = {0};

	status = status ?: run_check(run);
	status = status ?: python_take(run->program.python, run->program.verbose, &chosen);
	run->program.python = chosen.path;
	run->program.argc = (int)run->python.count;
	run->program.argv = run->python.list;
	run->program.ns.share = run->share.list;
	run->program.ns.keep_private = run->keep_private.list;
	run->program.ns.extensions = run->extensions.list;
	// all have lines or none
	if (run->program.python_lines == GORGON_PYTHON_LINES_DEFAULT &&
	    run->program.count > GORGON_PYTHON_LINES_DEFAULT_MAX)
		run->program.python_lines = GORGON_PYTHON_LINES_OFF;
	for (unsigned i = 0; i < run->repeat && !status; i++)
		status = run_once(run, i + 1 == run->repeat);
	python_deinit(&chosen);
	return status;
}

int tool_run(int argc, char **argv)
{
	struct run run = {.program = {.count = 1, .files = GORGON_FILES_THREAD}, .repeat = 1};
	int status;

	// a debugger writes to the same line
	run.program.progress = isatty(STDERR_FILENO) && jitreg_find_tracer() == JITREG_TRACER_NONE;
	status = parse_and_run(&run, argc, argv);
	for (size_t i = 0; i < run.options.count; i++)
		free((char *)run.options.list[i]);
	free(run.options.list);
	free(run.python.list);
	free(run.share.list);
	free(run.extensions.list);
	free(run.keep_private.list);
	return status;
}
