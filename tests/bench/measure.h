/* SPDX-License-Identifier: MIT */
/* What a process has used so far, for loading.c, lives.c and peers.c. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct used {
	double cpu, wall; /* nanoseconds; processor time of children that have ended, too */
	double faults;	  /* page faults, without those that read a file from disk; those of ended children count, too */
};

static inline double bench_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static inline struct used bench_used(void)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (struct used){
		.cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) +
		       1e9 * (double)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
		       1e3 * (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec),
		.wall = bench_clock(CLOCK_MONOTONIC),
		.faults = (double)(own.ru_minflt + children.ru_minflt),
	};
}

static inline struct used bench_since(const struct used *before, double count)
{
	struct used now = bench_used();

	return (struct used){(now.cpu - before->cpu) / count, (now.wall - before->wall) / count,
			     (now.faults - before->faults) / count};
}

/* Bytes of memory that this process alone has, and has written to. */
static inline double bench_private_dirty(void)
{
	FILE *in = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	double size = 0;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "Private_Dirty: %lf", &size) == 1)
			break;
	if (in)
		fclose(in);
	return size * 1024;
}

#endif
