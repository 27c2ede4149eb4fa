/* SPDX-License-Identifier: MIT */
/* The test program's end of what modules report: see helpers.c. */
#ifndef MODULES_NOTE_H
#define MODULES_NOTE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Append @what and a space to the program's record. */
void test_note(const char *what);

#ifdef __cplusplus
}
#endif

#endif
