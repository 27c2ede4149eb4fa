/* SPDX-License-Identifier: MIT */
/* Where another thread is. See sample.c. */
#ifndef GORGON_PROCESS_SAMPLE_H
#define GORGON_PROCESS_SAMPLE_H

#include <sys/types.h>

/* Texts; empty where nothing is known. */
struct gorgon_sample {
	char thread[17];  /* its name */
	/* file and exported function of its innermost frame that is in one:
	 * `libc.so.6!clock_nanosleep` */
	char native[128];
	char python[256]; /* its innermost Python line, as CPython shows it in tracebacks */
};

/* Ask a thread of this process where it is, and wait for its answer for some milliseconds at most.
 */
void gorgon_sample_thread(pid_t tid, int timeout_ms, struct gorgon_sample *ret);

#endif
