/* SPDX-License-Identifier: MIT */
/*
 * What the loader's tests share: asserting errors, comparing what the process holds
 * before and after, where the modules are, and the record that modules write to.
 */
#ifndef TESTS_HELPERS_H
#define TESTS_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../loader/gorgon.h"
#include "skip.h"

/* Visible to modules although this program's symbols are hidden. */
#define TEST_EXPORT __attribute__((visibility("default")))

/* The runtime of a sanitizer has an allocator of its own: the sizes of the heap and of anonymous
 * mappings mean nothing, and some runtimes do not survive a fork among threads. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

/* TEST_TURN: the body of an endless loop in Python, after "import time". TEST_LOOP: statements that never end.
 * (The thread sanitizer delivers signals only in functions of the C library that it knows.) */
#ifdef __SANITIZE_THREAD__
#define TEST_TURN "time.sleep(0)"
#else
#define TEST_TURN "pass"
#endif
#define TEST_LOOP "import time\nwhile True: " TEST_TURN "\n"

/* --- errors ----------------------------------------------------------------- */

/* @err has @code and its message contains @text. Prints the message when not. Destroys it. */
#define assert_error(err, code, text) test_assert_error(err, code, text, __FILE__, __LINE__)
void test_assert_error(struct gorgon_error *err, enum gorgon_error_code code, const char *text,
		       const char *file, int line);

/* @err is NULL; prints its message when not. */
#define assert_ok(err) test_assert_ok(err, __FILE__, __LINE__)
void test_assert_ok(struct gorgon_error *err, const char *file, int line);

/*
 * Run a group three times, but its first @once cases only the first time. What the first run has loaded is kept, the second
 * run makes plans of its bindings (load/plan.c), and the third run uses the plans. The names of cases say which run it is.
 */
int test_run_with_plans(const char *group, const struct CMUnitTest *tests, size_t count, size_t once);

/* --- what the process holds ----------------------------------------------------- */

/* Everything that a load may leave behind. */
struct test_snapshot {
	size_t file_maps;  /* mappings of libraries and of thunks */
	size_t anon_bytes; /* mapped without a name; 0 with a sanitizer, whose own mappings grow */
	size_t fds;
	size_t images;	   /* in the loader's cache */
	size_t jit_entries;
	uint32_t namespaces, objects; /* in the debug root */
};

struct test_snapshot test_snapshot(void);

/* A test before which all that is kept of earlier tests is dropped. */
#define fresh_unit_test(name) cmocka_unit_test_setup(name, test_trim)
int test_trim(void **state);

/* The process holds what it held when @before was taken. */
#define assert_unchanged(before) test_assert_unchanged(before, __FILE__, __LINE__)
void test_assert_unchanged(const struct test_snapshot *before, const char *file, int line);

/* --- files -------------------------------------------------------------------------- */

/* Absolute name of a test module, `libbasic.so`; valid for the next fifteen calls. */
const char *test_module(const char *name);

/* A new name in a directory that goes at exit; valid for the next fifteen calls. */
const char *test_temp(const char *name);

/* Read or write a whole file. Reading allocates. */
uint8_t *test_read(const char *path, size_t *size);
void test_write(const char *path, const void *data, size_t size);

/* Run a shell command; its exit status, or 128 when it was killed. */
int test_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Run @fn in a forked child, which ends with what it returns. The status, or -signal. */
int test_in_child(int (*fn)(void *arg), void *arg);

/* --- namespaces ----------------------------------------------------------------------- */

/* A group's set-up: load and unload once, so that what stays for good (shared libraries
 * of the system) is there before anything is compared. */
int test_warm_up(void **state);

struct gorgon_ns *test_ns(void);
void test_ns_destroy(struct gorgon_ns *ns);
/* gorgon_object_open() that must succeed, of a test module. */
struct gorgon_object *test_open(struct gorgon_ns *ns, const char *module);
/* A symbol that must exist. Use as: SYMBOL(object, int (*)(void), "name")(). */
void *test_symbol(struct gorgon_object *object, const char *name);
#define SYMBOL(object, type, name) ((type)test_symbol(object, name))

/* gorgon_keep() with these limits. */
void test_keep(uint64_t file_bytes, uint64_t memory_bytes, unsigned seconds);

/* A leak checker is in this process: CPython's table of built-in modules, which it grows
 * for `gorgon` and frees when a program ends, is no leak of ours when none was run. */
void test_ignore_inittab(struct gorgon_interp *interp);
/* gorgon_interp_create() that must succeed. */
struct gorgon_interp *test_interp_create(const struct gorgon_interp_opts *opts);
/* test_interp_create() and gorgon_interp_start(), which must succeed, too. */
struct gorgon_interp *test_interp_start(const struct gorgon_interp_opts *opts,
					const struct gorgon_start_opts *start_opts);
/* true: from now on hide what this thread allocates from a leak checker; false: do so no more. */
void test_hide_leaks(bool hide);
/* gorgon_interp_main(), with its memory hidden from a leak checker: memory that CPython keeps for the
 * life of the process becomes unreachable when the copy is unmapped. */
struct gorgon_error *test_interp_main(struct gorgon_interp *interp, int argc,
				      const char *const *argv, int *status);

/* --- the modules' record ---------------------------------------------------------------- */

/* Called by modules. */
TEST_EXPORT void test_note(const char *what);
/* The notes since the last call, each followed by a space. Valid until the next call. */
const char *test_notes(void);
/* Write the notes so far to @fd, and from now on each note at once. */
void test_notes_go_to(int fd);

#endif
