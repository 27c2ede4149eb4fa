// SPDX-License-Identifier: MIT
// Which children a namespace has.
//
// The kernel knows children of a process, and wait() takes any: one interpreter would take
// another's child, whose own waitpid() then fails and which CPython reports as status 0. So each
// child that private code makes by fork(), vfork(), posix_spawn() and their relatives is noted,
// and waiting is about a namespace's own (children_wait.c).
//
// What is not noted, because nobody says which it is: children of clone(2), of syscall(2), and those
// of popen(), which pclose() waits for. waitpid() for one by its number is the kernel's answer.
//
// When a program ends its children live on, as those of a process do. Those that have ended
// are waited for then; the others are orphans, and the thread of children_watch.c waits for them
// as init does. So it is with children of a program that ignores SIGCHLD.
//
// A child that somebody else has waited for (the host, by a wait() of any) is forgotten when
// that is noticed.
//
// In a forked child all children are the program's that goes on: it gets the kernel's answers.
//
// `lock` is a leaf. wait() may be called in signal handlers and a child be made there: signals are
// blocked while it is held, and records come from pages of our own, which are used again.

#define _GNU_SOURCE
#include "children.h"
#include "../elf/environment.h"
#include "../elf/fork.h"
#include "../elf/masked_lock.h"
#include "../elf/ns.h"
#include "../elf/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <pty.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct record {
	struct record *next, *prev;
	struct gorgon_children *owner; // NULL: an orphan
	struct gorgon_child child;
	bool unwanted; // its owner ignores SIGCHLD
	bool told;     // of its end
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t before_fork; // the forking thread's mask, under `lock`
static struct record *first, *last; // by serial
static struct record *unused;
static struct record few[32]; // the first ones
static uint64_t serials;
static unsigned making[2]; // children that are being made, by the parity of `epoch` then; atomic
static unsigned epoch;	   // atomic
static bool watched;	// the thread exists
static pid_t watcher;	// its number, once it has looked

// --- records; under the lock ---------------------------------------------------------------------

static void add_unused(struct record *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		list[i].next = unused;
		unused = &list[i];
	}
}

static bool grow(void)
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

	if (!record && !grow())
		return NULL;
	record = unused;
	unused = record->next;
	*record = (struct record){.prev = last, .owner = owner, .child = {pid, ++serials}};
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
	struct record *record = last; // the newest first: it is asked for most

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
	return !record->owner || record->unwanted || (record->owner->waiting && !record->told);
}

