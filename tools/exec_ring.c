// SPDX-License-Identifier: MIT
// A request to an interpreter of another process, as loader/ns/debug_root.h says.
//
// Python's main thread is told if it is in Python. If it waits in a system call, for a lock or
// for input, the library can begin a thread there: only calls are taken in which the C library
// and allocators hold no lock. A thread that waits for a plain mutex (FUTEX_WAIT) is not.

#define _GNU_SOURCE
#include "exec.h"
#include "tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PLACE_AT     32 // of a struct gorgon_debug_place in a siginfo_t
#define PAUSE_MIN_US 500
#define PAUSE_MAX_US 20000
#define ANSWER_NS    UINT64_C(1000000000) // from taking a request to its answer

static const long waits[] = {
	SYS_read,      SYS_readv,           SYS_recvfrom,        SYS_recvmsg,
	SYS_accept,    SYS_accept4,         SYS_wait4,           SYS_waitid,
	SYS_ppoll,     SYS_pselect6,        SYS_epoll_pwait,     SYS_epoll_pwait2,
	SYS_nanosleep, SYS_clock_nanosleep, SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
#ifdef SYS_poll
	SYS_poll,      SYS_select,          SYS_epoll_wait,      SYS_pause,
#endif
};

uint64_t remote_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// What a thread waits for, and where.
struct wait {
	struct gorgon_debug_place place;
	uint64_t argument;
	long call;
};

// --- threads of the process -------------------------------------------------------------------

static FILE *open_of_thread(const struct remote *remote, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", remote->pid, tid, name);
	return fopen(path, "re");
}

static bool blocks_signal(const struct remote *remote, pid_t tid)
{
	FILE *file = open_of_thread(remote, tid, "status");
	uint64_t blocked = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "SigBlk: %lx", &blocked) != 1)
		continue;
	if (file)
		fclose(file);
	return blocked >> (SIGURG - 1) & 1;
}

// Whether a thread waits where another thread may be begun, and where that is.
static bool is_waiting(const struct remote *remote, pid_t tid, struct wait *wait)
{
	FILE *file = open_of_thread(remote, tid, "syscall");
	uint64_t args[6];
	long call;
	int found;

	if (!file)
		return false;
	found = fscanf(file, "%ld 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx 0x%lx", &call, &args[0],
		       &args[1], &args[2], &args[3], &args[4], &args[5], &wait->place.sp,
		       &wait->place.pc);
	fclose(file);
	if (found != 9 || call < 0)
		return false;
	wait->call = call;
	wait->argument = args[0];
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (waits[i] == call)
			return true;
	return call == SYS_futex && ((int)args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

static bool has_same_files(const struct remote *remote, pid_t tid, pid_t main)
{
	(void)remote;
	return !syscall(SYS_kcmp, tid, main, KCMP_FILES, 0, 0) &&
	       !syscall(SYS_kcmp, tid, main, KCMP_FS, 0, 0);
}

// A thread that waits, @main if it does. 0: there is none.
static pid_t find_waiting(const struct remote *remote, pid_t main, struct wait *wait)
{
	const struct dirent *entry;
	char path[32];
	pid_t ret = 0;
	DIR *dir;

	if (is_waiting(remote, main, wait) && !blocks_signal(remote, main))
		return main;
	snprintf(path, sizeof(path), "/proc/%d/task", remote->pid);
	dir = opendir(path);
	while (dir && !ret && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid && tid != main && has_same_files(remote, tid, main) &&
		    !blocks_signal(remote, tid) && is_waiting(remote, tid, wait))
			ret = tid;
	}
	if (dir)
		closedir(dir);
	return ret;
}

// Python's main thread; in a forked child it is the first one.
static pid_t find_main(const struct remote *remote, const struct remote_interp *interp)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", remote->pid, interp->thread);
	return interp->thread && !access(path, F_OK) ? interp->thread : remote->pid;
}

// --- the request ------------------------------------------------------------------------------

static const char *state_text(uint32_t state)
{
	switch (state) {
	case GORGON_DEBUG_CREATED:
		return "is not started";
	case GORGON_DEBUG_STARTING:
		return "is being started";
	case GORGON_DEBUG_STOPPING:
	case GORGON_DEBUG_FINALISING:
		return "is being stopped";
	case GORGON_DEBUG_ENDED:
		return "has ended";
	case GORGON_DEBUG_ABANDONED:
		return "was abandoned";
	default:
		return NULL;
	}
}

static void send_signal(const struct remote *remote, const struct remote_interp *interp, pid_t tid,
			const struct wait *wait)
{
	siginfo_t info = {.si_signo = SIGURG, .si_code = SI_QUEUE, .si_errno = (int)wait->call};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)(uintptr_t)interp->requests;
	memcpy((char *)&info + PLACE_AT, &wait->place, sizeof(wait->place));
	syscall(SYS_rt_tgsigqueueinfo, remote->pid, tid, SIGURG, &info);
}

// All that follows @at in the request, up to the answer.
static void write_from(const struct remote *remote, const struct gorgon_debug_request *request,
		       size_t at)
{
	remote_write(remote, remote->request + at, (const char *)request + at,
		     offsetof(struct gorgon_debug_request, answered) - at);
}

static void write_id(const struct remote *remote, uint64_t id)
{
	remote_write(remote, remote->request + offsetof(struct gorgon_debug_request, id), &id,
		     sizeof(id));
}

