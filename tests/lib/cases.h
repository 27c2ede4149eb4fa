/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include <stddef.h>

/*
 * A case that tries very many things, each call that may fail or each byte of a file, tries each n-th of them. This is n: 1, or
 * what TEST_EVERY in the environment says, for processors that are emulated and take a hundred times as long. Limits of time are that
 * many times as long there.
 */
size_t test_every(void);

#endif
