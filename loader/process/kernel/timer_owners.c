// SPDX-License-Identifier: MIT
// Whose the timers of the kernel are.
//
// The kernel says of a timer's signal which timer has sent it. Entries of the table stay for good
// and are used again: a signal may arrive after its timer has gone, and then still is for the
// timer's view, or for nobody.

#define _GNU_SOURCE
#include "timer_owners.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

struct timer {
	struct timer *next;
	int id;                      // the kernel's, or -1; atomic
	struct gorgon_signals *view; // NULL: it has gone; atomic
	bool alive;
};

#define DEAD_TIMERS 8 // entries of deleted timers that a view has before one of them is used again

static struct timer *timers; // atomic

// An entry for a timer that the kernel has just given this number: the entry of an old timer with
// that number, an entry without a view, the oldest entry of a deleted timer of the view when it has
// many, or NULL.
static struct timer *find_free(const struct gorgon_signals *view, int id)
{
	struct timer *nobodys = NULL, *dead = NULL;
	size_t count = 0;

	for (struct timer *timer = timers; timer; timer = timer->next) {
		if (timer->id == id)
			return timer;
		if (!timer->view)
			nobodys = timer;
		if (timer->view != view || timer->alive)
			continue;
		count++;
		if (!dead || timer->id < dead->id) // numbers grow
			dead = timer;
	}
	return nobodys ?: count < DEAD_TIMERS ? NULL : dead;
}

// Entries come in pages from mmap(): setitimer() may be called in a signal handler, where malloc()
// may not.
static struct timer *owners_grow(void)
{
	static struct timer few[16];
	size_t size = timers ? (size_t)getpagesize() : sizeof(few),
	       count = size / sizeof(struct timer);
	struct timer *list = few;

	if (timers)
		list = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (list == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		list[i].id = -1;
		list[i].next = i + 1 < count ? &list[i + 1] : timers;
	}
	__atomic_store_n(&timers, list, __ATOMIC_RELEASE);
	return list;
}

bool gorgon_timer_owners_add(struct gorgon_signals *view, int id)
{
	struct timer *timer = find_free(view, id) ?: owners_grow();

	if (!timer)
		return false;
	// A dispatcher must not take the entry for the new timer's while it is still the old
	// timer's.
	__atomic_store_n(&timer->id, -1, __ATOMIC_RELEASE);
	timer->alive = true;
	__atomic_store_n(&timer->view, view, __ATOMIC_RELEASE);
	__atomic_store_n(&timer->id, id, __ATOMIC_RELEASE);
	return true;
}

void gorgon_timer_owners_end(const struct gorgon_signals *view, int id)
{
	for (struct timer *timer = timers; timer; timer = timer->next)
		if (timer->id == id && timer->view == view)
			timer->alive = false;
}

void gorgon_timer_owners_drop(const struct gorgon_signals *view)
{
	for (struct timer *timer = timers; timer; timer = timer->next)
		if (timer->view == view)
			__atomic_store_n(&timer->view, NULL, __ATOMIC_RELEASE);
}

void gorgon_timer_owners_forget(void)
{
	for (struct timer *timer = timers; timer; timer = timer->next) {
		timer->id = -1;
		timer->view = NULL;
	}
}

bool gorgon_timer_owners_find(siginfo_t *info, struct gorgon_signals **view)
{
	const struct timer *timer = __atomic_load_n(&timers, __ATOMIC_ACQUIRE);

	while (timer && __atomic_load_n(&timer->id, __ATOMIC_ACQUIRE) != info->si_timerid)
		timer = timer->next;
	if (!timer)
		return false;
	*view = __atomic_load_n(&timer->view, __ATOMIC_ACQUIRE);
	info->si_code = SI_KERNEL;
	info->si_timerid = 0;
	info->si_overrun = 0;
	info->si_value.sival_ptr = NULL;
	return true;
}