// Whether the interpreter's main thread runs Python of another interpreter.
static bool is_in_another(const struct remote *remote, const struct remote_interp *interp)
{
	struct gorgon_debug_activity activity;

	for (size_t i = 0; i < remote->interp_count; i++)
		if (remote->interps[i].thread == interp->thread &&
		    remote_read(remote, remote->interps[i].activity, &activity, sizeof(activity)) &&
		    activity.main_calls)
			return true;
	return false;
}

// Tells a thread of the request, if one can be told now. It keeps its id, so that of several
// threads that were told one takes it.
static void ring(const struct remote *remote, const struct remote_interp *interp,
		 const struct gorgon_debug_activity *activity, struct gorgon_debug_request *request)
{
	pid_t main = find_main(remote, interp), tid = 0;
	struct wait wait = {0};

	if (activity->state == GORGON_DEBUG_STARTED)
		tid = find_waiting(remote, main, &wait);
	if (!tid && (activity->state == GORGON_DEBUG_RUNNING || activity->main_calls ||
		     is_in_another(remote, interp))) {
		wait = (struct wait){0};
		tid = main;
	}
	if (!tid)
		return;
	request->argument = wait.argument;
	write_from(remote, request, offsetof(struct gorgon_debug_request, argument));
	send_signal(remote, interp, tid, &wait);
}

// @taken: a thread has taken the request, and will answer it.
static bool is_answered(const struct remote *remote, const struct gorgon_debug_request *request,
			struct gorgon_debug_request *ret, bool *taken)
{
	struct gorgon_debug_request again;

	if (!remote_read(remote, remote->request, ret, sizeof(*ret)) ||
	    !remote_read(remote, remote->request, &again, sizeof(again)))
		return false;
	*taken = !ret->id;
	return ret->answered == request->id && !memcmp(ret, &again, sizeof(again));
}

static char *open_pipes(const struct remote *remote, const struct remote_interp *interp,
			const struct gorgon_debug_request *answer, struct remote_pipes *ret)
{
	char name[96];

	if (!answer->tid)
		return tool_text("interpreter %u: no thread can begin there: %s", interp->number,
				   strerror(answer->input));
	ret->tid = (pid_t)answer->tid;
	snprintf(name, sizeof(name), "/proc/%d/task/%d/fd/%d", remote->pid, ret->tid,
		 answer->output);
	ret->output = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	snprintf(name, sizeof(name), "/proc/%d/task/%d/fd/%d", remote->pid, ret->tid,
		 answer->input);
	ret->input = ret->output < 0 ? -1 : open(name, O_WRONLY | O_CLOEXEC);
	if (ret->input >= 0)
		return NULL;
	if (ret->output >= 0)
		close(ret->output);
	return tool_text("interpreter %u: %s: %s", interp->number, name, strerror(errno));
}

// Why the interpreter takes no request now; NULL: it does.
static char *why_unable(const struct remote *remote, const struct remote_interp *interp,
		       struct gorgon_debug_activity *ret)
{
	if (!remote_read(remote, interp->activity, ret, sizeof(*ret)))
		return tool_text("interpreter %u: has gone", interp->number);
	return state_text(ret->state)
		       ? tool_text("interpreter %u: %s", interp->number, state_text(ret->state))
		       : NULL;
}

static char *ask_until(const struct remote *remote, const struct remote_interp *interp,
		       uint64_t end_ns, struct remote_pipes *ret)
{
	struct gorgon_debug_request request = {.target = interp->requests}, answer;
	uint64_t pause_us = PAUSE_MIN_US, now = remote_now();
	struct gorgon_debug_activity activity;
	char *why = why_unable(remote, interp, &activity);
	bool taken = false;

	if (why)
		return why;
	if (getrandom(&request.id, sizeof(request.id), 0) != sizeof(request.id))
		return tool_text("no random numbers: %s", strerror(errno));
	request.id |= 1;
	request.timeout_ms = now < end_ns ? (end_ns - now) / 1000000 + 1 : 0;
	write_id(remote, 0);
	write_from(remote, &request, offsetof(struct gorgon_debug_request, target));
	write_id(remote, request.id);
	// What was taken is answered, and would be in the way of who asks next.
	for (; now < end_ns || (taken && now < end_ns + ANSWER_NS); now = remote_now()) {
		if (!taken && (why = why_unable(remote, interp, &activity))) {
			write_id(remote, 0);
			return why;
		}
		if (!taken)
			ring(remote, interp, &activity, &request);
		usleep((useconds_t)pause_us);
		if (is_answered(remote, &request, &answer, &taken))
			return open_pipes(remote, interp, &answer, ret);
		pause_us = pause_us * 2 < PAUSE_MAX_US ? pause_us * 2 : PAUSE_MAX_US;
	}
	write_id(remote, 0);
	return tool_text("interpreter %u: %s", interp->number,
			   activity.state == GORGON_DEBUG_RUNNING || activity.main_calls
				   ? REMOTE_BUSY
				   : REMOTE_IDLE);
}

char *remote_ask(const struct remote *remote, const struct remote_interp *interp, uint64_t end_ns,
		 struct remote_pipes *ret)
{
	char *why;

	if (!interp->requests) {
		struct gorgon_debug_activity activity = {0};

		remote_read(remote, interp->activity, &activity, sizeof(activity));
		return tool_text(
			"interpreter %u: %s", interp->number,
			state_text(activity.state)
				?: "takes no requests: other isolations than the loader's cannot");
	}
	while (flock(remote->memory, LOCK_EX | LOCK_NB)) {
		if (remote_now() >= end_ns)
			return tool_text("interpreter %u: others ask the same process, and were "
					   "not done in time",
					   interp->number);
		usleep(1000);
	}
	why = ask_until(remote, interp, end_ns, ret);
	flock(remote->memory, LOCK_UN);
	return why;
}
