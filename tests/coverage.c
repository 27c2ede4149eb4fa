// SPDX-License-Identifier: MIT
// What each program and library of a build that measures coverage has: gcc writes its counters at exit() only. Here a
// process writes them that ends by _exit(), as forked children do, or by abort().

#include <stdlib.h>

void __gcov_dump(void);
void __gcov_reset(void);

void __real__exit(int status) __attribute__((noreturn));
void __real_abort(void) __attribute__((noreturn));
__attribute__((visibility("hidden"))) void __wrap__exit(int status);
__attribute__((visibility("hidden"))) void __wrap_abort(void);

// The memory may be the parent's (vfork()), which goes on counting and writes at its own end.
static void write_counters(void)
{
	__gcov_dump();
	__gcov_reset();
}

void __wrap__exit(int status)
{
	write_counters();
	__real__exit(status);
}

void __wrap_abort(void)
{
	write_counters();
	__real_abort();
}
