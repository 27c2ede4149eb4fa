// SPDX-License-Identifier: MIT
// gorgon-symdump: the command line.

#define _GNU_SOURCE
#include "profile.h"

#include <getopt.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <string.h>

static const char help[] =
	"usage: gorgon-symdump PID|CORE [OPTION] [--sysroot DIR]\n"
	"What is loaded where, for which interpreter: of a process, which goes on, or of a core.\n"
	"Without an option: interpreters and their private objects.\n"
	"\n"
	"  --addr ADDR...     interpreter, library, function and line of each address\n"
	"  --find SYMBOL      this function or variable in every copy\n"
	"  --symbols [GLOB]   all of them, or those that match\n"
	"  --stacks           every thread's frames, by interpreter\n"
	"  --top              what the interpreters are doing, again and again on a terminal (q: "
	"end)\n"
	"  --record SECONDS   sample what their threads do, Python frames without stopping them;\n"
	"                     --rate HZ (100), --native (C frames, too: stops a thread while it is "
	"read),\n"
	"                     --format collapsed, speedscope or svg (a flame graph)\n"
	"  --check            do the target's own lists agree with each other and with its "
	"memory?\n"
	"  --extract DIR      write each symfile into a file\n"
	"  --gdb, --lldb      commands that load everything into a debugger\n"
	"  --perf-map         functions in the format of /tmp/perf-PID.map\n"
	"  --json             the table, or with --stacks or --top that, for programs\n"
	"  --sysroot DIR      look for the target's files below DIR\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0; 1 when nothing was found, or --check found something; 2 wrong usage;\n"
	"3 when the target cannot be read.\n"
	"\n"
	"Examples: gorgon-symdump 4711 --addr 0x7f4d42ffeb70\n"
	"          gorgon-symdump core.4711 --gdb > all.gdb; gdb -core core.4711 -x all.gdb\n"
	"          gorgon-symdump 4711 --stacks --json > stacks.json\n"
	"          gorgon-symdump 4711 --record 10 --format svg > flames.svg\n";

#define SECONDS_MAX 1e6
#define RATE        100.0
#define RATE_MIN    0.01
#define RATE_MAX    10000.0

enum {
	OPT_SYSROOT = 256,
	OPT_JSON,
	OPT_RATE,
	OPT_FORMAT,
	OPT_NATIVE,
	OPT_HELP,
	OPT_VERSION,
	OPT_MODE, // and the index of the mode
};

static const struct mode {
	const char *name;
	int (*run)(struct dump *dump);
	int has_arg;    // for getopt
	bool more;      // words after the target belong to it
	unsigned flags; // of the snapshot
} modes[] = {
	{"addr", print_addresses, no_argument, true, 0},
	{"find", print_find, required_argument, false, 0},
	{"symbols", print_symbols, optional_argument, true, 0},
	{"stacks", print_stacks, no_argument, false, SNAPSHOT_MAPPINGS},
	{"top", print_top, no_argument, false, 0},
	{"record", record, required_argument, false, SNAPSHOT_OPTIONAL | SNAPSHOT_MAPPINGS},
	{"check", check, no_argument, false, SNAPSHOT_MAPPINGS | SNAPSHOT_CHECKS},
	{"extract", extract, required_argument, false, SNAPSHOT_SYMFILES},
	{"gdb", print_gdb, no_argument, false, 0},
	{"lldb", print_lldb, no_argument, false, 0},
	{"perf-map", print_perf_map, no_argument, false, 0},
};

enum {
	MODE_COUNT = sizeof(modes) / sizeof(*modes),
	PLAIN_COUNT = 7, // options that are no modes
};

static const struct mode table = {"", print_table, no_argument, false, 0},
			 table_json = {"", print_json, no_argument, false, 0};

static int usage(const char *what, const char *why)
{
	fprintf(stderr, "gorgon-symdump: %s%s (gorgon-symdump --help)\n", what, why);
	return STATUS_USAGE;
}

// Problems that prevent an answer, or that the user should know with it, are printed once.
static void print_problems(const struct problems *problems)
{
	for (size_t i = 0; i < problems->kept; i++)
		fprintf(stderr, "gorgon-symdump: %s\n", problems->lines[i]);
	if (problems->count > problems->kept)
		fprintf(stderr, "gorgon-symdump: and %zu more like these\n",
			problems->count - problems->kept);
}

static int run_mode(struct dump *dump, const struct mode *mode)
{
	int status;

	if (!snapshot_take(&dump->target, mode->flags, &dump->snapshot)) {
		print_problems(&dump->snapshot.problems);
		snapshot_deinit(&dump->snapshot);
		return STATUS_NO_TARGET;
	}
	dump->locations = locations_create(&dump->target, &dump->snapshot);
	status = mode->run(dump);
	if (mode->run != check) { // --check has printed the problems itself
		if (!dump->snapshot.consistent)
			fprintf(stderr,
				"gorgon-symdump: %s: not consistent: its lists changed while they "
				"were read\n",
				dump->target.name);
		print_problems(&dump->snapshot.problems);
		print_problems(locations_problems(dump->locations));
	}
	locations_destroy(dump->locations);
	snapshot_deinit(&dump->snapshot);
	if (!target_open_error())
		return status;
	fprintf(stderr, "gorgon-symdump: %s: files could not be opened, so this is not all: %s\n",
		dump->target.name, strerror(target_open_error()));
	return STATUS_NO_TARGET;
}

