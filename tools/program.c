// SPDX-License-Identifier: MIT
// One program in many interpreters at once: create all, a thread each, wait, destroy.
//
// All interpreters are created before the first starts, so that numbers follow the order of
// creation and a failure is reported before any output. The interpreters of the last round are
// left to the end of the process, as python3 leaves its libraries.

#define _GNU_SOURCE
#include "tool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// CPython's recursion limits are made for the 8 MiB that a main thread has.
#define STACK_SIZE (8u << 20)

// What a shell says of a process that has passed its hard limit of processor time: 128 + SIGKILL.
#define STATUS_STOPPED 137
// how often a program with a limit of processor time is looked at, while it runs
#define LOOK_MS	       200

struct job {
	const struct program *program;
	struct gorgon_interp *interp;
	struct label *label;
	struct result *result;
	struct gorgon_error *err;
	pthread_t thread;
	bool started;
};

// A warning often concerns all interpreters, so a line that repeats the last line is not printed.
static void print_line(void *ctx, const char *line)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *last;

	(void)ctx;
	pthread_mutex_lock(&lock);
	if (!last || strcmp(last, line)) {
		fprintf(stderr, "gorgon: %s\n", line);
		free(last);
		last = strdup(line);
	}
	pthread_mutex_unlock(&lock);
}

// Say why the program is about to get KeyboardInterrupt.
static uint64_t say_cpu_limit(void *ctx, uint64_t used_ms)
{
	const struct job *job = ctx;

	fprintf(stderr,
		"gorgon: interpreter %u: has used %.1f s of processor time, its limit is %.1f s\n",
		job->result->number, (double)used_ms / 1000,
		(double)job->program->cpu_limit_ms / 1000);
	return 0;
}

static struct gorgon_error *create_one(struct job *job)
{
	struct gorgon_ns_opts ns_opts = job->program->ns;
	struct gorgon_interp_opts opts = {
		.size = sizeof(opts),
		.python = job->program->python,
		.ns = &ns_opts,
		.timing = job->program->timing,
		.python_lines = job->program->python_lines,
		.isolate = job->program->isolate,
		.end = job->program->end,
		.files = job->program->files,
		.memory_limit = job->program->memory_limit,
		.cpu_limit_ms = job->program->cpu_limit_ms,
		.near_cpu_limit = say_cpu_limit,
		.limit_ctx = job,
	};
	struct gorgon_error *err;

	ns_opts.size = sizeof(ns_opts);
	// The other strategies log at each end that the system's linker keeps objects loaded.
	if (job->program->isolate == GORGON_ISOLATE_LOADER)
		ns_opts.log = print_line;
	if (job->program->label || job->program->count > 1) {
		job->label = label_create(job->program->label);
		ns_opts.write_output = job->label ? label_write : NULL;
		ns_opts.write_ctx = job->label;
	}
	err = gorgon_interp_create(&opts, &job->interp);
	if (err)
		return err;
	job->result->number = gorgon_interp_number(job->interp);
	if (job->label)
		label_set_number(job->label, job->result->number);
	return NULL;
}

static void print_loaded(const struct job *job)
{
	char *text = loaded_list(job->interp, job->program);

	if (text)
		loaded_print(job->result->number, text);
	free(text);
}

static void *run_one(void *arg)
{
	struct job *job = arg;
	char name[16];

	snprintf(name, sizeof(name), "interp %u", job->result->number);
	pthread_setname_np(pthread_self(), name);
	job->err = gorgon_interp_main(job->interp, job->program->argc, job->program->argv,
				      &job->result->status);
	// Only when asked for: this reads the whole memory map of the process.
	if (!job->err && job->program->timing) {
		job->result->stats.size = sizeof(job->result->stats);
		job->err = gorgon_interp_get_stats(job->interp, &job->result->stats);
	}
	if (!job->err && job->program->verbose)
		print_loaded(job);
	return NULL;
}

static void start_all(struct job *jobs, unsigned count)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (unsigned i = 0; i < count; i++)
		jobs[i].started = !pthread_create(&jobs[i].thread, &attr, run_one, &jobs[i]);
	pthread_attr_destroy(&attr);
}

static bool is_slow(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000 > 500;
}

// On a terminal a line that is overwritten shows how many interpreters there are, once creating
// them has taken half a second. Returns whether the line is there. It is erased before programs
// start: the terminal is theirs then.
static bool show_progress(const struct program *program, unsigned created,
			  const struct timespec *start)
{
	if (!program->progress || !is_slow(start))
		return false;
	fprintf(stderr, "\r\033[Kgorgon: %u of %u interpreters created", created, program->count);
	fflush(stderr);
	return true;
}

static void erase_progress(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

// An interpreter whose threads live on stays until the process ends.
static void destroy_one(struct job *job)
{
	struct gorgon_error *err = gorgon_interp_destroy(job->interp);

	if (err)
		tool_fail(err, 0);
	else
		label_destroy(job->label);
}

static bool is_abandoned(const struct job *job)
{
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};
	struct gorgon_error *err = gorgon_interp_get_stats(job->interp, &stats);

	gorgon_error_destroy(err);
	return !err && stats.state == GORGON_INTERP_IS_ABANDONED;
}

// A program that was abandoned may be in C code that never comes back to Python.
static void wait_for(struct job *job)
{
	struct timespec until;
	int found = 0;

	if (!job->program->cpu_limit_ms) {
		pthread_join(job->thread, NULL);
		return;
	}
	do {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!pthread_clockjoin_np(job->thread, NULL, CLOCK_MONOTONIC, &until))
			return;
	} while (!is_abandoned(job) || ++found < 3);
	job->started = false;
	pthread_detach(job->thread);
	// The call says why it was abandoned.
	job->err = gorgon_interp_run_string(job->interp, "", NULL);
}

static void say_failure(struct job *job)
{
	bool abandoned = gorgon_error_code(job->err) == GORGON_ERROR_ABANDONED;

	job->result->status = abandoned ? STATUS_STOPPED : TOOL_FAILED;
	if (abandoned)
		fprintf(stderr, "gorgon: %s\n", gorgon_error_message(job->err));
	else
		fprintf(stderr, "gorgon: interpreter %u: %s\n", job->result->number,
			job->err ? gorgon_error_message(job->err) : "cannot start its thread");
	gorgon_error_destroy(job->err);
}

struct gorgon_error *program_run(const struct program *program, struct result *results)
{
	struct job *jobs = calloc(program->count, sizeof(*jobs));
	struct gorgon_error *err = NULL;
	struct timespec start;
	unsigned created = 0;
	bool shown = false;

	if (!jobs) {
		fputs("gorgon: no memory\n", stderr);
		exit(TOOL_FAILED);
	}
	if (!program->quiet_faults)
		err = gorgon_faults_report(NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (; created < program->count && !err; created++) {
		jobs[created].program = program;
		jobs[created].result = &results[created];
		err = create_one(&jobs[created]);
		shown |= show_progress(program, created + 1, &start);
	}
	if (shown)
		erase_progress();
	if (!err)
		start_all(jobs, created);
	for (unsigned i = 0; i < created && !err; i++) {
		if (jobs[i].started)
			wait_for(&jobs[i]);
		if (!jobs[i].started || jobs[i].err)
			say_failure(&jobs[i]);
	}
	for (unsigned i = created; i-- > 0;) {
		if (program->last && !err)
			label_flush(jobs[i].label); // threads that have not ended may still write
		else
			destroy_one(&jobs[i]);
	}
	free(jobs);
	return err;
}
