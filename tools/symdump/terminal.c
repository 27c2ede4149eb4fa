// SPDX-License-Identifier: MIT
// What only a person at a terminal gets: colours, and progress of what takes long.

#define _GNU_SOURCE
#include "symdump.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SECONDS 0.3
#define NEXT_SECONDS  0.1

// https://no-color.org: the variable counts if it is set and not empty.
static bool has_colours(void)
{
	static int known = -1;

	if (known < 0) {
		const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

		known = isatty(STDOUT_FILENO) && (!none || !*none) && terminal &&
			strcmp(terminal, "dumb") != 0;
	}
	return known;
}

const char *heading_begin(void)
{
	return has_colours() ? "\033[1m" : "";
}

const char *interp_begin(void)
{
	return has_colours() ? "\033[36m" : "";
}

const char *colour_end(void)
{
	return has_colours() ? "\033[0m" : "";
}

static bool line_is_there;

void progress(const char *what, size_t done, size_t total)
{
	static double next;
	struct timespec ts;
	double now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
	if (!next)
		next = now + FIRST_SECONDS;
	if (now < next || !isatty(STDERR_FILENO))
		return;
	next = now + NEXT_SECONDS;
	line_is_there = true;
	fprintf(stderr, "\r\033[Kgorgon-symdump: %s: %zu of %zu", what, done, total);
	fflush(stderr);
}

void progress_end(void)
{
	if (line_is_there)
		fputs("\r\033[K", stderr);
	line_is_there = false;
}
