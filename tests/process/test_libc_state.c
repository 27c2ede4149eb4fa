// SPDX-License-Identifier: MIT
// What a namespace has of the C library's state (loader/process): our getopt() beside the C library's, and what the
// host keeps when interpreters have used theirs.

#define _GNU_SOURCE
#include "calls.h"

#include "ns/ns.h"
#include "process/part.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

// --- getopt() ------------------------------------------------------------------------------------

#define ARGUMENTS 8

// The C library's functions, or ours.
struct parser {
	const char *who;
	int (*get)(int, char *const *, const char *, const struct option *, int *, void *);
	int (*get_only)(int, char *const *, const char *, const struct option *, int *, void *);
	int (*get_short)(int, char *const *, const char *, void *);
	char **arg;
	int *index, *errors, *option;
	void *state;
	char text[4000]; // what the parser has returned
};

static const struct gorgon_bound *bound(const struct gorgon_part *part, const char *name)
{
	for (size_t i = 0; i < part->bound_count; i++)
		if (!strcmp(part->bound[i].name, name))
			return &part->bound[i];
	fail_msg("%s is not bound", name);
	return NULL;
}

static void *variable(const struct parser *parser, const char *name)
{
	return (char *)parser->state + bound(&gorgon_options, name)->offset;
}

static struct parser our_parser(void)
{
	static struct gorgon_ns ns;
	struct parser parser = {.who = "ours", .state = calloc(1, gorgon_options.state_size)};

	assert_true(gorgon_options.begin(parser.state, &ns));
	parser.get = bound(&gorgon_options, "getopt_long")->target;
	parser.get_only = bound(&gorgon_options, "getopt_long_only")->target;
	parser.get_short = bound(&gorgon_options, "getopt")->target;
	parser.arg = variable(&parser, "optarg");
	parser.index = variable(&parser, "optind");
	parser.errors = variable(&parser, "opterr");
	parser.option = variable(&parser, "optopt");
	return parser;
}

static struct parser their_parser(void)
{
	return (struct parser){"libc",	(void *)getopt_long, (void *)getopt_long_only,
			       (void *)getopt, &optarg,	     &optind,
			       &opterr,	       &optopt,	     NULL,
			       ""};
}

static int flag;

static void parse(struct parser *parser, int kind, char *const *words, int count,
		  const char *letters)
{
	static const struct option longs[] = {
		{"verbose", no_argument, NULL, 'v'}, {"version", no_argument, NULL, 'V'},
		{"verb", no_argument, NULL, 'v'},    {"file", required_argument, NULL, 'f'},
		{"filter", optional_argument, NULL, 'F'}, {"flag", no_argument, &flag, 7},
		{"same", no_argument, NULL, 's'},    {"sample", no_argument, NULL, 's'},
		{"a", no_argument, NULL, 'A'},	     {NULL, 0, NULL, 0},
	};
	char *argv[ARGUMENTS + 2] = {"program"};
	size_t used = 0;
	int got = 0;

	memcpy(argv + 1, words, (size_t)count * sizeof(*argv));
	*parser->index = 0;
	*parser->errors = 1;
	for (int calls = 0; got != -1 && calls < 40; calls++) {
		int which = -1;

		flag = 0;
		got = kind == 0	  ? parser->get_short(count + 1, argv, letters, parser->state)
		      : kind == 1 ? parser->get(count + 1, argv, letters, longs, &which,
						parser->state)
				  : parser->get_only(count + 1, argv, letters, longs, &which,
						     parser->state);
		used += (size_t)snprintf(parser->text + used, sizeof(parser->text) - used,
					 "%d '%s' %d %d %d %d\n", got, *parser->arg ?: "(none)",
					 *parser->index, got == '?' ? *parser->option : 0, which,
					 flag);
	}
	for (int i = 0; i <= count; i++)
		used += (size_t)snprintf(parser->text + used, sizeof(parser->text) - used, "%s ",
					 argv[i]);
	fflush(stderr);
	lseek(STDERR_FILENO, 0, SEEK_SET);
	got = (int)read(STDERR_FILENO, parser->text + used, sizeof(parser->text) - used - 1);
	parser->text[used + (size_t)(got > 0 ? got : 0)] = '\0';
	assert_int_equal(ftruncate(STDERR_FILENO, 0), 0);
	lseek(STDERR_FILENO, 0, SEEK_SET);
}

