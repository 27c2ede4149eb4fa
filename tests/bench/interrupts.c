// SPDX-License-Identifier: MIT
// How long a call that blocks takes to return with KeyboardInterrupt after gorgon_interp_interrupt().
//
//	interrupts ROUNDS
//
// For each way of blocking a line: its name, "main" (Python's main thread, which is interrupted as Ctrl-C interrupts a python3) or "other"
// (another thread of the host), microseconds at the 50th and the 99th percentile.

#define _GNU_SOURCE
#include "gorgon.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 10000

struct kind {
	const char *name, *source;
};

static const struct kind kinds[] = {
	{"a loop", "while True: pass"},
	{"sleep", "time.sleep(1000)"},
	{"accept", "s.accept()"},
	{"recv", "a.recv(1)"},
	{"Lock", "l.acquire()"},
	{"Condition", "\nwith c: c.wait()"},
	{"queue", "q.get()"},
	{"Event", "e.wait()"},
	{"read", "os.read(p[0], 1)"},
	{"select", "select.select([p[0]], [], [])"},
};

static const char set_up[] =
	"import os, queue, select, socket, threading, time\n"
	"s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); a, b = socket.socketpair(); l = threading.Lock(); l.acquire()\n"
	"c = threading.Condition(); q = queue.Queue(); e = threading.Event(); p = os.pipe()\n";

struct caller {
	struct gorgon_interp *interp;
	bool main;
	sem_t go, ended;
	const char *source;
	uint64_t end_ns;
};

static int ready[2]; // a pipe: code writes to it right before it blocks

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void check(struct gorgon_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "interrupts: %s\n", gorgon_error_message(err));
	exit(1);
}

static void start(struct gorgon_interp *interp)
{
	check(gorgon_interp_start(interp, NULL));
	check(gorgon_interp_run_string(interp, set_up, NULL));
}

static void *run(void *arg)
{
	struct caller *caller = arg;

	if (caller->main)
		start(caller->interp);
	sem_post(&caller->ended);
	for (;;) {
		struct gorgon_error *err;

		sem_wait(&caller->go);
		if (!caller->source)
			return NULL;
		err = gorgon_interp_run_string(caller->interp, caller->source, NULL);
		caller->end_ns = now();
		if (gorgon_error_code(err) != GORGON_ERROR_EXCEPTION ||
		    strcmp(gorgon_error_exception(err)->type, "KeyboardInterrupt")) {
			fprintf(stderr, "interrupts: expected KeyboardInterrupt: %s\n", caller->source);
			check(err);
		}
		gorgon_error_destroy(err);
		sem_post(&caller->ended);
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return *first < *second ? -1 : *first > *second;
}

static void measure(struct caller *caller, const struct kind *kind, size_t rounds)
{
	static uint64_t spent[ROUNDS_MAX];
	char source[256], byte;

	snprintf(source, sizeof(source), "os.write(%d, b'x'); %s\n", ready[1], *kind->source == '\n' ? "0" : kind->source);
	if (!strncmp(kind->source, "while", 5) || *kind->source == '\n')
		snprintf(source, sizeof(source), "os.write(%d, b'x')\n%s\n", ready[1], kind->source);
	caller->source = source;
	for (size_t i = 0; i < rounds; i++) {
		uint64_t begin;

		sem_post(&caller->go);
		if (read(ready[0], &byte, 1) != 1)
			exit(1);
		usleep(2000 + 100 * (useconds_t)(i % 50));
		begin = now();
		check(gorgon_interp_interrupt(caller->interp));
		sem_wait(&caller->ended);
		spent[i] = caller->end_ns - begin;
	}
	qsort(spent, rounds, sizeof(*spent), compare);
	printf("%s\t%s\t%lu\t%lu\n", kind->name, caller->main ? "main" : "other", spent[rounds / 2] / 1000,
	       spent[rounds * 99 / 100] / 1000);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 0;

	if (!rounds || rounds > ROUNDS_MAX || pipe(ready)) {
		fprintf(stderr, "interrupts: missing argument: interrupts ROUNDS (at most %d)\n", ROUNDS_MAX);
		return 2;
	}
	for (int main = 1; main >= 0; main--) {
		struct caller caller = {.main = main};
		pthread_t thread;

		sem_init(&caller.go, 0, 0);
		sem_init(&caller.ended, 0, 0);
		check(gorgon_interp_create(NULL, &caller.interp));
		if (!main)
			start(caller.interp);
		pthread_create(&thread, NULL, run, &caller);
		sem_wait(&caller.ended);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			measure(&caller, &kinds[i], rounds);
		caller.source = NULL;
		sem_post(&caller.go);
		pthread_join(thread, NULL);
		check(gorgon_interp_destroy(caller.interp));
	}
	return 0;
}
