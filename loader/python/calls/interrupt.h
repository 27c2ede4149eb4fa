/* SPDX-License-Identifier: MIT */
/* An exception on a thread of an interpreter. See interrupt.c. */
#ifndef GORGON_PYTHON_INTERRUPT_H
#define GORGON_PYTHON_INTERRUPT_H

#include "interp.h"

/* The calling thread has started Python, which takes it for the main thread from now on. */
void gorgon_interrupt_set_main(struct gorgon_interp *interp);

/* Interrupt the main thread, which is in the interpreter and stays there meanwhile: its handler of
 * SIGINT is called, or it gets KeyboardInterrupt if there is none. Any thread, without the GIL.
 * Afterwards, when the thread may leave the interpreter, the caller calls
 * gorgon_interruption_repeat(), which repeats the signal until the thread has taken it.
 * GORGON_ERROR_BUSY: Python is starting or ending. */
struct gorgon_error *gorgon_interrupt_main(struct gorgon_interp *interp);

/* The caller of the functions below holds the GIL. */

/* Give Python the exception type and the signal handler that interrupt threads. On the main thread:
 * setting a handler makes Python handle signals that wait, and on another thread a call would lose
 * the SIGINT that interrupts it. */
struct gorgon_error *gorgon_interrupt_prepare(struct gorgon_interp *interp);
/* The same in a copy of an interpreter that was prepared, where @type is what
 * PyThreadState_SetAsyncExc() gets. */
void gorgon_interrupt_adopt(struct gorgon_interp *interp, void *type);
/* Raise KeyboardInterrupt on @thread, in bytecode or in a blocking call. Nothing happens if Python
 * does not know the thread, or it has not taken the last interrupt yet. */
void gorgon_interrupt_thread(struct gorgon_interp *interp, pthread_t thread);
/* Raise KeyboardInterrupt on each thread that code of the interpreter has started. */
struct gorgon_error *gorgon_interrupt_own_threads(struct gorgon_interp *interp);
/* Whether there are such threads; any thread, no GIL. */
bool gorgon_interrupt_has_own_threads(const struct gorgon_interp *interp);
/* Have the main thread call @function, a Python object, as soon as it runs Python, also if it waits
 * in a blocking call, which goes on then. A function that was not called yet is forgotten. */
void gorgon_interrupt_call_on_main(struct gorgon_interp *interp, void *function);
/* Take back an interrupt that has not arrived on the calling thread yet. */
void gorgon_interrupt_take_back(struct gorgon_interp *interp);

/* The calling thread is not shielded any more: interrupts that came meanwhile come now. With the
 * GIL. */
void gorgon_interrupt_catch_up(struct gorgon_interp *interp);

#endif
