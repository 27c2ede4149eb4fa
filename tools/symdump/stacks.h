/* SPDX-License-Identifier: MIT */
/* What stacks.c has read of the threads, for stacks_print.c. */
#ifndef GORGON_SYMDUMP_STACKS_H
#define GORGON_SYMDUMP_STACKS_H

#include "symdump.h"

struct frame {
	uint64_t pc;
	bool after; // a return address
};

struct thread {
	pid_t tid;
	size_t ns;        // of the innermost private frame, or of Python's
	size_t python_ns; // of the Python frames
	struct python_stack python;
	struct frame *frames;
	size_t count;
	char *why_cut; // or NULL
};

void print_thread(struct dump *dump, const struct thread *thread);
/* An item of a list that is begun and ended by the caller; see json_begin(). */
void print_thread_json(struct dump *dump, const struct thread *thread, bool first);

#endif
