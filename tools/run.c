// SPDX-License-Identifier: MIT
// gorgon run: a program in N interpreters at once. `gorgon --help` has the options.

#define _GNU_SOURCE
#include "tool.h"

#include <errno.h>
#include <getopt.h>
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
	OPT_QUICK_END,
};

static const struct option options[] = {
	{"python", required_argument, NULL, OPT_PYTHON},
	{"isolate", required_argument, NULL, OPT_ISOLATE},
	{"share", required_argument, NULL, OPT_SHARE},
	{"private", required_argument, NULL, OPT_PRIVATE},
	{"debug", required_argument, NULL, OPT_DEBUG},
	{"repeat", required_argument, NULL, OPT_REPEAT},
	{"label", no_argument, NULL, OPT_LABEL},
	{"timing", no_argument, NULL, OPT_TIMING},
	{"json", no_argument, NULL, OPT_JSON},
	{"shared-files", no_argument, NULL, OPT_SHARED_FILES},
	{"quick-end", no_argument, NULL, OPT_QUICK_END},
	{0},
};

struct run {
	struct program program;
	unsigned repeat;
	bool table, json;
	const char **share, **keep_private; // NULL-terminated; room for every argument
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

static void append(const char **list, const char *text)
{
	while (*list)
		list++;
	*list = text;
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

static int parse_isolate(struct run *run, const char *strategy)
{
	if (!strcmp(strategy, "loader"))
		run->program.isolate = GORGON_ISOLATE_LOADER;
	else if (!strcmp(strategy, "dlmopen"))
		run->program.isolate = GORGON_ISOLATE_DLMOPEN;
	else if (!strcmp(strategy, "copy"))
		run->program.isolate = GORGON_ISOLATE_COPY;
	else
		return tool_usage("--isolate %s: expected loader, copy or dlmopen", strategy);
	return 0;
}

static int parse_option(struct run *run, int opt)
{
	switch (opt) {
	case 'n':
		if (!parse_count(optarg, &run->program.count))
			return tool_usage("-n %s: expected a number from 1 to 100000", optarg);
		return 0;
	case OPT_REPEAT:
		if (!parse_count(optarg, &run->repeat))
			return tool_usage("--repeat %s: expected a number from 1 to 100000", optarg);
		return 0;
	case OPT_PYTHON:
		run->program.python = optarg;
		return 0;
	case OPT_ISOLATE:
		return parse_isolate(run, optarg);
	case OPT_SHARE:
		append(run->share, optarg);
		return 0;
	case OPT_PRIVATE:
		append(run->keep_private, optarg);
		return 0;
	case OPT_DEBUG:
		return parse_debug(run, optarg);
	case OPT_LABEL:
		run->program.label = true;
		return 0;
	case OPT_JSON:
		run->json = run->program.timing = true;
		return 0;
	case OPT_SHARED_FILES:
		run->program.files = GORGON_FILES_SHARED;
		return 0;
	case OPT_QUICK_END:
		run->program.end = GORGON_END_QUICK;
		return 0;
	case OPT_TIMING:
		run->table = run->program.timing = true;
		return 0;
	default:
		return tool_usage("run: wrong option");
	}
}

// Our options end at -c, -m or the first word; from there on everything is Python's.
// A lone -c or -m without a value is left to Python, whose message people know.
static int parse(struct run *run, int argc, char **argv)
{
	int opt, err;

	opterr = 0;
	while (optind < argc) {
		const char *arg = argv[optind];

		if (!strncmp(arg, "-c", 2) || !strncmp(arg, "-m", 2) || *arg != '-' || !arg[1])
			break;
		opt = getopt_long(argc, argv, "+n:", options, NULL);
		if (opt == -1)
			break;
		if (opt == '?')
			return tool_usage("run: %s: no such option, or its value is missing",
					  argv[optind - 1]);
		if ((err = parse_option(run, opt)))
			return err;
	}
	if (optind >= argc)
		return tool_usage("run: what? expected -c CODE, -m MODULE or FILE");
	run->program.argc = argc - optind;
	run->program.argv = (const char *const *)argv + optind;
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

// One round. Returns the status of the lowest-numbered failure, or TOOL_FAILED.
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

int tool_run(int argc, char **argv)
{
	struct run run = {.program = {.count = 1, .files = GORGON_FILES_THREAD}, .repeat = 1};
	int status;

	run.share = calloc((size_t)argc + 1, sizeof(*run.share));
	run.keep_private = calloc((size_t)argc + 1, sizeof(*run.keep_private));
	if (!run.share || !run.keep_private) {
		fputs("gorgon: no memory\n", stderr);
		return TOOL_FAILED;
	}
	run.program.progress = isatty(STDERR_FILENO);
	status = parse(&run, argc, argv);
	run.program.ns.share = run.share;
	run.program.ns.keep_private = run.keep_private;
	if (!status)
		for (unsigned i = 0; i < run.repeat && !status; i++)
			status = run_once(&run, i + 1 == run.repeat);
	free(run.share);
	free(run.keep_private);
	return status;
}
