/* SPDX-License-Identifier: MIT */
/*
 * Side by side with the system's linker: each case runs twice, in two forked children,
 * once with modules that dlopen() loads and once with modules that this library loads.
 * What a case records as text must be the same, or the table says what is recorded
 * instead and why that is right.
 */
#ifndef TESTS_COMPARE_H
#define TESTS_COMPARE_H

#include "helpers.h"

/* One of the two linkers. When a call other than find() fails, the child ends, with the reason in the record. */
struct linker {
	const char *name;
	/* The error's text, or NULL and the handle in @ret. @flags: RTLD_GLOBAL or 0. */
	const char *(*open)(const char *path, int flags, void **ret);
	void *(*find)(void *handle, const char *symbol);
	void (*close)(void *handle);
	/* exit(), or the end of the namespace; then the case is over. */
	void (*end)(void);
};

struct compare_case {
	const char *name; /* as other cases: subject, condition, outcome */
	/* What to do. Without it: open @module, call its @probe, close it. */
	void (*run)(const struct linker *linker);
	const char *module, *probe;
	const char *share; /* a library that a private namespace shares with the system */

	/*
	 * The case depends on who calls dlopen(), or ends with exit(). A sanitizer's runtime stands between a
	 * module and the system's linker and runs at the end, so with a sanitizer the case runs only under our
	 * linker.
	 */
	bool by_caller;

	const char *says; /* what the case records under the system's linker, and under ours, too */
	/* Where ours differs: what it records, and why. */
	const char *private_says, *why;
};

/* A group of cases, as main() returns it. */
int compare_run(const char *group, const struct compare_case *cases, size_t count);
#define COMPARE_RUN(group, cases) compare_run(group, cases, sizeof(cases) / sizeof(*(cases)))

/* --- for cases --------------------------------------------------------------------- */

/* Append a word to the record, in printf's manner. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Open a test module that must load; find a symbol that must exist. */
void *compare_open(const struct linker *linker, const char *module, int flags);
void *compare_find(const struct linker *linker, void *handle, const char *symbol);
#define FIND(linker, handle, type, symbol) ((type)compare_find(linker, handle, symbol))
/* Open a module that may fail to load: records "loaded" or "refused", and returns the handle or NULL. */
void *compare_try(const struct linker *linker, const char *path);

/* Run @fn on a thread that was there before anything was loaded, or on a new one, and
 * wait for it. Modules call them too. */
TEST_EXPORT void test_on_old_thread(void (*fn)(void));
TEST_EXPORT void test_on_new_thread(void (*fn)(void));

#endif
