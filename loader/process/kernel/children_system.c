// SPDX-License-Identifier: MIT
// system(3) of a program.
//
// The C library's system() makes the whole process ignore SIGINT and SIGQUIT meanwhile: a Ctrl-C
// would reach no other program, nor the host. Its child would belong to no program, and a host that
// waits for any child could take it. Here the child is the program's, and the two signals are kept
// from the calling thread alone: such a signal for the thread is dropped. On the interpreter's main
// thread, where handlers run, that is what a process sees.
//
// Waiting is no cancellation point here.

#define _GNU_SOURCE
#include "children.h"
#include "signals.h"
#include "ns/ns.h"
#include "process/libc/process_variables.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int kept[] = {SIGINT, SIGQUIT};

static pid_t wait_for(pid_t pid, int *status, struct gorgon_children *children)
{
	pid_t ret;

	do
		ret = gorgon_children_waitpid(pid, status, 0, children);
	while (ret < 0 && errno == EINTR);
	return ret;
}

// The child has the caller's mask, and both signals at their default unless they are ignored.
static int spawn_shell(const char *command, const sigset_t *mask, pid_t *pid,
		       struct gorgon_children *children)
{
	posix_spawnattr_t attributes;
	char *argv[] = {"sh", "-c", "--", (char *)command, NULL};
	sigset_t defaults;
	bool held;
	int err;

	if ((err = posix_spawnattr_init(&attributes)))
		return err;
	sigemptyset(&defaults);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (!gorgon_signals_ignores(children->ns->signals, kept[i]))
			sigaddset(&defaults, kept[i]);
	posix_spawnattr_setsigmask(&attributes, mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	*pid = 0;
	held = gorgon_process_variables_hold();
	err = gorgon_children_run_spawn(pid, "/bin/sh", NULL, &attributes, argv,
					gorgon_process_variables_list(), children);
	gorgon_process_variables_let_go(held);
	posix_spawnattr_destroy(&attributes);
	return err;
}

// Drop the two signals that have come meanwhile, unless the caller blocks them itself.
static void drop_signals(const sigset_t *mask)
{
	const struct timespec now = {0, 0};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (!sigismember(mask, kept[i]))
			sigaddset(&set, kept[i]);
	while (sigtimedwait(&set, NULL, &now) > 0)
		continue;
}

int gorgon_children_system(const char *command, struct gorgon_children *children)
{
	sigset_t blocked, mask;
	int err, saved, status = -1;
	pid_t pid;

	if (!command)
		return 1; // there is a shell
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		sigaddset(&blocked, kept[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, &mask);
	err = spawn_shell(command, &mask, &pid, children);
	if (err)
		errno = err;
	else if (wait_for(pid, &status, children) < 0)
		status = -1;
	saved = errno;
	drop_signals(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	errno = saved;
	return status;
}
