// SPDX-License-Identifier: MIT A host that does something while another process asks its
// interpreters to run code (tests/run/test_exec.py).
//
//	asked MODE
//
// It prints its process's number when it is ready; a mode that waits does so until standard input
// ends.
//   idle       two interpreters in which nothing runs; the thread waits in read(2)
//   lull       the same, but it waits in sleep(2) for two seconds, and says whether it slept so long
//   computing  the same, but all threads compute
//   call       the thread is in a call, which computes
//   other      another thread is in a call, which computes, while the first one waits
//   lent       an interpreter was started by a thread that has ended
//   pool       a pool of two
//   fork       the interpreters belong to a forked child
//   stop       an interpreter is being stopped: a call in it does not end
//   refuse     as idle, but requests are refused
//   handler    as idle, but the host has set a handler of SIGURG of its own afterwards

#define _GNU_SOURCE
#include <gorgon.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct gorgon_interp *interps[2];
static volatile unsigned long turns;

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "asked: %s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
	exit(3);
}

static void start(int count)
{
	const struct gorgon_start_opts opts = {.size = sizeof(opts)};

	for (int i = 0; i < count; i++) {
		const struct gorgon_interp_opts interp = {.size = sizeof(interp),
							  .label = i ? "second" : "first"};

		check(gorgon_interp_create(&interp, &interps[i]));
		check(gorgon_interp_start(interps[i], &opts));
		check(gorgon_interp_run_string(interps[i], "mine = 5", NULL));
	}
}

static void *start_one(void *arg)
{
	start(1);
	return arg;
}

static void *compute_in_python(void *arg)
{
	gorgon_error_destroy(gorgon_interp_run_string(
		interps[0], "import sys\nwhile not hasattr(sys, 'enough'): pass", NULL));
	return arg;
}

static void *wait_for_ever(void *arg)
{
	gorgon_error_destroy(gorgon_interp_run_string(
		interps[0],
		"import time\nwhile True:\n try: time.sleep(1000)\n except KeyboardInterrupt: pass",
		NULL));
	return arg;
}

static void *stop_it(void *arg)
{
	gorgon_error_destroy(gorgon_interp_stop(interps[0]));
	return arg;
}

static void ready(void)
{
	printf("%d\n", getpid());
	fflush(stdout);
}

static void wait_for_end(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
}

static void own_handler(int number)
{
	(void)number;
}

static void run_pool(void)
{
	const struct gorgon_pool_opts opts = {
		.size = sizeof(opts), .count = 2, .warm_up = "mine = 5"};
	struct gorgon_pool *pool;

	check(gorgon_pool_create(&opts, &pool));
	ready();
	wait_for_end();
	check(gorgon_pool_destroy(pool));
}

int main(int argc, char **argv)
{
	const char *mode = argc == 2 ? argv[1] : "";
	pthread_t thread, stopper;
	pid_t child = 0;

	if (!strcmp(mode, "pool")) {
		run_pool();
		return 0;
	}
	if (!strcmp(mode, "refuse"))
		gorgon_exec_refuse();
	if (!strcmp(mode, "lent")) {
		pthread_create(&thread, NULL, start_one, NULL);
		pthread_join(thread, NULL);
	} else {
		start(2);
	}
	if (!strcmp(mode, "fork") && (child = fork())) {
		waitpid(child, NULL, 0);
		_exit(0);
	}
	if (!strcmp(mode, "handler"))
		signal(SIGURG, own_handler);
	if (!strcmp(mode, "stop")) {
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		usleep(200000);
		pthread_create(&stopper, NULL, stop_it, NULL);
		usleep(200000);
	}
	ready();
	if (!strcmp(mode, "call")) {
		compute_in_python(NULL);
	} else if (!strcmp(mode, "other")) {
		pthread_create(&thread, NULL, compute_in_python, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(mode, "computing")) {
		for (;;)
			turns++;
	} else if (!strcmp(mode, "lull")) {
		struct timespec before, after;
		unsigned left;

		clock_gettime(CLOCK_MONOTONIC, &before);
		left = sleep(2);
		clock_gettime(CLOCK_MONOTONIC, &after);
		printf("%s\n", !left && after.tv_sec - before.tv_sec >= 1 ? "slept" : "woken");
		fflush(stdout);
	} else {
		wait_for_end();
	}
	if (!strcmp(mode, "stop"))
		_exit(0);
	for (int i = 0; i < 2; i++)
		check(gorgon_interp_destroy(interps[i]));
	return 0;
}
