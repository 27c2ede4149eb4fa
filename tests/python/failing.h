/* SPDX-License-Identifier: MIT */
/*
 * Calls that fail on demand: of the libraries' own code, which is linked statically here, to the C library and to
 * libelf (the linker's --wrap, see FAILING_CALLS in the Makefile). Each call has a place: the source line of the
 * library that makes it.
 */
#ifndef TESTS_FAILING_H
#define TESTS_FAILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call asks for. */
enum failing_kind { FAILING_MEMORY, FAILING_MAPPING, FAILING_UNMAPPING, FAILING_FILE, FAILING_THREAD, FAILING_LIBRARY, FAILING_ELF };

struct failing_call {
	const char *function; /* "malloc" */
	const void *from;     /* where it returns to */
	int number;	      /* errno of the failure */
	enum failing_kind kind;
};

#define FAILING_CALLS_MAX (1 << 19)

/* Lives in memory that is shared with forked children. */
struct failing_record {
	size_t count;
	struct failing_call calls[FAILING_CALLS_MAX];
};

/* Read where this program's functions come from. Before anything else. */
void failing_init(void);

/*
 * From here on calls are counted and recorded. The @n-th fails (0: none), and with
 * @all each further one of the same kind, for the same reason. What code of the folder loader/process/ calls is not counted with
 * @private_runs: it calls on behalf of private code.
 */
void failing_begin(struct failing_record *record, size_t n, bool all, bool private_runs);
void failing_end(void);

/* Go on after failing_end(), as if nothing had been called in between. */
void failing_go_on(void);

/* "loader/load/map.c:120". Valid until the next call. */
const char *failing_place(const void *from);

#endif
