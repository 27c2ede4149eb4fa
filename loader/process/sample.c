// SPDX-License-Identifier: MIT
// Where another thread is: its native function and its Python line, for messages.
//
// The thread itself answers, in the handler of the signal that ends blocking calls. As in the
// report of a fault (faults.c) nothing there takes a lock or allocates. One thread is asked at a
// time. A thread that does not answer in time (it blocks the signal, or the kernel does not let it
// go) is not waited for; if it is in the middle of its answer when time is up, nobody is asked any
// more before it has finished. There is no lock, only `sampled`, so that fork() needs to know
// nothing of this.
//
// The signal may meet the thread in the middle of changing what its answer is read from. A fault in
// reading it, while faults are reported, ends the answer with what has been read so far.

#define _GNU_SOURCE
#include "sample.h"
#include "base/clock.h"
#include "ns/ns.h"
#include "ns/unwind.h"
#include "process/faults/backtrace.h"
#include "process/faults/fault_symbol.h"
#include "process/faults/faults.h"
#include "process/kernel/signals.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES_MAX 24
#define ANSWERING  -1
#define ANSWERED   -2

static pid_t sampled; // a thread, ANSWERING, ANSWERED and not read yet, or 0: nobody; atomic
static pid_t sampler; // the process; atomic
static struct gorgon_frame frames[FRAMES_MAX];
static volatile size_t frame_count;
static char lines[4096]; // of Python
static volatile size_t lines_size;
static volatile int lines_fd;
static const void *interrupted; // the context of the signal

// --- the thread that was asked ----------------------------------------------------------------

static void read_lines(const struct gorgon_ns *ns)
{
	ssize_t count;

	if (!ns || !ns->user.write_python)
		return;
	lines_fd = memfd_create("gorgon-sample", MFD_CLOEXEC);
	if (lines_fd >= 0 && ns->user.write_python(ns->user.ctx, lines_fd) &&
	    (count = pread(lines_fd, lines, sizeof(lines) - 1, 0)) > 0)
		lines_size = (size_t)count;
}

static const struct gorgon_ns *ns_of_frames(void)
{
	struct gorgon_fault_symbol place = {};

	for (size_t i = 0; i < frame_count && !place.ns; i++)
		gorgon_fault_symbol_find(frames[i].pc - !frames[i].interrupted, &place);
	return place.ns;
}

static void read_answer(void)
{
	gorgon_backtrace(interrupted, frames, FRAMES_MAX, &frame_count);
	read_lines(ns_of_frames());
}

static void sample_answer(const void *context)
{
	pid_t me = __atomic_load_n(&sampled, __ATOMIC_ACQUIRE);

	if (!me || me != gettid() ||
	    !__atomic_compare_exchange_n(&sampled, &me, ANSWERING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	frame_count = lines_size = 0;
	lines_fd = -1;
	interrupted = context;
	gorgon_fault_guard(read_answer);
	if (lines_fd >= 0)
		close(lines_fd);
	__atomic_store_n(&sampled, ANSWERED, __ATOMIC_RELEASE);
}

// --- the thread that asks -----------------------------------------------------------------------

static void read_name(pid_t tid, char *ret, size_t size)
{
	char path[64];
	ssize_t count;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	count = read(fd, ret, size - 1);
	close(fd);
	ret[count > 0 ? count - 1 : 0] = 0; // without the newline
}

static void describe_frame(struct gorgon_sample *ret)
{
	for (size_t i = 0; i < frame_count && !*ret->native; i++) {
		struct gorgon_fault_symbol place;
		const char *slash;

		gorgon_fault_symbol_find(frames[i].pc - !frames[i].interrupted, &place);
		if (!place.function)
			continue;
		slash = strrchr(place.object, '/');
		snprintf(ret->native, sizeof(ret->native), "%s!%s",
			 slash ? slash + 1 : place.object, place.function);
	}
}

// The first line that names a file: `  File "x.py", line 3 in f`.
static void describe_line(struct gorgon_sample *ret)
{
	const char *line;

	lines[lines_size] = 0;
	line = strstr(lines, "File \"");
	if (line)
		snprintf(ret->python, sizeof(ret->python), "%.*s", (int)strcspn(line, "\n"), line);
}

// False: another thread asked until then.
static bool begin_asking(pid_t tid, uint64_t until)
{
	pid_t nobody = 0;

	// A thread of the parent may have asked when this process was forked.
	if (__atomic_exchange_n(&sampler, getpid(), __ATOMIC_ACQ_REL) != getpid())
		__atomic_store_n(&sampled, 0, __ATOMIC_RELEASE);
	while (!__atomic_compare_exchange_n(&sampled, &nobody, tid, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED)) {
		if (gorgon_now() >= until)
			return false;
		nobody = 0;
		usleep(200);
	}
	return true;
}

void gorgon_sample_thread(pid_t tid, int timeout_ms, struct gorgon_sample *ret)
{
	uint64_t until = gorgon_now() + (uint64_t)timeout_ms * 1000000;
	pid_t unanswered = tid;
	struct dl_find_object found;

	*ret = (struct gorgon_sample){};
	read_name(tid, ret->thread, sizeof(ret->thread));
	// The first call finds the C library's function with dlvsym(), which a handler may not
	// call.
	gorgon_unwind_find_object((void *)(uintptr_t)gorgon_sample_thread, &found);
	gorgon_signals_on_wake(sample_answer);
	if (!begin_asking(tid, until))
		return;
	if (gorgon_signals_wake(tid))
		while (__atomic_load_n(&sampled, __ATOMIC_ACQUIRE) != ANSWERED &&
		       gorgon_now() < until)
			usleep(200);
	__atomic_compare_exchange_n(&sampled, &unanswered, 0, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	if (unanswered != ANSWERED)
		return;
	describe_frame(ret);
	describe_line(ret);
	__atomic_store_n(&sampled, 0, __ATOMIC_RELEASE);
}
