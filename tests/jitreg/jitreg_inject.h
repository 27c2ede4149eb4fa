/* SPDX-License-Identifier: MIT */
#ifndef TESTS_JITREG_INJECT_H
#define TESTS_JITREG_INJECT_H

/* Calls that fail: a test program includes this once, and the Makefile links it with --wrap for
 * each of the calls. WRAP() adds calls of its own. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The call with the number @fail_at fails, counting from 1; 0: no call fails. */
static long call_count, fail_at;

static bool fails(void)
{
	return fail_at && ++call_count == fail_at;
}

#define WRAP(type, name, params, args, failure, error)                                             \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		if (fails()) {                                                                     \
			errno = error;                                                             \
			return failure;                                                            \
		}                                                                                  \
		return __real_##name args;                                                         \
	}

WRAP(void *, malloc, (size_t a), (a), NULL, ENOMEM)
WRAP(void *, calloc, (size_t a, size_t b), (a, b), NULL, ENOMEM)
WRAP(void *, realloc, (void *a, size_t b), (a, b), NULL, ENOMEM)
WRAP(void *, reallocarray, (void *a, size_t b, size_t c), (a, b, c), NULL, ENOMEM)
WRAP(char *, strdup, (const char *a), (a), NULL, ENOMEM)
WRAP(void *, mmap, (void *a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f),
     MAP_FAILED, ENOMEM)
WRAP(int, mprotect, (void *a, size_t b, int c), (a, b, c), -1, ENOMEM)
WRAP(int, memfd_create, (const char *a, unsigned b), (a, b), -1, EMFILE)
WRAP(ssize_t, pread, (int a, void *b, size_t c, off_t d), (a, b, c, d), -1, EIO)

#endif