static void getopt_does_what_the_c_librarys_does(void **state)
{
	static char *const words[] = {
		"-a", "-b", "-ab", "-bvalue", "-c", "-cvalue", "-W", "-Wfile", "-Wver", "-x", "-:",
		"-", "--", "word", "other", "--verbose", "--verb", "--ver", "--file", "--file=x",
		"--filter", "--fil", "--filter=y", "--flag", "--flag=1", "--sam", "--unknown",
		"--a", "-file", "-ver", "-verbose", "-fla", "-", "", "--=", "-abx",
	};
	static const char *const letters[] = {"ab:c::", "+ab:c::", "-ab:c::", ":ab:c::", "-:ab:c::",
					      "ab:W;", "v", ""};
	struct parser ours = our_parser(), theirs = their_parser();
	int before = dup(STDERR_FILENO), log = memfd_create("stderr", MFD_CLOEXEC);
	unsigned seed = 1;
	bool same = true;

	(void)state;
	assert_int_equal(dup2(log, STDERR_FILENO), STDERR_FILENO);
	for (int turn = 0; turn < 20000 && same; turn++) {
		char *argv[ARGUMENTS];
		int count = rand_r(&seed) % ARGUMENTS, kind = rand_r(&seed) % 3;
		const char *of = letters[(size_t)rand_r(&seed) % (sizeof(letters) / sizeof(*letters))];

		for (int i = 0; i < count; i++)
			argv[i] = words[(size_t)rand_r(&seed) % (sizeof(words) / sizeof(*words))];
		parse(&theirs, kind, argv, count, of);
		parse(&ours, kind, argv, count, of);
		same = !strcmp(ours.text, theirs.text);
	}
	dup2(before, STDERR_FILENO);
	close(before);
	close(log);
	free(ours.state);
	assert_string_equal(ours.text, theirs.text);
}

// --- what the host has ------------------------------------------------------------------------------

// The C library keeps the pointer to the name, which was in the interpreter's memory.
static int log_after_an_interpreter(void *arg)
{
	struct gorgon_interp *interp = start();

	(void)arg;
	run(interp, "import syslog\n"
		    "syslog.openlog('of-an-interpreter', syslog.LOG_PERROR)\n"
		    "syslog.setlogmask(1)\n");
	destroy(interp);
	syslog(LOG_INFO, "of the host");
	return setlogmask(0) == 0xff ? 0 : 1;
}

static void destroy_after_openlog_host_logs_on(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(log_after_an_interpreter, NULL), 0);
}

static void tzset_of_an_interpreter_leaves_the_hosts_clock(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	time_t now = 1720000000;
	struct tm before = *localtime(&now), after;

	(void)state;
	run(interp, "import os, time\n"
		    "os.environ['TZ'] = 'XYZ-9:15'\n"
		    "time.tzset()\n"
		    "assert time.localtime(0).tm_gmtoff == 33300, time.localtime(0)\n"
		    "assert time.tzname == ('XYZ', 'XYZ')\n");
	after = *localtime(&now);
	assert_int_equal(after.tm_gmtoff, before.tm_gmtoff);
	assert_string_equal(after.tm_zone, before.tm_zone);
	assert_null(getenv("TZ"));
	run(other, "import os, time\n"
		   "time.tzset()\n"
		   "assert time.tzname[0] != 'XYZ' and 'TZ' not in os.environ\n");
	destroy(interp);
	destroy(other);
}

// The host has given the interpreter an environment, and thereby a time zone: the program need not call tzset().
static void environment_of_an_interpreter_has_its_zone(void **state)
{
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.ns = &(struct gorgon_ns_opts){.size = sizeof(struct gorgon_ns_opts),
					     .environment = (const char *const[]){"TZ=ABC-1ABD,M3.5.0,M10.5.0", NULL}}};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	run(interp, "import os, time\n"
		    "assert time.tzname == ('ABC', 'ABD'), time.tzname\n"
		    "assert time.localtime(1720000000).tm_zone == 'ABD'\n"
		    "del os.environ['TZ']\n"
		    "time.tzset()\n"
		    "assert time.tzname[0] != 'ABC', time.tzname\n");
	destroy(interp);
}

// Threads of two interpreters are in the middle of changes of what the child will need.
static void fork_child_has_its_state(void **state)
{
	static const char busy[] =
		"import os, time, threading, ctypes\n"
		"c = ctypes.CDLL(None)\n"
		"os.environ['TZ'] = 'Europe/Berlin'\n"
		"time.tzset()\n"
		"end = []\n"
		"def work():\n"
		"    while not end:\n"
		"        time.mktime(time.localtime(1e9)); time.tzset(); c.random(); c.setlogmask(0)\n"
		"threads = [threading.Thread(target=work) for _ in range(2)]\n"
		"for thread in threads: thread.start()\n";
	static const char stop[] = "end.append(1)\nfor thread in threads: thread.join()\n";
	static const char forks[] =
		"for _ in range(20):\n"
		"    pid = os.fork()\n"
		"    if not pid:\n"
		"        try:\n"
		"            time.tzset(); c.random(); c.setlogmask(0)\n"
		"            os._exit(time.localtime(1720000000).tm_gmtoff // 3600)\n"
		"        finally:\n"
		"            os._exit(77)\n"
		"    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2\n";
	struct gorgon_interp *one = start(), *two = start();

	(void)state;
	run(one, busy);
	run(two, busy);
	run(one, forks);
	run(one, stop);
	run(two, stop);
	destroy(one);
	destroy(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getopt_does_what_the_c_librarys_does),
		cmocka_unit_test(destroy_after_openlog_host_logs_on),
		cmocka_unit_test(tzset_of_an_interpreter_leaves_the_hosts_clock),
		cmocka_unit_test(environment_of_an_interpreter_has_its_zone),
		cmocka_unit_test(fork_child_has_its_state),
	};

	unsetenv("TZ");
	return cmocka_run_group_tests_name("libc state", tests, test_warm_up, NULL);
}
