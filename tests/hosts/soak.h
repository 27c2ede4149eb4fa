/* SPDX-License-Identifier: MIT */
/* What soak.c and soak_calls.c share. */
#ifndef TESTS_SOAK_H
#define TESTS_SOAK_H

#include <gorgon.h>
#include <stdatomic.h>

extern const char *soak_file;
extern atomic_uint soak_cycles; /* interpreters created */

/* A failure ends the soak. */
void soak_fail(const char *what);
/* Whether there was an error, which is a failure. Destroys the error. */
bool soak_failed(struct gorgon_error *err);

/* --- soak_calls.c ------------------------------------------------------------ */

/* Do one thing, chosen at random, with one of the interpreters that all threads use. */
void soak_call(unsigned *random);
/* Destroy the interpreters. No other thread is left. */
void soak_end_calls(void);

#endif