static void wake(struct gorgon_children *children)
{
	__atomic_add_fetch(&children->ended, 1, __ATOMIC_RELEASE);
	if (children->waiting)
		syscall(SYS_futex, &children->ended, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

// --- what the other files ask ----------------------------------------------------------------

bool gorgon_children_are_ours(const struct gorgon_children *children)
{
	return __atomic_load_n(&children->pid, __ATOMIC_RELAXED) == getpid();
}

// There is something new to watch. False: there is no thread for it.
static bool watch(void)
{
	sigset_t saved;
	bool start;

	gorgon_masked_lock(&lock, &saved);
	start = !watched;
	watched = true;
	if (watcher)
		gorgon_children_watch_wake(watcher);
	gorgon_masked_unlock(&lock, &saved);
	if (!start || !gorgon_children_watch_start())
		return true;
	gorgon_masked_lock(&lock, &saved);
	watched = false;
	gorgon_masked_unlock(&lock, &saved);
	return false;
}

bool gorgon_children_note(struct gorgon_children *children, pid_t pid)
{
	bool unwanted = children->ns && gorgon_signals_ignores(children->ns->signals, SIGCHLD);
	struct record *record;
	bool noted, wanted;
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	record = find_record(pid);
	if (record) // somebody else has waited for that one
		remove_record(record);
	record = add_record(children, pid);
	noted = record;
	if (noted)
		record->unwanted = unwanted;
	wanted = noted && is_wanted(record);
	if (wanted)
		wake(children);
	gorgon_masked_unlock(&lock, &saved);
	if (wanted)
		watch();
	return noted;
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

bool gorgon_children_settle(void)
{
	const struct timespec moment = {0, 1000000};

	// One after the other: what begins meanwhile counts for the other one.
	for (unsigned parity = 0, tries = 0; parity < 2; tries++) {
		if (!__atomic_load_n(&making[parity], __ATOMIC_SEQ_CST)) {
			parity++;
			continue;
		}
		if (tries == 40)
			return false;
		__atomic_store_n(&epoch, !parity, __ATOMIC_SEQ_CST);
		nanosleep(&moment, NULL);
	}
	return true;
}

bool gorgon_children_sleep(struct gorgon_children *children)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	children->waiting++;
	gorgon_masked_unlock(&lock, &saved);
	return watch();
}

void gorgon_children_wake_up(struct gorgon_children *children)
{
	sigset_t saved;

	gorgon_masked_lock(&lock, &saved);
	children->waiting--;
	gorgon_masked_unlock(&lock, &saved);
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

		nobodys = !owner || record->unwanted;
		record->told = true;
		if (nobodys)
			remove_record(record);
		if (owner)
			wake(owner);
	}
	gorgon_masked_unlock(&lock, &saved);
	return nobodys;
}

// --- making children -----------------------------------------------------------------------------

static unsigned begin_making(void)
{
	unsigned parity = __atomic_load_n(&epoch, __ATOMIC_SEQ_CST);

	__atomic_add_fetch(&making[parity], 1, __ATOMIC_SEQ_CST);
	return parity;
}

static void end_making(struct gorgon_children *children, unsigned parity, pid_t pid)
{
	int saved = errno;

	if (pid > 0)
		gorgon_children_note(children, pid);
	__atomic_sub_fetch(&making[parity], 1, __ATOMIC_SEQ_CST);
	errno = saved;
}

// A handler of SIGCHLD that waits for any child must find the one that it is told of. Faults stay:
// the kernel would end the process without asking anybody.
static void block_signals(sigset_t *saved)
{
	sigset_t set;

	sigfillset(&set);
	for (int number = 1; number < NSIG; number++)
		if (gorgon_signal_is_fault(number))
			sigdelset(&set, number);
	pthread_sigmask(SIG_BLOCK, &set, saved);
}

static void restore_signals(const sigset_t *saved)
{
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

// What the system's linker has loaded has its handlers of fork() in the C library's list.
static pid_t fork_of(struct gorgon_ns *ns)
{
	return ns->linked ? fork() : gorgon_fork(ns);
}

static pid_t children_fork(struct gorgon_children *children)
{
	unsigned parity;
	sigset_t saved;
	pid_t pid;

	if (!gorgon_children_are_ours(children))
		return fork_of(children->ns);
	block_signals(&saved);
	parity = begin_making();
	pid = fork_of(children->ns);
	if (pid)
		end_making(children, parity, pid);
	restore_signals(&saved);
	return pid;
}

// Calls no handlers.
static pid_t children_raw_fork(struct gorgon_children *children)
{
	unsigned parity;
	sigset_t saved;
	pid_t pid;

	if (!gorgon_children_are_ours(children))
		return _Fork();
	block_signals(&saved);
	parity = begin_making();
	pid = _Fork();
	if (pid)
		end_making(children, parity, pid);
	restore_signals(&saved);
	return pid;
}

static pid_t forkpty_of(int *master, char *name, const struct termios *termios,
			const struct winsize *size, struct gorgon_ns *ns)
{
	return ns->linked ? forkpty(master, name, termios, size)
			  : gorgon_forkpty(master, name, termios, size, ns);
}

static int children_forkpty(int *master, char *name, const struct termios *termios,
			    const struct winsize *size, struct gorgon_children *children)
{
	unsigned parity;
	sigset_t saved;
	pid_t pid;

	if (!gorgon_children_are_ours(children))
		return forkpty_of(master, name, termios, size, children->ns);
	block_signals(&saved);
	parity = begin_making();
	pid = forkpty_of(master, name, termios, size, children->ns);
	if (pid)
		end_making(children, parity, pid);
	restore_signals(&saved);
	return pid;
}

unsigned gorgon_children_before_vfork(struct gorgon_children *children)
{
	return gorgon_children_are_ours(children) ? begin_making() : 0;
}

#ifdef __SANITIZE_ADDRESS__
// Of the sanitizer's runtime, whose vfork() calls it: forget what was noted of the stack below @sp.
void __asan_handle_vfork(void *sp);
#define FORGET_CHILDS_FRAMES() __asan_handle_vfork(__builtin_frame_address(0))
#else
#define FORGET_CHILDS_FRAMES() ((void)0)
#endif

// In the parent, with what the system call returned. The child has used this stack, and left its
// frames by execve(2).
pid_t gorgon_children_after_vfork(struct gorgon_children *children, long result, unsigned parity)
{
	FORGET_CHILDS_FRAMES();
	if (gorgon_children_are_ours(children))
		end_making(children, parity, (pid_t)result);
	if (result > 0)
		return (pid_t)result;
	errno = (int)-result;
	return -1;
}

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const *, char *const *);

struct spawn {
	spawn_fn *fn;
	pid_t *pid;
	const char *path;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
	char *const *argv;
};

static int call_spawn(char *const *envp, void *ctx)
{
	const struct spawn *spawn = ctx;

	return spawn->fn(spawn->pid, spawn->path, spawn->actions, spawn->attributes, spawn->argv, envp);
}

static int run_spawn(spawn_fn *fn, pid_t *ret, const char *path,
		     const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		     char *const *argv, char *const *envp, struct gorgon_children *children)
{
	pid_t pid = 0;
	struct spawn spawn = {fn, &pid, path, actions, attributes, argv};
	unsigned parity;
	sigset_t saved;
	int err;

	if (!gorgon_children_are_ours(children)) {
		spawn.pid = ret;
		return gorgon_environment_give(children->ns, envp, call_spawn, &spawn);
	}
	// The program inherits the mask, which is therefore left alone.
	parity = begin_making();
	err = gorgon_environment_give(children->ns, envp, call_spawn, &spawn);
	block_signals(&saved);
	end_making(children, parity, err ? 0 : pid);
	restore_signals(&saved);
	if (!err && ret)
		*ret = pid;
	return err;
}

int gorgon_children_run_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attributes, char *const *argv,
			      char *const *envp, struct gorgon_children *children)
{
	return run_spawn(posix_spawn, ret, path, actions, attributes, argv, envp, children);
}

