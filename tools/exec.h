/* SPDX-License-Identifier: MIT */
/* `gorgon exec`: what its files share. */
#ifndef GORGON_TOOL_EXEC_H
#define GORGON_TOOL_EXEC_H

#include "ns/debug_root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* exec_python.c: runs in the interpreter. */
extern const char exec_source[];
/* exec_codes.c: what the options run. */
extern const char exec_memray[], exec_debugpy[], exec_pdb[];

/* --- exec_process.c: the process -------------------------------------------------------------- */

struct remote_interp;

/* Another process, whose memory may be read and written. */
struct remote {
	pid_t pid;
	int memory;                          /* /proc/PID/mem */
	uint64_t request;                    /* address of its struct gorgon_debug_request */
	const struct remote_interp *interps; /* all of them */
	size_t interp_count;
};

struct remote_interp {
	uint32_t number;
	uint64_t requests, activity; /* as in struct gorgon_debug_ns */
	pid_t thread;
	char label[GORGON_DEBUG_TEXT_SIZE];
};

/* NULL, or why not, malloc()ed. */
char *remote_open(pid_t pid, struct remote *ret);
void remote_close(struct remote *remote);
bool remote_read(const struct remote *remote, uint64_t addr, void *bytes, size_t size);
bool remote_write(const struct remote *remote, uint64_t addr, const void *bytes, size_t size);
/* Its interpreters, oldest first, malloc()ed. NULL: they cannot be read. */
struct remote_interp *remote_list(const struct remote *remote, size_t *count);

/* --- exec_ring.c: the request
 * --------------------------------------------------------------------- */

/* The pipes to the thread that runs the code. */
struct remote_pipes {
	pid_t tid;
	int input, output; /* output does not block */
};

/* Let an interpreter take a request until @end_ns, of CLOCK_MONOTONIC. NULL, or why not,
 * malloc()ed. */
char *remote_ask(const struct remote *remote, const struct remote_interp *interp, uint64_t end_ns,
		 struct remote_pipes *ret);
/* Why nothing has come of a request. */
#define REMOTE_BUSY                                                                                \
	"did not take the request in time, which was withdrawn: its code holds the GIL, or is in " \
	"C for long"
#define REMOTE_IDLE                                                                          \
	"did not take the request in time, which was withdrawn: nothing runs in it, and no " \
	"thread of its host waits for anything"
uint64_t remote_now(void);

#endif
