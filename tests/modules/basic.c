// SPDX-License-Identifier: MIT
// Data, functions, a constructor and a destructor: the plain case. Also built with
// DT_RELR, with DT_HASH only, and for pages of 2 MB.

#include "note.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

extern int nobody_has_this(void) __attribute__((weak));

EXPORT int basic_value = 41;
EXPORT int basic_zero[5000];
EXPORT const char basic_text[] = "private text";

static int hidden_value = 7;

// Relative relocations, one after the other: what DT_RELR packs.
EXPORT int *const basic_table[] = {
	&basic_value, &basic_zero[0], &basic_zero[1], &basic_zero[4999], &hidden_value,
	&basic_value, &basic_zero[2], &hidden_value,  &basic_zero[3],	 NULL,
};

EXPORT int basic_next(void);
EXPORT int basic_sum(int a, int b);
EXPORT int basic_call(int (*fn)(void *), void *arg);
EXPORT int basic_has_weak(void);
EXPORT int *basic_hidden(void);

int basic_next(void)
{
	return ++basic_value;
}

int basic_sum(int a, int b)
{
	return a + b;
}

int basic_call(int (*fn)(void *), void *arg)
{
	return fn(arg) + 1;
}

int basic_has_weak(void)
{
	return nobody_has_this != NULL;
}

int *basic_hidden(void)
{
	return &hidden_value;
}

__attribute__((constructor)) static void start(void)
{
	test_note("+basic");
}

__attribute__((destructor)) static void stop(void)
{
	test_note("-basic");
}
