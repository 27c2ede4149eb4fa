/* SPDX-License-Identifier: MIT */
/* Return addresses of a thread that a signal has interrupted. See backtrace.c. */
#ifndef GORGON_PROCESS_BACKTRACE_H
#define GORGON_PROCESS_BACKTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gorgon_frame {
	uint64_t pc;
	/* The address is that of the next instruction, not one that a call returns to: a signal has
	 * interrupted the frame. */
	bool interrupted;
};

/*
 * Write the frames of an interrupted thread, the innermost first, at most @capacity. @context is
 * the third argument of the handler of the signal. @count counts what is written so far, for a
 * caller whose handler of faults jumps out of this call: damaged stacks are read as they are. Takes
 * no lock and allocates nothing.
 */
void gorgon_backtrace(const void *context, struct gorgon_frame *frames, size_t capacity,
		      volatile size_t *count);

/* The same, but nothing is read that is not on the stack, which ends below @top: for a caller
 * that catches no faults. */
size_t gorgon_backtrace_below(const void *context, uint64_t top, struct gorgon_frame *frames,
			      size_t capacity);

/* Write the frames of the calling thread, the caller's first. The walk takes no lock, allocates
 * nothing and meets no fault, so handlers of signals may call it. */
size_t gorgon_backtrace_here(struct gorgon_frame *frames, size_t capacity);

/* The first address of the function at @pc, and in @end that behind it, by its unwind table. 0:
 * there is none. */
uint64_t gorgon_backtrace_function(uint64_t pc, uint64_t *end);

#endif
