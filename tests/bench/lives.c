// SPDX-License-Identifier: MIT
// What whole interpreters cost: created, a program run, destroyed.
//
//	lives [-q | -k] KEPT AT_ONCE TIMES CODE
//
// KEPT interpreters have run CODE and stay alive meanwhile. TIMES times AT_ONCE interpreters are created, run CODE
// and are destroyed, by a thread each. Prints a line for each time: processor time, time of the wall (ns) and page
// faults, each by interpreter. After the last time, when TIMES is 0, only a line with bytes: private dirty memory of the
// process, then what the last one of KEPT has of its own in pages of its libraries, mapped for CPython's arenas, from
// CPython's malloc() and from its extensions'. -q: they end as GORGON_END_QUICK says, in arenas on large pages, which is what a host does that replaces
// interpreters often. -k: a line for each of the KEPT, too, from its creation until it has run CODE. peers.c has the
// alternatives.

#define _GNU_SOURCE
#include "measure.h"

#include <gorgon.h>
#include <pthread.h>

static const char *code;
static struct gorgon_interp *last; // that stays
static struct gorgon_ns_opts ns_opts = {.size = sizeof(ns_opts)};
static struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns_opts};

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "lives: %s\n", gorgon_error_message(err));
	exit(3);
}

static void run_program(struct gorgon_interp *interp)
{
	const char *const arguments[] = {"-c", code};
	int status;

	check(gorgon_interp_main(interp, 2, arguments, &status));
	if (status)
		exit(4);
}

static void *live(void *arg)
{
	struct gorgon_interp *interp;

	(void)arg;
	check(gorgon_interp_create(&opts, &interp));
	run_program(interp);
	check(gorgon_interp_destroy(interp));
	return NULL;
}

// Not by gorgon_interp_main(), which ends Python.
static void *stay(void *arg)
{
	struct gorgon_interp *interp;

	(void)arg;
	check(gorgon_interp_create(NULL, &interp));
	check(gorgon_interp_start(interp, NULL));
	check(gorgon_interp_run_string(interp, code, "lives"));
	last = interp;
	return NULL;
}

static void at_once(void *(*fn)(void *), long count)
{
	pthread_t *threads = calloc((size_t)count + 1, sizeof(*threads));

	for (long i = 0; i < count; i++)
		if (!threads || pthread_create(&threads[i], NULL, fn, NULL))
			exit(3);
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void measure(void *(*fn)(void *), long count, bool prints)
{
	struct used used = bench_used();

	at_once(fn, count);
	used = bench_since(&used, (double)count);
	if (prints)
		printf("%.0f %.0f %.0f\n", used.cpu, used.wall, used.faults);
}

static void print_memory(void)
{
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	if (last)
		check(gorgon_interp_get_stats(last, &stats));
	printf("%.0f %llu %llu %llu %llu\n", bench_private_dirty(), (unsigned long long)stats.private_bytes,
	       (unsigned long long)stats.mapped_bytes, (unsigned long long)stats.heap_bytes,
	       (unsigned long long)stats.extension_bytes);
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && !strcmp(argv[1], "-q"), tells = argc > 1 && !strcmp(argv[1], "-k");
	long kept, count;

	argc -= quick || tells;
	argv += quick || tells;
	kept = argc == 5 ? atol(argv[1]) : -1;
	count = kept < 0 ? 0 : atol(argv[2]);
	opts.end = quick ? GORGON_END_QUICK : GORGON_END_FULL;
	ns_opts.large_arenas = quick;

	if (count < 1) {
		fputs("usage: lives [-q | -k] KEPT AT_ONCE TIMES CODE\n", stderr);
		return 2;
	}
	code = argv[4];
	for (long i = 0; i < kept; i++)
		measure(stay, 1, tells);
	for (long i = atol(argv[3]); i > 0; i--)
		measure(live, count, true);
	if (!atol(argv[3]) && !tells)
		print_memory();
	fflush(stdout);
	_Exit(0); // the end of the kept interpreters is not measured
}
