/* SPDX-License-Identifier: MIT */
/* What the two soaks share. See soak.c. */
#ifndef TESTS_SOAK_H
#define TESTS_SOAK_H

#include <gorgon.h>
#include <stdatomic.h>

extern const char *soak_file;
extern atomic_uint soak_cycles; /* interpreters created */

/* A failure ends the soak. */
void soak_fail(const char *what);
/* Whether there was an error, which is one. Destroys it. */
bool soak_failed(struct gorgon_error *err);

/* --- soak_calls.c ------------------------------------------------------------ */

/* One thing to do with one of the interpreters that all threads use. */
void soak_call(unsigned *random);
/* Destroy them. No other thread is left. */
void soak_end_calls(void);

#endif
