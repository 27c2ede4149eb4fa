// SPDX-License-Identifier: MIT
// Which children each namespace has: the list.
//
// The kernel knows children of a process, and wait() takes any: one interpreter would take
// another's child, whose own waitpid() then fails and which CPython reports as status 0. So each
// child that private code makes by fork(), vfork(), posix_spawn() and their relatives is noted,
// and waiting is about a namespace's own (children_wait.c).
//
// Children of clone(2), syscall(2) and popen() are not noted, because no call says which child was
// made, nor are those of _Fork(), which no library that comes with a package of Python imports.
// (pclose() waits for popen()'s.) waitpid() for such a child by its number gives the kernel's
// answer.
//
// When a program ends, its children live on, as children of a process do. Children that have ended
// by then are waited for; the others become orphans, and the thread of children_watch.c waits for
// them as init does. Children of a program that ignores SIGCHLD are orphans from the beginning.
//
// The host's own wait() may take a child of a program. The child is forgotten when the kernel does
// not know it any more.
//
// In a forked child, all children belong to the program that goes on there: wait() gives it the
// kernel's answers.
//
// `lock` is a leaf. wait() may be called in signal handlers and a child be made there: signals are
// blocked while it is held, and records come from pages of our own, which are used again.

#define _GNU_SOURCE
#include "children.h"
#include "base/masked_lock.h"
#include "ns/ns.h"
#include "signals.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct record {
	struct record *next, *prev;
	struct gorgon_children *owner; // NULL: an orphan
	struct gorgon_child child;
	bool told;     // its owner has been told of its end
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t before_fork; // the forking thread's mask, under `lock`
static struct record *first, *last; // ordered by serial
static struct record *unused;
static struct record few[32]; // the first records; more come from mmap()
static uint64_t serials;
static bool watched;	// the thread exists
static pid_t watcher;	// its number, once it has looked

static void add_unused(struct record *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		list[i].next = unused;
		unused = &list[i];
	}
}

static bool children_grow(void)
{
	size_t size = (size_t)getpagesize();
	struct record *list;

	if (!serials) {
		add_unused(few, sizeof(few) / sizeof(*few));
		return true;
	}
	list = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (list == MAP_FAILED)
		return false;
	add_unused(list, size / sizeof(*list));
	return true;
}

static struct record *add_record(struct gorgon_children *owner, pid_t pid)
{
	struct record *record = unused;

	if (!record && !children_grow())
		return NULL;
	record = unused;
	unused = record->next;
	*record = (struct record){
		.prev = last, .owner = owner, .child = {.pid = pid, .serial = ++serials}};
	*(last ? &last->next : &first) = record;
	last = record;
	return record;
}

static void remove_record(struct record *record)
{
	*(record->prev ? &record->prev->next : &first) = record->next;
	*(record->next ? &record->next->prev : &last) = record->prev;
	record->next = unused;
	unused = record;
}

static struct record *find_record(pid_t pid)
{
	struct record *record = last; // programs ask most for the newest child

	while (record && record->child.pid != pid)
		record = record->prev;
	return record;
}

static struct record *find_child(struct gorgon_child child)
{
	struct record *record = find_record(child.pid);

	return record && record->child.serial == child.serial ? record : NULL;
}

static bool is_wanted(const struct record *record)
{
	return !record->owner || record->child.unwanted ||
	       (record->owner->waiting && !record->told);
}

