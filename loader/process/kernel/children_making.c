// SPDX-License-Identifier: MIT
// Making children: each that a program makes is noted as its own before anybody can be told of its
// end.

#define _GNU_SOURCE
#include "children.h"
#include "fork.h"
#include "signals.h"
#include "ns/ns.h"
#include "process/libc/environment.h"
#include "process/libc/process_variables.h"

#include <errno.h>
#include <pthread.h>
#include <pty.h>
#include <time.h>
#include <unistd.h>

static unsigned making[2]; // children that are being made, by the parity of `epoch` then; atomic
static unsigned epoch;	   // atomic

bool gorgon_children_settle(void)
{
	const struct timespec moment = {0, 1000000};

	// Two epochs in turn: a child that begins to be made meanwhile counts in the other epoch.
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

// A handler of SIGCHLD that waits for any child must find the child that the signal is
// about, so no signal arrives before the child is noted. Signals of faults stay unblocked: the
// kernel would end the process without asking anybody.
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

// Libraries that the system's linker has loaded have their handlers of fork() in the C library's
// list.
static pid_t fork_of(struct gorgon_ns *ns)
{
	return ns->linked ? fork() : gorgon_fork(ns);
}

pid_t gorgon_children_fork(struct gorgon_children *children)
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

static pid_t forkpty_of(int *master, char *name, const struct termios *termios,
			const struct winsize *size, struct gorgon_ns *ns)
{
	return ns->linked ? forkpty(master, name, termios, size)
			  : gorgon_forkpty(master, name, termios, size, ns);
}

int gorgon_children_forkpty(int *master, char *name, const struct termios *termios,
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

// Beside the parity, in what vfork() keeps for the parent.
#define VARIABLES_HELD 2u

unsigned gorgon_children_before_vfork(struct gorgon_children *children)
{
	unsigned held = gorgon_process_variables_hold() ? VARIABLES_HELD : 0;

	gorgon_signals_before_program();
	return held | (gorgon_children_are_ours(children) ? begin_making() : 0);
}

#ifdef __SANITIZE_ADDRESS__
// A function of the sanitizer's runtime, which its vfork() calls: forget the notes about the stack
// below @sp.
void __asan_handle_vfork(void *sp);
#define FORGET_CHILDS_FRAMES() __asan_handle_vfork(__builtin_frame_address(0))
#else
#define FORGET_CHILDS_FRAMES() ((void)0)
#endif

// Runs in the parent and gets the system call's result. The child has used this stack, and left its
// frames by execve(2).
pid_t gorgon_children_after_vfork(struct gorgon_children *children, long result, unsigned before)
{
	FORGET_CHILDS_FRAMES();
	gorgon_process_variables_let_go(before & VARIABLES_HELD);
	if (gorgon_children_are_ours(children))
		end_making(children, before & ~VARIABLES_HELD, (pid_t)result);
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

	return spawn->fn(spawn->pid, spawn->path, spawn->actions, spawn->attributes, spawn->argv,
			 envp);
}

// A child of posix_spawn() inherits what the process ignores, and the process ignores what any of
// its interpreters does. So the child gets the default of each signal that its own interpreter does
// not ignore.
static posix_spawnattr_t add_defaults(const posix_spawnattr_t *given, sigset_t *defaults)
{
	posix_spawnattr_t ret;
	sigset_t wanted;
	short flags = 0;

	if (given)
		ret = *given;
	else
		posix_spawnattr_init(&ret);
	posix_spawnattr_getflags(&ret, &flags);
	if (flags & POSIX_SPAWN_SETSIGDEF && !posix_spawnattr_getsigdefault(&ret, &wanted))
		sigorset(defaults, defaults, &wanted);
	posix_spawnattr_setsigdefault(&ret, defaults);
	posix_spawnattr_setflags(&ret, (short)(flags | POSIX_SPAWN_SETSIGDEF));
	return ret;
}

static int run_spawn(spawn_fn *fn, pid_t *ret, const char *path,
		     const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		     char *const *argv, char *const *envp, struct gorgon_children *children)
{
	pid_t pid = 0;
	char room[GORGON_ENVIRONMENT_PROGRAM_SIZE];
	struct gorgon_environment *environment = children->ns ? children->ns->environment : NULL;
	posix_spawnattr_t with_defaults;
	struct spawn spawn = {fn, &pid, path, actions, attributes, argv};
	unsigned parity;
	sigset_t saved, defaults;
	int err;

	if (fn == posix_spawnp &&
	    !(spawn.path = gorgon_environment_find_program(environment, path, room)))
		return errno;
	if (!gorgon_children_are_ours(children)) {
		spawn.pid = ret;
		return gorgon_environment_give(environment, envp, call_spawn, &spawn);
	}
	gorgon_signals_find_defaults(children->ns->signals, &defaults);
	with_defaults = add_defaults(attributes, &defaults);
	spawn.attributes = &with_defaults;
	// The program inherits the mask, which is therefore left alone.
	parity = begin_making();
	err = gorgon_environment_give(environment, envp, call_spawn, &spawn);
	block_signals(&saved);
	end_making(children, parity, err ? 0 : pid);
	restore_signals(&saved);
	if (!err && ret)
		*ret = pid;
	return err;
}

int gorgon_children_run_spawn(pid_t *ret, const char *path,
			      const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attributes, char *const *argv,
			      char *const *envp, struct gorgon_children *children)
{
	return run_spawn(posix_spawn, ret, path, actions, attributes, argv, envp, children);
}

int gorgon_children_run_spawnp(pid_t *ret, const char *path,
			       const posix_spawn_file_actions_t *actions,
			       const posix_spawnattr_t *attributes, char *const *argv,
			       char *const *envp, struct gorgon_children *children)
{
	return run_spawn(posix_spawnp, ret, path, actions, attributes, argv, envp, children);
}

void gorgon_children_making_in_child(void)
{
	making[0] = making[1] = 0;
}
