/* SPDX-License-Identifier: MIT */
/* The test program's end of what modules report: see helpers.c and compare.c. */
#ifndef MODULES_NOTE_H
#define MODULES_NOTE_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Append @what and a space to the program's record. */
void test_note(const char *what);

/* Run @fn on another thread: one older than the module, or a new one. */
void test_on_old_thread(void (*fn)(void));
void test_on_new_thread(void (*fn)(void));

/* The same for "what=value". */
static inline void note_value(const char *what, long value)
{
	char text[128];

	snprintf(text, sizeof(text), "%s=%ld", what, value);
	test_note(text);
}

#ifdef __cplusplus
}
#endif

#endif
