/* SPDX-License-Identifier: MIT */
/**
 * @file
 * What the tests of jitreg share: a temporary directory with libraries of every
 * kind, and counts of what a failed call must not leave behind.
 */
#ifndef JITREG_UTIL_H
#define JITREG_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../jitreg/jitreg.h"
#include "skip.h"

/** Source of the library; tests run in the top folder. */
#ifndef JITREG_FIXTURE
#define JITREG_FIXTURE "tests/jitreg/jitreg_fixture.c"
#endif

/** The system's stripped libpython, whose debug file is found by build-id. */
#ifdef __aarch64__
#define SYSTEM_LIB "/usr/lib/aarch64-linux-gnu/"
#else
#define SYSTEM_LIB "/usr/lib/x86_64-linux-gnu/"
#endif
#define SYSTEM_LIBPYTHON SYSTEM_LIB "libpython" TEST_PYTHON ".so.1.0"

/** Make the directory and the libraries in it; removes it at exit. */
int util_setup(void **state);

/** The same, and wait until models of the libraries can be kept: not while the files are only just written. */
int util_setup_settled(void **state);

/** The set-up of a single test: drop what is kept of the tests before it. */
int util_trim(void **state);

/** Path of a file in the directory; valid for the next seven calls. */
const char *util_path(const char *name);

/** Run a shell command in the directory; returns its exit status. */
int util_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Read or write a whole file; reading allocates. */
uint8_t *util_read(const char *path, size_t *size);
void util_write(const char *path, const void *data, size_t size);

size_t util_fd_count(void);

/** Bytes of anonymous memory outside of the heap, which is what symfiles are in. */
size_t util_symfile_bytes(void);

/**
 * Play a debugger: until util_watch_end(), @p fn is called where a debugger would stop, at
 * each call of __jit_debug_register_code. Not under a thread sanitizer, which delivers
 * signals later.
 */
void util_watch(void (*fn)(void));
void util_watch_end(void);

/** The CRC of .gnu_debuglink. */
uint32_t util_crc32(const uint8_t *data, size_t size);

/** Register @p path as if it were mapped at @p bias; nothing is mapped. */
int util_register(const char *path, uint64_t bias, struct jitreg_entry **ret);

#endif
