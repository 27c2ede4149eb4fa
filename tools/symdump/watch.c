// SPDX-License-Identifier: MIT
// What the kernel says of threads without stopping them.
//
// /proc/PID/task/TID/syscall says whether a thread runs or in which call it sleeps, and a wait for
// a lock has the lock's address. schedstat counts how often it got a processor: a thread that slept
// and has the same count has not run since, so its stack is the same. A thread that was stopped by
// us has run twice, into the stop and back to its sleep; on a busy machine it may still wait for a
// processor after the stop, and its stack is the same then, too.

#define _GNU_SOURCE
#include "record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOP_RUNS 2

// Also forgets what was seen: another thread may have the number now.
static void close_files(struct watched *thread)
{
	if (thread->schedstat >= 0)
		close(thread->schedstat);
	if (thread->syscall >= 0)
		close(thread->syscall);
	thread->schedstat = thread->syscall = -1;
	thread->has_track = thread->slept = false;
}

static int open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

// Its name in the profile: "thread 4711 (interp 0)".
static void name_thread(struct recording *recording, struct watched *thread)
{
	int fd = open_file(recording->dump->target.pid, thread->tid, "comm");
	char comm[32], text[64];
	ssize_t size = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);
	char *clean = clean_text(comm, size > 0 ? (size_t)size - 1 : 0); // it ends in a newline

	snprintf(text, sizeof(text), *clean ? "thread %d (%s)" : "thread %d", thread->tid, clean);
	free(clean);
	if (fd >= 0)
		close(fd);
	thread->thread_frame = profile_frame(&recording->profile, FRAME_THREAD, text, "", 0);
}

struct watched *watch(struct recording *recording, pid_t tid, uint64_t copy_id)
{
	const size_t *known = map_get(&recording->thread_map, (uint64_t)tid, copy_id);
	struct watched *thread = known ? &recording->threads[*known] : NULL, fresh = {.tid = tid};

	if (thread && thread->schedstat >= 0)
		return thread;
	fresh.schedstat = open_file(recording->dump->target.pid, tid, "schedstat");
	fresh.syscall = open_file(recording->dump->target.pid, tid, "syscall");
	if (fresh.schedstat < 0 ||
	    // the thread is not kept, for the target may make up any number of threads
	    fresh.syscall < 0) {
		close_files(&fresh);
		return NULL;
	}
	if (!thread) {
		*map_find(&recording->thread_map, (uint64_t)tid, copy_id) = recording->thread_count;
		recording->threads = grow(recording->threads, recording->thread_count,
					  sizeof(*recording->threads));
		thread = &recording->threads[recording->thread_count++];
	}
	*thread = fresh;
	name_thread(recording, thread);
	return thread;
}

static ssize_t read_text(int fd, char *text, size_t size)
{
	ssize_t got = pread(fd, text, size - 1, 0);

	text[got > 0 ? got : 0] = 0;
	return got;
}

// Where it sleeps: number and arguments of the call, stack pointer, instruction. False: it runs.
static bool read_sleep(struct watched *thread, const char *text)
{
	unsigned long number, first;

	if (!strncmp(text, "running", 7))
		return false;
	thread->futex = thread->sp = thread->pc = 0;
	if (sscanf(text, "%lu %lx %*x %*x %*x %*x %*x %lx %lx", &number, &first, &thread->sp,
		   &thread->pc) == 4 &&
	    (number == SYS_futex ||
	     number == SYS_restart_syscall)) // the arguments are what they were
		thread->futex = first;
	return true;
}

enum kernel_state watched_look(struct watched *thread)
{
	char ran[64], call[256];
	uint64_t runs = 0, before = thread->runs, sp = thread->sp, pc = thread->pc;
	bool slept = thread->slept, was_stopped = thread->was_stopped;

	if (read_text(thread->schedstat, ran, sizeof(ran)) <= 0)
		goto gone;
	sscanf(ran, "%*u %*u %lu", &runs);
	if (slept && runs && (runs == before || (was_stopped && runs == before + STOP_RUNS - 1)))
		return THREAD_SAME;
	if (read_text(thread->syscall, call, sizeof(call)) <= 0)
		goto gone;
	thread->runs = runs;
	thread->slept = read_sleep(thread, call);
	thread->was_stopped = false;
	if (!thread->slept)
		return THREAD_RUNS;
	return slept && was_stopped && runs == before + STOP_RUNS && thread->sp == sp &&
			       thread->pc == pc
		       ? THREAD_SAME
		       : THREAD_SLEEPS;
gone:
	close_files(thread);
	return THREAD_GONE;
}

void watched_end(struct recording *recording)
{
	for (size_t i = 0; i < recording->thread_count; i++)
		close_files(&recording->threads[i]);
	free(recording->threads);
	map_deinit(&recording->thread_map);
}
