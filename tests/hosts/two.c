// SPDX-License-Identifier: MIT
// A host with two interpreters at once, each on a thread of its own.
//
//	two call|pool FILE FOLDER
//
// FILE defines main(WHO, FOLDER), which runs in both: with WHO "first" and "second". The host calls it from threads of its own,
// or it is a job of a pool with two interpreters. Exit status 0, or 1 when a call has failed.

#define _GNU_SOURCE
#include "../loader/gorgon.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file, *folder;
static const char *const names[] = {"first", "second"};

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "two: %s\n", gorgon_error_message(err));
	exit(1);
}

static struct gorgon_value text(const char *string)
{
	return (struct gorgon_value){.kind = GORGON_VALUE_STRING, .text = {string, strlen(string)}};
}

static void *call(void *name)
{
	struct gorgon_value items[] = {text(name), text(folder)}, ret;
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {items, 2}};
	struct gorgon_interp *interp;

	check(gorgon_interp_create(NULL, &interp));
	check(gorgon_interp_start(interp, NULL));
	check(gorgon_interp_run_file(interp, file));
	check(gorgon_interp_call(interp, NULL, "main", &args, NULL, &ret));
	gorgon_value_deinit(&ret);
	check(gorgon_interp_destroy(interp));
	return NULL;
}

static void run_calls(void)
{
	pthread_t threads[2];

	for (size_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, call, (void *)names[i]))
			exit(1);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void run_pool(void)
{
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 2};
	struct gorgon_job *jobs[2];
	struct gorgon_pool *pool;
	char warm_up[4096];

	snprintf(warm_up, sizeof(warm_up), "exec(open('%s').read())", file);
	opts.warm_up = warm_up;
	check(gorgon_pool_create(&opts, &pool));
	for (size_t i = 0; i < 2; i++) {
		struct gorgon_value items[] = {text(names[i]), text(folder)};
		struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {items, 2}};

		check(gorgon_pool_submit(pool, NULL, "main", &args, NULL, -1, &jobs[i]));
	}
	for (size_t i = 0; i < 2; i++) {
		struct gorgon_value ret;

		check(gorgon_job_finish(jobs[i], &ret));
		gorgon_value_deinit(&ret);
	}
	check(gorgon_pool_destroy(pool));
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: two call|pool FILE FOLDER\n");
		return 2;
	}
	file = argv[2];
	folder = argv[3];
	if (!strcmp(argv[1], "pool"))
		run_pool();
	else
		run_calls();
	return 0;
}