// Words after the options: the target, then what --addr and --symbols take.
static int parse_words(struct dump *dump, const struct mode *mode, char **words, int count)
{
	if (!count)
		return usage("PID or CORE expected", "");
	if (count > 1 && !mode->more)
		return usage(words[1], ": one PID or CORE expected");
	if (mode->run == print_addresses && count < 2)
		return usage("--addr: an address expected", "");
	if (mode->run == print_symbols) {
		if (count > 2 || (count == 2 && dump->pattern))
			return usage(words[count - 1], ": one GLOB expected");
		dump->pattern = dump->pattern ?: count == 2 ? words[1] : "*";
	}
	dump->addresses = words + 1;
	dump->address_count = count - 1;
	return STATUS_OK;
}

// Each file with a frame in it stays open, and the usual soft limit of descriptors is too low for
// that.
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static const struct {
	const char *name;
	void (*print)(const struct profile *profile);
} formats[] = {
	{"collapsed", print_collapsed},
	{"speedscope", print_speedscope},
	{"svg", print_flame_graph},
};

// Reads the words of --record and of the options that go only with it. @rate, @format: NULL if the
// option was not given.
static int parse_record(struct dump *dump, const struct mode *mode, const char *rate,
			const char *format)
{
	const char *other = rate           ? "--rate"
			    : format       ? "--format"
			    : dump->native ? "--native"
					   : NULL;
	char *end;

	if (mode->run != record)
		return other ? usage(other, ": only with --record") : STATUS_OK;
	dump->seconds = strtod(dump->pattern, &end);
	if (end == dump->pattern || *end || !(dump->seconds > 0 && dump->seconds <= SECONDS_MAX))
		return usage(dump->pattern, ": seconds expected, more than 0 and at most 1000000");
	dump->rate = rate ? strtod(rate, &end) : RATE;
	if (rate && (end == rate || *end || !(dump->rate >= RATE_MIN && dump->rate <= RATE_MAX)))
		return usage(rate, ": samples a second expected, 0.01 to 10000");
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(format ?: "collapsed", formats[i].name))
			dump->print_profile = formats[i].print;
	if (!dump->print_profile)
		return usage(format, ": collapsed, speedscope or svg expected");
	return STATUS_OK;
}

int main(int argc, char **argv)
{
	struct option options[MODE_COUNT + PLAIN_COUNT + 1] = {
		{"sysroot", required_argument, NULL, OPT_SYSROOT},
		{"json", no_argument, NULL, OPT_JSON},
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{"rate", required_argument, NULL, OPT_RATE},
		{"format", required_argument, NULL, OPT_FORMAT},
		{"native", no_argument, NULL, OPT_NATIVE},
	};
	const struct mode *mode = &table;
	const char *sysroot = NULL, *rate = NULL, *format = NULL;
	struct problems problems = {0};
	struct dump dump = {0};
	int opt, status;

	for (int i = 0; i < MODE_COUNT; i++)
		options[PLAIN_COUNT + i] =
			(struct option){modes[i].name, modes[i].has_arg, NULL, OPT_MODE + i};
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == OPT_HELP || opt == 'h') {
			fputs(help, stdout);
			return STATUS_OK;
		}
		if (opt == OPT_VERSION) {
			puts("gorgon-symdump " GORGON_VERSION);
			return STATUS_OK;
		}
		if (opt == OPT_SYSROOT) {
			sysroot = optarg;
			continue;
		}
		if (opt == OPT_JSON) {
			dump.json = true;
			continue;
		}
		if (opt == OPT_NATIVE)
			dump.native = true;
		if (opt == OPT_RATE)
			rate = optarg;
		if (opt == OPT_FORMAT)
			format = optarg;
		if (opt == OPT_NATIVE || opt == OPT_RATE || opt == OPT_FORMAT)
			continue;
		if (opt < OPT_MODE)
			return usage(optopt && optopt < OPT_SYSROOT ? (char[]){'-', (char)optopt, 0}
								  : argv[optind - 1],
				     ": no such option, or its value is missing");
		if (mode != &table)
			return usage(argv[optind - 1], ": one of these at a time");
		mode = &modes[opt - OPT_MODE];
		dump.pattern = optarg;
	}
	if (dump.json && mode == &table)
		mode = &table_json;
	else if (dump.json && mode->run != print_stacks && mode->run != print_top)
		return usage("--json: only alone or with --stacks or --top", "");
	status = parse_record(&dump, mode, rate, format)
			 ?: parse_words(&dump, mode, argv + optind, argc - optind);
	if (status)
		return status;
	elf_version(EV_CURRENT);
	raise_limit();
	if (!target_open(&dump.target, argv[optind], sysroot, &problems))
		status = STATUS_NO_TARGET;
	else if (mode->run == record && !dump.target.pid)
		status = usage(argv[optind], ": --record: a process expected");
	print_problems(&problems); // a core with a damaged note is read nevertheless
	if (!status)
		status = run_mode(&dump, mode);
	problems_deinit(&problems);
	target_close(&dump.target);
	if (fflush(stdout) || ferror(stdout)) {
		perror("gorgon-symdump: output");
		return STATUS_NO_TARGET;
	}
	return status;
}
