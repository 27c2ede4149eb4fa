// SPDX-License-Identifier: MIT
// A host with two interpreters at once, each on a thread of its own.
//
//	two call|fork|pool|limited PYTHON FILE FOLDER [WORD]...
//
// FILE defines main(WHO, FOLDER, WORD...), which runs in both interpreters, with WHO "first" and
// "second". With "call" the host calls main() from two threads. With "fork" the host makes the
// interpreters, forks, and calls main() in the child. With "pool" main() is a job of a pool of two
// interpreters, and with "limited" the pool's jobs have a limit of time. PYTHON is the executable
// whose libpython and packages they have. The exit status is 0, or 1 when a call has failed; an
// interpreter that stays, because threads of its libraries go on, is named. The host has a handler
// of SIGINT, which does nothing.

#define _GNU_SOURCE
#include "../loader/gorgon.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 16

static struct gorgon_interp_opts interp_opts = {.size = sizeof(interp_opts)};
static const char *file;
static char **words; // FOLDER and those after it
static size_t words_count;
static const char *const names[] = {"first", "second"};
static struct gorgon_interp *interps[2];

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "two: %s\n", gorgon_error_message(err));
	exit(1);
}

// As check(), but threads of libraries may outlive the interpreter's Python.
static void check_end(struct gorgon_error *err)
{
	if (!err || gorgon_error_code(err) != GORGON_ERROR_BUSY)
		return check(err);
	fprintf(stderr, "two: %s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
}

static struct gorgon_value text(const char *string)
{
	return (struct gorgon_value){.kind = GORGON_VALUE_STRING, .text = {string, strlen(string)}};
}

// The arguments of main(): @items has room for them.
static struct gorgon_value arguments(const char *name, struct gorgon_value *items)
{
	items[0] = text(name);
	for (size_t i = 0; i < words_count; i++)
		items[i + 1] = text(words[i]);
	return (struct gorgon_value){.kind = GORGON_VALUE_LIST, .list = {items, words_count + 1}};
}

static void *call(void *interp_of)
{
	size_t i = (size_t)((struct gorgon_interp **)interp_of - interps);
	struct gorgon_value items[WORDS_MAX + 1], args = arguments(names[i], items), ret;
	struct gorgon_interp *interp = interps[i];

	check(gorgon_interp_start(interp, NULL));
	check(gorgon_interp_run_file(interp, file));
	check(gorgon_interp_call(interp, NULL, "main", &args, NULL, &ret));
	gorgon_value_deinit(&ret);
	check_end(gorgon_interp_destroy(interp));
	return NULL;
}

static void run_calls(bool forked)
{
	pthread_t threads[2];
	int status;

	for (size_t i = 0; i < 2; i++)
		check(gorgon_interp_create(&interp_opts, &interps[i]));
	if (forked && fork())
		exit(wait(&status) < 0 || status ? 1 : 0);
	for (size_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, call, &interps[i]))
			exit(1);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void run_pool(unsigned limit_ms)
{
	struct gorgon_pool_opts opts = {.size = sizeof(opts),
					.count = 2,
					.interp = &interp_opts,
					.job_limit_ms = limit_ms};
	struct gorgon_job *jobs[2];
	struct gorgon_pool *pool;
	char warm_up[4096];

	snprintf(warm_up, sizeof(warm_up), "__file__ = '%s'\nexec(open(__file__).read())", file);
	opts.warm_up = warm_up;
	check(gorgon_pool_create(&opts, &pool));
	for (size_t i = 0; i < 2; i++) {
		struct gorgon_value items[WORDS_MAX + 1], args = arguments(names[i], items);

		check(gorgon_pool_submit(pool, NULL, "main", &args, NULL, -1, &jobs[i]));
	}
	for (size_t i = 0; i < 2; i++) {
		struct gorgon_value ret;

		check(gorgon_job_finish(jobs[i], &ret));
		gorgon_value_deinit(&ret);
	}
	check_end(gorgon_pool_destroy(pool));
}

static void ignore(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	if (argc < 5 || argc > 4 + WORDS_MAX) {
		fprintf(stderr, "usage: two call|fork|pool|limited PYTHON FILE FOLDER [WORD]...\n");
		return 2;
	}
	interp_opts.python = argv[2];
	file = argv[3];
	words = argv + 4;
	words_count = (size_t)argc - 4;
	signal(SIGINT, ignore);
	if (!strcmp(argv[1], "pool"))
		run_pool(0);
	else if (!strcmp(argv[1], "limited"))
		run_pool(600000);
	else
		run_calls(!strcmp(argv[1], "fork"));
	return 0;
}
