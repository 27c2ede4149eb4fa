// SPDX-License-Identifier: MIT
// Times in which a thread must not be interrupted.
//
// importlib takes its locks in Python code, and gives them back in Python code. An exception
// between the call that takes a lock and the `try` behind it would leave the lock held for good.
// So python/calls/import_locks.c says when a thread begins to take such a lock, and when it has
// given it back or will do so whatever happens. Meanwhile nobody sets an asynchronous exception
// for the thread, and a SIGINT for its Python is kept. An interrupt of the main thread stays
// where it is, and that it is there is kept. All come when the shield ends.
//
// A thread that waits for a lock of a module, which another thread imports, may be interrupted in
// the blocking call itself: it does not have the lock then. With a whole shield it may not.
//
// A thread writes its own counts; another thread reads them with the GIL, which the thread had
// when it wrote them.

#include "shield.h"

#include <stddef.h>

static void shield_add(bool whole, unsigned change)
{
	struct gorgon_thread *thread = gorgon_thread_peek();

	if (!thread)
		return;
	__atomic_add_fetch(&thread->shields.whole, whole ? change : 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&thread->shields.all, change, __ATOMIC_RELAXED);
}

void gorgon_shield_begin(bool whole)
{
	shield_add(whole, 1);
}

void gorgon_shield_end(bool whole)
{
	shield_add(whole, -1u);
}

bool gorgon_shield_is_up(const struct gorgon_thread *thread)
{
	thread = thread ?: gorgon_thread_peek();
	return thread && __atomic_load_n(&thread->shields.all, __ATOMIC_RELAXED);
}

bool gorgon_shield_is_whole(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	return thread && __atomic_load_n(&thread->shields.whole, __ATOMIC_RELAXED);
}

bool gorgon_shield_keeps_sigint(void)
{
	if (!gorgon_shield_is_up(NULL))
		return false;
	__atomic_store_n(&gorgon_thread_peek()->shields.sigint, true, __ATOMIC_RELAXED);
	return true;
}

bool gorgon_shield_keeps_interrupt(void)
{
	if (!gorgon_shield_is_up(NULL))
		return false;
	__atomic_store_n(&gorgon_thread_peek()->shields.interrupt, true, __ATOMIC_RELAXED);
	return true;
}

bool gorgon_shield_has_kept(void)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	return thread && (__atomic_load_n(&thread->shields.sigint, __ATOMIC_RELAXED) ||
			  __atomic_load_n(&thread->shields.interrupt, __ATOMIC_RELAXED));
}

bool gorgon_shield_take_sigint(void)
{
	struct gorgon_thread *thread = gorgon_thread_peek();

	return gorgon_shield_has_kept() &&
	       __atomic_exchange_n(&thread->shields.sigint, false, __ATOMIC_RELAXED);
}

bool gorgon_shield_take_interrupt(void)
{
	struct gorgon_thread *thread = gorgon_thread_peek();

	return gorgon_shield_has_kept() &&
	       __atomic_exchange_n(&thread->shields.interrupt, false, __ATOMIC_RELAXED);
}

struct gorgon_shields gorgon_shields_enter(void)
{
	struct gorgon_thread *thread = gorgon_thread_peek();
	struct gorgon_shields none = {0}, before = none;

	if (thread) {
		before = thread->shields;
		thread->shields = none;
	}
	return before;
}

void gorgon_shields_leave(struct gorgon_shields before)
{
	struct gorgon_thread *thread = gorgon_thread_peek();

	if (thread)
		thread->shields = before;
}
