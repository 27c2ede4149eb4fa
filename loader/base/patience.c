// SPDX-License-Identifier: MIT
// Limits of time on a busy machine.
//
// Who waits for threads with a limit wants to know whether they end when they can run. Time in
// which one of them was ready to run and no processor was free says nothing about that, so the end
// of the limit moves by it. The same holds for the thread that waits: it cannot interrupt anybody
// without a processor.
//
// The kernel counts for each thread how long it has run, how long it was ready without running, and
// how often it got a processor (/proc/PID/task/TID/schedstat). The second number grows only when
// the thread gets a processor. So a thread that is ready (state R) and has neither run nor got a
// processor since the last look is waiting now, and is counted before the kernel does. Without
// these files, or descriptors to read them with, nothing is added.
//
// The program's own threads may be what keeps the processors busy, on purpose, too. So less is
// added if they have run meanwhile, nothing if they have used one processor's time, and all that is
// added is bounded.

#define _GNU_SOURCE
#include "patience.h"
#include "clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMES_MORE 19 // at most so many times the limit is added

struct turns {
	uint64_t ran, waited, count;
};

// Returns whether the file was read; its beginning, as text.
static bool read_thread_file(pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	text[n] = 0;
	return true;
}

static bool read_turns(pid_t tid, struct turns *ret)
{
	char text[128], *end;

	if (!read_thread_file(tid, "schedstat", text, sizeof(text)))
		return false;
	ret->ran = strtoull(text, &end, 10);
	ret->waited = strtoull(end, &end, 10);
	ret->count = strtoull(end, NULL, 10);
	return true;
}

static bool is_ready(pid_t tid)
{
	char text[256], *name_end;

	return read_thread_file(tid, "stat", text, sizeof(text)) &&
	       (name_end = strrchr(text, ')')) && !strncmp(name_end, ") R", 3);
}

// A thread that was not there at the last look has waited since then only.
static struct gorgon_waiting_thread *find_waiting(struct gorgon_patience *patience, pid_t tid,
						  const struct turns *turns, uint64_t elapsed)
{
	for (size_t i = 0; i < patience->count; i++)
		if (patience->threads[i].tid == tid)
			return &patience->threads[i];
	if (patience->count == GORGON_PATIENCE_THREADS)
		return NULL;
	patience->threads[patience->count] = (struct gorgon_waiting_thread){
		.tid = tid,
		.before = turns->waited > elapsed ? turns->waited - elapsed : 0,
	};
	return &patience->threads[patience->count++];
}

static uint64_t look_at_thread(struct gorgon_patience *patience, pid_t tid, uint64_t elapsed)
{
	struct gorgon_waiting_thread *thread;
	uint64_t waited, ret = 0;
	struct turns turns;

	if (!read_turns(tid, &turns) || !(thread = find_waiting(patience, tid, &turns, elapsed)))
		return 0;
	if (turns.ran == thread->ran && turns.count == thread->turns && is_ready(tid))
		thread->pending += elapsed;
	else
		thread->pending = 0;
	thread->ran = turns.ran;
	thread->turns = turns.count;
	waited = turns.waited - thread->before + thread->pending;
	if (waited > thread->added) {
		ret = waited - thread->added;
		thread->added = waited;
	}
	return ret < elapsed ? ret : elapsed;
}

// The share of the time in which the program has not kept a processor busy itself.
static uint64_t others_share(uint64_t waited, uint64_t ran, uint64_t elapsed)
{
	return ran < elapsed
		       ? (uint64_t)((double)waited * (double)(elapsed - ran) / (double)elapsed)
		       : 0;
}

uint64_t gorgon_patience_look(struct gorgon_patience *patience,
			      const struct gorgon_awaited *awaited)
{
	uint64_t now = gorgon_now(), elapsed = now - patience->looked_at,
		 ret = look_at_thread(patience, gettid(), elapsed);

	for (size_t i = 0; i < awaited->count; i++) {
		uint64_t more = look_at_thread(patience, awaited->tids[i], elapsed);

		ret = more > ret ? more : ret;
	}
	ret = others_share(
		ret, awaited->cpu_ns > patience->cpu_ns ? awaited->cpu_ns - patience->cpu_ns : 0,
		elapsed);
	ret = ret < patience->left ? ret : patience->left;
	patience->left -= ret;
	patience->looked_at = now;
	patience->cpu_ns = awaited->cpu_ns;
	return ret;
}

void gorgon_patience_begin(struct gorgon_patience *patience, uint64_t limit_ns,
			   const struct gorgon_awaited *awaited)
{
	*patience = (struct gorgon_patience){.looked_at = gorgon_now(), .left = 0};
	gorgon_patience_look(patience, awaited);
	patience->left = TIMES_MORE * limit_ns;
}
