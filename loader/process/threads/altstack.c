// SPDX-License-Identifier: MIT
// Alternate signal stacks.
//
// CPython's faulthandler gives the thread that enables it a stack out of the interpreter's own
// memory, and at the end puts back what it has found. Two interpreters on one thread do that in
// the wrong order, and an interpreter that is stopped on another thread does it on that thread. So
// a thread is left with freed memory as its stack, and the next SIGINT writes into whatever has it
// by then.
//
// So the stack that private code asks for is made here, for the thread, and stays until the
// thread ends. A thread that has one already, the host's for instance, keeps that.
//
// While faults are reported (faults.c), each thread on which private code runs gets one: a stack
// without room has none for a handler.

#define _GNU_SOURCE
#include "altstack.h"
#include "ns/thread.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE_FOR_REPORTS ((size_t)64 << 10)

static bool wanted; // atomic

void gorgon_altstack_want(bool want)
{
	__atomic_store_n(&wanted, want, __ATOMIC_RELAXED);
}

void gorgon_altstack_provide(struct gorgon_thread *thread)
{
	const stack_t stack = {.ss_size = SIZE_FOR_REPORTS};

	if (!thread || thread->has_altstack || !__atomic_load_n(&wanted, __ATOMIC_RELAXED))
		return;
	// Without memory for it the thread does without.
	gorgon_altstack_set(&stack, NULL);
	thread->has_altstack = true;
}

int gorgon_altstack_set(const stack_t *stack, stack_t *old)
{
	struct gorgon_thread *thread;
	stack_t now;
	void *memory;
	size_t size;

	if (sigaltstack(NULL, &now))
		return -1;
	if (old)
		*old = now;
	if (!stack || stack->ss_flags & SS_DISABLE || !(now.ss_flags & SS_DISABLE))
		return 0;
	thread = gorgon_thread_get();
	// Handlers of this library come to run on it, too. A stack that is too small for any
	// handler is refused by the kernel.
	size = stack->ss_size;
	if (size >= (size_t)sysconf(_SC_MINSIGSTKSZ) && size < SIZE_FOR_REPORTS)
		size = SIZE_FOR_REPORTS;
	memory = thread ? mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)
			: MAP_FAILED;
	if (memory == MAP_FAILED) {
		errno = ENOMEM;
		return -1;
	}
	now = (stack_t){.ss_sp = memory, .ss_size = size};
	if (sigaltstack(&now, NULL)) {
		munmap(memory, size);
		errno = ENOMEM; // the stack asked for is too small
		return -1;
	}
	gorgon_altstack_free(thread); // the kernel says that it is not in use any more
	thread->altstack = memory;
	thread->altstack_size = size;
	return 0;
}

void gorgon_altstack_disable(const struct gorgon_thread *thread)
{
	stack_t now;

	if (thread->altstack && !sigaltstack(NULL, &now) && now.ss_sp == thread->altstack)
		sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}

void gorgon_altstack_free(const struct gorgon_thread *thread)
{
	if (thread->altstack)
		munmap(thread->altstack, thread->altstack_size);
}
