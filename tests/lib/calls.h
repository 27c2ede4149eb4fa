/* SPDX-License-Identifier: MIT */
/* Functions that the tests of calls into interpreters share: they start interpreters, check values, run code on threads. */
#ifndef TESTS_CALLS_H
#define TESTS_CALLS_H

#include "helpers.h"

#include <pthread.h>
#include <semaphore.h>

#define VALUE_INT(n)	{.kind = GORGON_VALUE_INT, .integer = (n)}
#define VALUE_STRING(s) {.kind = GORGON_VALUE_STRING, .text = {(s), sizeof(s) - 1}}
#define VALUE_LIST(items)                                                                          \
	{.kind = GORGON_VALUE_LIST, .list = {(items), sizeof(items) / sizeof(*(items))}}

/* The test fails unless these succeed. */
struct gorgon_interp *start(void);
void destroy(struct gorgon_interp *interp);
void run(struct gorgon_interp *interp, const char *source);

/* The error is an exception of @type whose message contains @message. Destroys it. */
void assert_raised(struct gorgon_error *err, const char *type, const char *message);

/* Call f of __main__ with one argument. */
struct gorgon_error *call_f(struct gorgon_interp *interp, struct gorgon_value *arg,
			    struct gorgon_value *ret);
/* Start an interpreter whose function f returns its argument. */
struct gorgon_interp *start_with_identity(void);

/* --- threads ------------------------------------------------------------------ */

/* Python code on a thread of its own. */
struct thread {
	pthread_t thread;
	struct gorgon_interp *interp;
	const char *source;
	struct gorgon_error *err;
};

void spawn(struct thread *thread, struct gorgon_interp *interp, const char *source);
/* The function of such a thread. */
void *run_thread(void *thread);
struct gorgon_error *join(struct thread *thread);

/* REACHED: statements that post @reached. WAIT: statements that post @reached, then wait for @go_on. */
extern sem_t reached, go_on;
#define REACHED "import ctypes; ctypes.CDLL(None).test_call_reached()\n"
#define WAIT	"import ctypes; ctypes.CDLL(None).test_call_wait()\n"

void init_waiting(void);

/* Lines of a function that does @what for ever, whatever is raised: the loop around a loop catches an interrupt that comes
 * between two tries of the inner loop. They are no "while True": CPython 3.11 looks for the handler of what is raised at a
 * loop's jump back in front of the loop's first instruction, which is outside of the try there. */
#define TEST_ALWAYS(what)                                                                                              \
	"  for _ in iter(int, 1):\n"                                                                                   \
	"   try:\n"                                                                                                   \
	"    for _ in iter(int, 1):\n"                                                                                 \
	"     try:\n"                                                                                                 \
	"      for _ in iter(int, 1):\n"                                                                               \
	"       try:\n"                                                                                               \
	"        for _ in iter(int, 1): " what "\n"                                                                    \
	"       except BaseException: pass\n"                                                                         \
	"     except BaseException: pass\n"                                                                           \
	"   except BaseException: pass\n"
/* A program that does @what for ever in such a function, and posts @reached once it is there. Several threads may run it
 * in one interpreter. */
#define REACHED_ALWAYS(what)                                                                                           \
	"import ctypes\n"                                                                                              \
	"def always(to_do):\n" TEST_ALWAYS("to_do and to_do.pop()(); " what)                                           \
	"always([ctypes.CDLL(None).test_call_reached])\n"

#endif
