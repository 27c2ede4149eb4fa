// SPDX-License-Identifier: MIT
// What interpreters hold and do, as text that Prometheus reads: a host answers GET /metrics with it. Prints a value for
// each of two interpreters under each of
//
//	# TYPE gorgon_interpreter_state gauge
//	# TYPE gorgon_interpreter_memory_bytes gauge
//	# TYPE gorgon_interpreter_memory_limit_bytes gauge
//	# TYPE gorgon_interpreter_threads gauge
//	# TYPE gorgon_interpreter_cpu_seconds_total counter
//	# TYPE gorgon_interpreter_gil_wait_seconds_total counter
//	# TYPE gorgon_interpreter_calls_total counter

#include <gorgon.h>

#include <stdio.h>
#include <stdlib.h>

#define INTERPRETERS 2

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", gorgon_error_message(err));
	exit(1);
}

// --- the metrics ------------------------------------------------------------------------

static double state(const struct gorgon_interp_stats *stats)
{
	return (double)stats->state;
}

static double memory(const struct gorgon_interp_stats *stats)
{
	return (double)(stats->heap_bytes + stats->mapped_bytes + stats->extension_bytes + stats->block_bytes);
}

static double memory_limit(const struct gorgon_interp_stats *stats)
{
	return (double)stats->memory_limit;
}

static double threads(const struct gorgon_interp_stats *stats)
{
	return (double)stats->thread_count;
}

static double cpu(const struct gorgon_interp_stats *stats)
{
	return (double)stats->total_cpu_ns / 1e9;
}

static double gil_wait(const struct gorgon_interp_stats *stats)
{
	return (double)stats->gil_wait_ns / 1e9;
}

static double calls(const struct gorgon_interp_stats *stats)
{
	return (double)stats->call_count;
}

static const struct metric {
	const char *name, *type, *help;
	double (*value)(const struct gorgon_interp_stats *stats);
} metrics[] = {
	{"state", "gauge", "0 created, 1 runs a program, 2 starts, 3 started, 4 stops, 5 ends, 6 ended, 7 abandoned", state},
	{"memory_bytes", "gauge", "what it holds and the limit counts", memory},
	{"memory_limit_bytes", "gauge", "0: none", memory_limit},
	{"threads", "gauge", "that its code has started", threads},
	{"cpu_seconds_total", "counter", "of calls and of its threads", cpu},
	{"gil_wait_seconds_total", "counter", "of calls", gil_wait},
	{"calls_total", "counter", "that have ended", calls},
};

// --- the host ---------------------------------------------------------------------------

static void show(struct gorgon_interp *const interps[], size_t count)
{
	struct gorgon_interp_stats stats[INTERPRETERS];

	for (size_t i = 0; i < count; i++) {
		stats[i] = (struct gorgon_interp_stats){.size = sizeof(stats[i])};
		check(gorgon_interp_get_stats(interps[i], &stats[i]));
	}
	for (const struct metric *m = metrics; m < metrics + sizeof(metrics) / sizeof(*metrics); m++) {
		printf("# HELP gorgon_interpreter_%s %s\n# TYPE gorgon_interpreter_%s %s\n", m->name, m->help, m->name, m->type);
		for (size_t i = 0; i < count; i++)
			printf("gorgon_interpreter_%s{interpreter=\"%u\"} %.9g\n", m->name, gorgon_interp_number(interps[i]),
			       m->value(&stats[i]));
	}
}

int main(void)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = 256 << 20};
	struct gorgon_interp *interps[INTERPRETERS];

	for (int i = 0; i < INTERPRETERS; i++) {
		check(gorgon_interp_create(&opts, &interps[i]));
		check(gorgon_interp_start(interps[i], NULL));
		check(gorgon_interp_run_string(interps[i], "squares = [i * i for i in range(100000)]", NULL));
	}
	show(interps, INTERPRETERS);
	for (int i = 0; i < INTERPRETERS; i++)
		check(gorgon_interp_destroy(interps[i]));
	return 0;
}
