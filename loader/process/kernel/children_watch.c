// SPDX-License-Identifier: MIT
// The thread that sees children end. It waits for orphans itself; when threads of a program wait
// for a child, it wakes them.
//
// It exists only while there are such children, and has a descriptor table of its own: descriptors
// of a process that it watches (pidfd_open(2)) are in nobody's way, nobody closes them, and it
// keeps no file of the program open. All signals are blocked in it. SIGURG to this thread alone,
// which waits in a signalfd, lets it look again: no other thread could write to a descriptor of its
// own.
//
// When there are more children than descriptors that it may have, it asks for the others every
// AGAIN_MS.

#define _GNU_SOURCE
#include "children.h"

#include <linux/close_range.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AGAIN_MS 50 // how often it asks for children that cannot be watched

// What is watched: descriptors[0] is the signalfd's, the others are of children.
struct watch {
	struct gorgon_child *children, *wanted;
	struct pollfd *descriptors;
	size_t count, capacity;
};

static int open_pid(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool watch_grow(struct watch *watch, size_t count)
{
	struct gorgon_child *children, *wanted;
	struct pollfd *descriptors;

	if (count <= watch->capacity)
		return true;
	count += 16;
	if ((children = reallocarray(watch->children, count, sizeof(*children))))
		watch->children = children;
	if ((wanted = reallocarray(watch->wanted, count, sizeof(*wanted))))
		watch->wanted = wanted;
	if ((descriptors = reallocarray(watch->descriptors, count + 1, sizeof(*descriptors))))
		watch->descriptors = descriptors;
	if (!children || !wanted || !descriptors)
		return false;
	watch->capacity = count;
	return true;
}

static void close_child(struct watch *watch, size_t i)
{
	if (watch->descriptors[i + 1].fd >= 0)
		close(watch->descriptors[i + 1].fd);
	watch->count--;
	memmove(&watch->children[i], &watch->children[i + 1],
		(watch->count - i) * sizeof(*watch->children));
	memmove(&watch->descriptors[i + 1], &watch->descriptors[i + 2],
		(watch->count - i) * sizeof(*watch->descriptors));
}

static void add_child(struct watch *watch, struct gorgon_child child)
{
	watch->children[watch->count++] = child;
	watch->descriptors[watch->count] = (struct pollfd){open_pid(child.pid), POLLIN, 0};
}

// Make the watched children the wanted ones. Both lists are sorted by serial.
static void watch_update(struct watch *watch, size_t count)
{
	size_t i = 0, n = 0;

	while (i < watch->count) {
		while (n < count && watch->wanted[n].serial < watch->children[i].serial)
			n++;
		if (n < count && watch->wanted[n].serial == watch->children[i].serial)
			i++;
		else
			close_child(watch, i);
	}
	n = 0;
	for (i = 0; n < count; n++) {
		if (i < watch->count && watch->children[i].serial == watch->wanted[n].serial)
			i++;
		else if (!watch->count ||
			 watch->wanted[n].serial > watch->children[watch->count - 1].serial)
			add_child(watch, watch->wanted[n]), i = watch->count;
	}
}

// An older child is wanted again: begin anew with all of them.
static bool is_complete(const struct watch *watch, size_t count)
{
	return watch->count == count;
}

static void close_all(struct watch *watch)
{
	while (watch->count)
		close_child(watch, watch->count - 1);
}

// The child has ended, or the host has waited for it.
static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

static void watch_look(struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		struct gorgon_child child = watch->children[i];
		siginfo_t info;

		if (watch->descriptors[i + 1].fd >= 0 ? !watch->descriptors[i + 1].revents
						      : !has_ended(child.pid))
			continue;
		if (gorgon_children_tell_end(child)) {
			waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOHANG);
			// Not before: its owner would have its status, as of a child that nobody
			// knows.
			gorgon_children_forget(child);
		}
	}
}

static void watch_drain(int descriptor)
{
	struct signalfd_siginfo info;

	while (read(descriptor, &info, sizeof(info)) > 0)
		continue;
}

static bool all_are_open(const struct watch *watch)
{
	for (size_t i = 0; i <= watch->count; i++)
		if (watch->descriptors[i].fd < 0)
			return false;
	return true;
}

// The thread's loop, until no child is wanted.
static void watch_run(struct watch *watch)
{
	size_t count;
	bool all;

	while ((count = gorgon_children_wanted(watch->wanted, watch->capacity))) {
		all = count <= watch->capacity;
		if (!all && watch_grow(watch, count))
			continue; // ask for the children that could not be watched
		count = all ? count : watch->capacity;
		watch_update(watch, count);
		if (!is_complete(watch, count)) {
			close_all(watch);
			watch_update(watch, count);
		}
		all &= all_are_open(watch);
		if (poll(watch->descriptors, watch->count + 1, all ? -1 : AGAIN_MS) >= 0)
			watch_look(watch);
		watch_drain(watch->descriptors[0].fd);
	}
}

// Leave the program's current directory, which could not be unmounted otherwise.
static void leave_folder(void)
{
	if (!unshare(CLONE_FS))
		(void)!chdir("/");
}

static void *watch_children(void *arg)
{
	struct watch watch = {0};
	sigset_t set;

	(void)arg;
	pthread_setname_np(pthread_self(), "gorgon-children");
	close_range(0, ~0U, CLOSE_RANGE_UNSHARE);
	leave_folder();
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	while (!watch_grow(&watch, 1))
		usleep(AGAIN_MS * 1000);
	watch.descriptors[0] =
		(struct pollfd){signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), POLLIN, 0};
	watch_run(&watch);
	close_all(&watch);
	close(watch.descriptors[0].fd);
	free(watch.children);
	free(watch.wanted);
	free(watch.descriptors);
	return NULL;
}

// Returns 0 or an error number.
static int start_watching(void)
{
	sigset_t all, saved;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if ((err = pthread_attr_init(&attr)))
		return err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &saved);
	err = pthread_create(&thread, &attr, watch_children, NULL);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

bool gorgon_children_watch(void)
{
	if (!gorgon_children_list_claim_watch() || !start_watching())
		return true;
	gorgon_children_list_give_watch_up();
	return false;
}

bool gorgon_children_note(struct gorgon_children *children, pid_t pid)
{
	bool wanted, added = gorgon_children_list_add(children, pid, &wanted);

	if (wanted)
		gorgon_children_watch();
	return added;
}

bool gorgon_children_sleep(struct gorgon_children *children)
{
	gorgon_children_list_sleeping(children, 1);
	return gorgon_children_watch();
}

void gorgon_children_wake_up(struct gorgon_children *children)
{
	gorgon_children_list_sleeping(children, -1);
}
