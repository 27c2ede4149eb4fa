/* SPDX-License-Identifier: MIT */
/* Threads of a namespace that are to raise an exception. See interruption.c. */
#ifndef GORGON_PROCESS_INTERRUPTION_H
#define GORGON_PROCESS_INTERRUPTION_H

#include "part.h"

#include <stddef.h>
#include <stdint.h>

struct gorgon_interruption;

extern const struct gorgon_part gorgon_interruption_part;

/* The code of a function. */
struct gorgon_code_range {
	uintptr_t start;
	size_t size;
};

/* What is known of the Python of a namespace. */
struct gorgon_interruption_python {
	pthread_t main;			    /* the thread that Python takes for its main thread */
	/* functions that look for signals, on the main thread only */
	struct gorgon_code_range checks[3];
	int (*trip)(int number);	    /* lets the next look find the signal */
	int (*is_finalizing)(void);         /* whether only finalisers still run, or NULL */
	/* whether a look would find SIGINT, which it does not any more; on the main thread only */
	int (*take_interrupt)(void);
};

/* Set before the first request, and when it changes. */
void gorgon_interruption_describe(struct gorgon_interruption *state,
				  const struct gorgon_interruption_python *python);

/* Until gorgon_interruption_pose_as_main(state, false) the calling thread is the main thread, as
 * far as Python sees. Returns what held before. */
bool gorgon_interruption_pose_as_main(struct gorgon_interruption *state, bool begin);

/* Python, which is being finalised, has no handlers of signals any more: on the calling thread none
 * is called from now on. A request can be taken all the same. */
void gorgon_interruption_ignore(void);

/* Let the main thread look for signals before its next bytecode: it finds GORGON_SIGNAL_RESERVED.
 * Any thread, without the GIL, as long as Python is up. */
void gorgon_interruption_trip(struct gorgon_interruption *state);

/* Ask a thread of the process to take the request of this namespace: its blocking calls end with
 * EINTR again and again until it has, and on this thread functions that look for signals find
 * GORGON_SIGNAL_RESERVED. False: there is no such thread, or it has a request of another namespace.
 */
bool gorgon_interruption_request(struct gorgon_interruption *state, pthread_t thread);

/* The same for the thread that Python takes for its main thread, which is sent no signal before
 * gorgon_interruption_repeat(). */
void gorgon_interruption_request_main(struct gorgon_interruption *state);

/* Repeat the signals to threads with requests from now on. */
void gorgon_interruption_repeat(void);

/* Take the request of the calling thread. False: it has none of this namespace. Safe in signal
 * handlers. */
bool gorgon_interruption_take(struct gorgon_interruption *state);

/* Whether a thread of the process holds a lock of importlib's; see shield.h. With the GIL. */
bool gorgon_interruption_is_shielded(pthread_t thread);
/* Whether the calling main thread, which handles GORGON_SIGNAL_RESERVED under a shield, is in a
 * blocking call, which may be interrupted all the same. */
bool gorgon_interruption_blocks(const struct gorgon_interruption *state);
/* Whether the calling thread has a request. */
bool gorgon_interruption_is_requested(const struct gorgon_interruption *state);
/* The calling thread may find a SIGINT or an interrupt that was kept for it, until @begin is false:
 * meanwhile all threads of the namespace pay for each question which thread they are. */
void gorgon_interruption_expect(struct gorgon_interruption *state, bool begin);

/* The threads that private code of the namespace has started: up to @count of them, and the number
 * of all. */
size_t gorgon_interruption_threads(struct gorgon_interruption *state, pthread_t *list,
				   size_t count);

#endif