static void children_wake(struct gorgon_children *children)
{
	__atomic_add_fetch(&children->ended, 1, __ATOMIC_RELEASE);
	if (children->waiting)
		syscall(SYS_futex, &children->ended, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool gorgon_children_are_ours(const struct gorgon_children *children)
{
	return __atomic_load_n(&children->pid, __ATOMIC_RELAXED) == getpid();
}

bool gorgon_children_list_add(struct gorgon_children *children, pid_t pid, bool *wanted)
{
	bool unwanted = children->ns && gorgon_signals_ignores(children->ns->signals, SIGCHLD);
	struct record *record;
	bool added;
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	record = find_record(pid);
	if (record) // the old child of that number has been waited for, as the kernel uses it again
		remove_record(record);
	record = add_record(children, pid);
	added = record;
	if (added)
		record->child.unwanted = unwanted;
	*wanted = added && is_wanted(record);
	if (*wanted)
		children_wake(children);
	gorgon_masked_unlock(&lock, &saved);
	return added;
}

void gorgon_children_note_unknown(struct gorgon_children *children, pid_t pid)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	if (!find_record(pid))
		add_record(children, pid);
	gorgon_masked_unlock(&lock, &saved);
}

void gorgon_children_forget(struct gorgon_child child)
{
	struct record *record;
	sigset_t saved;

	if (!child.serial)
		return;
	gorgon_masked_lock(&lock, &saved);
	record = find_child(child);
	if (record)
		remove_record(record);
	gorgon_masked_unlock(&lock, &saved);
}

struct gorgon_children *gorgon_children_owner(pid_t pid, struct gorgon_child *ret)
{
	struct gorgon_children *owner = NULL;
	const struct record *record;
	sigset_t saved;

	*ret = (struct gorgon_child){0};
	gorgon_masked_lock(&lock, &saved);
	record = find_record(pid);
	if (record) {
		*ret = record->child;
		owner = record->owner;
	}
	gorgon_masked_unlock(&lock, &saved);
	return owner;
}

size_t gorgon_children_list(const struct gorgon_children *children, uint64_t after,
			    struct gorgon_child *list, size_t count)
{
	size_t n = 0;
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	for (const struct record *record = first; record && n < count; record = record->next)
		if (record->owner == children && record->child.serial > after)
			list[n++] = record->child;
	gorgon_masked_unlock(&lock, &saved);
	return n;
}

size_t gorgon_children_wanted(struct gorgon_child *list, size_t count)
{
	size_t n = 0;
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	watcher = gettid();
	for (const struct record *record = first; record; record = record->next) {
		if (!is_wanted(record))
			continue;
		if (n < count)
			list[n] = record->child;
		n++;
	}
	if (!n) {
		watcher = 0;
		watched = false;
	}
	gorgon_masked_unlock(&lock, &saved);
	return n;
}

bool gorgon_children_tell_end(struct gorgon_child child)
{
	struct record *record;
	bool nobodys = false;
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	record = find_child(child);
	if (record) {
		struct gorgon_children *owner = record->owner;

		nobodys = !owner || record->child.unwanted;
		record->told = true;
		if (owner)
			children_wake(owner);
	}
	gorgon_masked_unlock(&lock, &saved);
	return nobodys;
}

void gorgon_children_list_sleeping(struct gorgon_children *children, int change)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	children->waiting += (unsigned)change;
	gorgon_masked_unlock(&lock, &saved);
}

bool gorgon_children_list_claim_watch(void)
{
	sigset_t saved;
	bool start;

	gorgon_masked_lock(&lock, &saved);
	start = !watched;
	watched = true;
	if (watcher)
		syscall(SYS_tgkill, getpid(), watcher, SIGURG);
	gorgon_masked_unlock(&lock, &saved);
	return start;
}

void gorgon_children_list_give_watch_up(void)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	watched = false;
	gorgon_masked_unlock(&lock, &saved);
}

bool gorgon_children_list_orphan(struct gorgon_child child)
{
	struct record *record;
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	record = find_child(child);
	if (record)
		record->owner = NULL;
	gorgon_masked_unlock(&lock, &saved);
	return record;
}

void gorgon_children_list_before_fork(void)
{
	gorgon_masked_lock(&lock, &before_fork);
}

// A forked child has none of its parent's children, nor the thread.
void gorgon_children_list_after_fork(bool child)
{
	sigset_t saved = before_fork;

	while (child && first)
		remove_record(first);
	if (child) {
		watched = false;
		watcher = 0;
	}
	gorgon_masked_unlock(&lock, &saved);
}
