// SPDX-License-Identifier: MIT
// A host that creates, runs and destroys interpreters on many threads, for hours if asked.
//
//	soak [-c] [-t THREADS] [-s SECONDS] [-r ROUNDS] FILE
//
// Runs ROUNDS rounds (default 5) of SECONDS seconds (10) on THREADS threads (8). Each
// thread, until its round is over: creates an interpreter, runs FILE in it with a random
// number as argument, destroys it; now and then it creates one more and destroys it
// unused. With -c all threads use the same few interpreters instead, and call what FILE
// defines: soak_calls.c. All threads end with their round; then nothing of any interpreter
// should be left, and one line says what the process holds:
//
//	soak: round 1 cycles 83 resident 30412 heap 9120 mappings 101 descriptors 5
//
// (KiB). Exit status 0, or 1 when a call of the library or a program failed.

#define _GNU_SOURCE
#include "soak.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
// CPython's recursion limits are made for the 8 MiB that a main thread has.
#define STACK_SIZE (8u << 20)

const char *soak_file;
atomic_uint soak_cycles;
static bool calls;
static time_t round_end;
static atomic_uint failures;

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

void soak_fail(const char *what)
{
	fprintf(stderr, "soak: %s\n", what);
	failures++;
}

bool soak_failed(struct gorgon_error *err)
{
	if (!err)
		return false;
	soak_fail(gorgon_error_message(err));
	gorgon_error_destroy(err);
	return true;
}

static void run_program(struct gorgon_interp *interp, unsigned seed)
{
	char number[16];
	const char *const argv[] = {soak_file, number};
	int status = -1;

	snprintf(number, sizeof(number), "%u", seed);
	if (soak_failed(gorgon_interp_main(interp, 2, argv, &status)) || !status)
		return;
	fprintf(stderr, "soak: %s %s: status %d, expected 0\n", soak_file, number, status);
	failures++;
}

static void cycle(unsigned *random)
{
	struct gorgon_interp *interp, *unused = NULL;

	if (soak_failed(gorgon_interp_create(NULL, &interp)))
		return;
	if (rand_r(random) % 4 == 0)
		soak_failed(gorgon_interp_create(NULL, &unused));
	run_program(interp, (unsigned)rand_r(random));
	soak_failed(gorgon_interp_destroy(interp));
	soak_failed(gorgon_interp_destroy(unused));
	soak_cycles++;
}

static void *run_thread(void *arg)
{
	unsigned *random = arg;

	while (now() < round_end && !failures)
		if (calls)
			soak_call(random);
		else
			cycle(random);
	return NULL;
}

static void run_round(unsigned count, unsigned *seeds)
{
	pthread_t threads[THREADS_MAX];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attr, run_thread, &seeds[i]))
			abort();
	pthread_attr_destroy(&attr);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	soak_end_calls();
}

// Lines of a file under /proc, or the number behind @name in one of them.
static long read_proc(const char *path, const char *name)
{
	FILE *in = fopen(path, "re");
	char line[4096];
	long ret = 0;

	while (in && fgets(line, sizeof(line), in))
		if (!name)
			ret++;
		else if (!strncmp(line, name, strlen(name)))
			ret = strtol(line + strlen(name), NULL, 10);
	if (in)
		fclose(in);
	return ret;
}

static unsigned count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned ret = 0;

	while (dir && readdir(dir))
		ret++;
	if (dir)
		closedir(dir);
	return ret - 3; // not "." and "..", nor the descriptor of the folder itself
}

static void show(unsigned round)
{
	struct mallinfo2 info = mallinfo2();

	if (gorgon_interp_count()) {
		fprintf(stderr, "soak: %u interpreters are left, expected 0\n", gorgon_interp_count());
		failures++;
	}
	malloc_trim(0);
	printf("soak: round %u cycles %u resident %ld heap %zu mappings %ld descriptors %u\n", round,
	       soak_cycles, read_proc("/proc/self/status", "VmRSS:"), (info.uordblks + info.hblkhd) / 1024,
	       read_proc("/proc/self/maps", NULL), count_descriptors());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned count = 8, seconds = 10, rounds = 5, seeds[THREADS_MAX];
	int opt;

	while ((opt = getopt(argc, argv, "ct:s:r:")) != -1) {
		if (opt == 'c')
			calls = true;
		else if (opt == 't')
			count = (unsigned)atoi(optarg);
		else if (opt == 's')
			seconds = (unsigned)atoi(optarg);
		else if (opt == 'r')
			rounds = (unsigned)atoi(optarg);
		else
			return 2;
	}
	if (optind != argc - 1 || !count || count > THREADS_MAX) {
		fprintf(stderr, "usage: soak [-c] [-t THREADS] [-s SECONDS] [-r ROUNDS] FILE\n");
		return 2;
	}
	soak_file = argv[optind];
	for (unsigned i = 0; i < count; i++)
		seeds[i] = i;
	for (unsigned round = 1; round <= rounds && !failures; round++) {
		round_end = now() + seconds;
		run_round(count, seeds);
		show(round);
	}
	return failures != 0;
}