int gorgon_children_run_spawnp(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			       const posix_spawnattr_t *attributes, char *const *argv,
			       char *const *envp, struct gorgon_children *children)
{
	return run_spawn(posix_spawnp, ret, path, actions, attributes, argv, envp, children);
}

// --- SIGCHLD -------------------------------------------------------------------------------------

#define ASKED 64 // of a namespace's children, at most

static bool has_news(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) &&
	       info.si_pid;
}

// One signal may stand for several that came at once: it is about one of ours, too, when the
// kernel has something to tell of it. About one that nobody has noted it may be anybody's.
static bool concerns(void *ctx, pid_t pid)
{
	struct gorgon_child child, list[ASKED];
	const struct gorgon_children *owner = gorgon_children_owner(pid, &child);
	size_t count;

	if (owner == ctx || !child.serial)
		return true;
	count = gorgon_children_list(ctx, 0, list, ASKED);
	for (size_t i = 0; i < count; i++)
		if (has_news(list[i].pid))
			return true;
	return count == ASKED;
}

// --- the part ------------------------------------------------------------------------------------

static bool begin(void *state, struct gorgon_ns *ns)
{
	struct gorgon_children *children = state;

	children->ns = ns;
	children->pid = getpid();
	if (ns->signals)
		gorgon_signals_filter_children(ns->signals, concerns, children);
	return true;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) || info.si_pid == pid;
}

// Those that have ended are waited for, the others are orphans.
static void stop(void *state)
{
	struct gorgon_children *children = state;
	struct gorgon_child child = {0};
	bool orphans = false;
	sigset_t saved;

	if (!gorgon_children_are_ours(children))
		return;
	while (gorgon_children_list(children, child.serial, &child, 1)) {
		struct record *record;

		if (has_ended(child.pid)) {
			gorgon_children_forget(child);
			continue;
		}
		gorgon_masked_lock(&lock, &saved);
		record = find_child(child);
		if (record)
			record->owner = NULL;
		orphans |= record != NULL;
		gorgon_masked_unlock(&lock, &saved);
	}
	if (orphans)
		watch();
}

static void take_for_fork(void)
{
	gorgon_masked_lock(&lock, &before_fork);
}

// A child has none of them, nor the thread.
static void release_after_fork(bool child)
{
	sigset_t saved = before_fork;

	while (child && first)
		remove_record(first);
	if (child) {
		watched = false;
		watcher = 0;
		making[0] = making[1] = 0;
	}
	gorgon_masked_unlock(&lock, &saved);
}

static void in_child(void *state)
{
	struct gorgon_children *children = state;

	children->waiting = 0;
}

static const struct gorgon_bound bound[] = {
	{"fork", children_fork, 0, 0, GORGON_OWN,
	 "the child is the program's own; handlers of other copies, which would wait for threads that are not there, do not run"},
	{"_Fork", children_raw_fork, 0, 0, GORGON_OWN, "the child is the program's own"},
	{"forkpty", children_forkpty, 4, 0, GORGON_OWN, "as fork"},
	{"vfork", gorgon_children_vfork, 0, 0, GORGON_OWN, "the child is the program's own"},
	{"posix_spawn", gorgon_children_spawn, 6, 0, GORGON_OWN, "the child is the program's own"},
	{"posix_spawnp", gorgon_children_spawnp, 6, 0, GORGON_OWN, "as posix_spawn"},
	{"system", gorgon_children_system, 1, 0, GORGON_OWN,
	 "the child is the program's own and has its environment; SIGINT is kept from the calling thread, not from other programs"},
	{"wait", gorgon_children_wait, 1, 0, GORGON_OWN, "waits for the program's own children"},
	{"wait3", gorgon_children_wait3, 3, 0, GORGON_OWN, "as wait"},
	{"wait4", gorgon_children_wait4, 4, 0, GORGON_OWN, "as waitpid"},
	{"waitpid", gorgon_children_waitpid, 3, 0, GORGON_OWN,
	 "waits for the program's own children; another program's is no child (ECHILD)"},
	{"waitid", gorgon_children_waitid, 4, 0, GORGON_OWN, "as waitpid"},
};

const struct gorgon_part gorgon_children_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_children),
	.begin = begin,
	.stop = stop,
	.end = stop, // what threads that lived on have made
	.before_fork = take_for_fork,
	.after_fork = release_after_fork,
	.in_child = in_child,
};
