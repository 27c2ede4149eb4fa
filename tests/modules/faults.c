// SPDX-License-Identifier: MIT
// Faults of each kind, in exported functions with a caller each, whose names a report can show.

#define _GNU_SOURCE
#include "machine.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone, visibility("default")))

// Written after each call, so that the compiler makes no call a jump.
static volatile int after;

KEPT int fault_write_here(volatile int *p)
{
	*p = 1;
	return ++after;
}

KEPT int fault_write(void)
{
	int ret = fault_write_here(NULL);

	after++;
	return ret;
}

KEPT int fault_divide(int by)
{
	return 7 / by + after;
}

KEPT int fault_instruction(void)
{
	__asm__ volatile(TEST_ASM_INVALID);
	return after;
}

// Reads a page of a file that has become shorter.
KEPT int fault_bus(void)
{
	int fd = memfd_create("empty", 0);
	const volatile char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	return *p + after;
}

KEPT int fault_abort(void)
{
	abort();
	return after;
}

KEPT int fault_raise(int number)
{
	raise(number);
	return ++after;
}

KEPT int fault_recurse(int depth)
{
	int (*volatile again)(int) = fault_recurse; // The compiler would warn of a call that never ends.
	volatile char block[1000];

	block[depth % 1000] = 1;
	return again(depth + 1) + block[0];
}

KEPT int fault_call_nothing(void)
{
	int (*volatile nothing)(void) = (int (*)(void))0x10;
	int ret = nothing();

	after++;
	return ret;
}

// Destroys all words of the stack above this function.
KEPT int fault_lose_stack(void)
{
	__asm__ volatile(TEST_ASM_LOSE_STACK ::: "memory");
	return after;
}

static void write_again(int number)
{
	(void)number;
	after++;
}

// The program's own handler deals with the signal.
KEPT int fault_handled(void)
{
	signal(SIGFPE, write_again);
	raise(SIGFPE);
	return after;
}
