// SPDX-License-Identifier: MIT
// Children and timers, made and asked for by private code.

#define _GNU_SOURCE
#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way { FORK, VFORK, SPAWN, SPAWNP, PTY, WAYS };

pid_t children_make(enum way way, int status);
pid_t children_sleeper(void);
int children_leave(void);
pid_t children_wait(int *status);
pid_t children_wait3(int *status, int options, struct rusage *usage);
pid_t children_waitpid(pid_t pid, int *status, int options);
int children_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
void children_ignore(void);

int timers_handle(void);
void timers_set(int which, long usec, long interval);
long timers_left(int which);
unsigned timers_alarm(unsigned seconds);
int timers_create(int notify, int value, timer_t *ret);
int timers_start(timer_t timer, long usec);
int timers_delete(timer_t timer);
extern int timers_seen[3], timers_value, timers_code;

static pid_t spawn(int status, int (*fn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
					 const posix_spawnattr_t *, char *const *, char *const *))
{
	char text[20];
	char *argv[] = {"sh", "-c", text, NULL};
	char *envp[] = {NULL};
	pid_t pid;

	snprintf(text, sizeof(text), "exit %d", status);
	return fn(&pid, "/bin/sh", NULL, NULL, argv, envp) ? -1 : pid;
}

static pid_t run_vfork(int status)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(status);
	return pid;
}

pid_t children_make(enum way way, int status)
{
	static int master = -1; // the other end of the terminal that the child opens
	pid_t pid;

	switch (way) {
	case VFORK:
		return run_vfork(status);
	case SPAWN:
		return spawn(status, posix_spawn);
	case SPAWNP:
		return spawn(status, posix_spawnp);
	case PTY:
		close(master);
		pid = forkpty(&master, NULL, NULL, NULL);
		break;
	default:
		pid = fork();
	}
	if (!pid)
		_exit(status);
	return pid;
}

// A child that sleeps until it gets a signal.
pid_t children_sleeper(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;)
		pause();
}

// When vfork() fails it must say so. The process needs a limit of processes for that.
int children_leave(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	return pid < 0 ? errno : 0;
}

pid_t children_wait(int *status)
{
	return wait(status);
}

pid_t children_wait3(int *status, int options, struct rusage *usage)
{
	return wait3(status, options, usage);
}

pid_t children_waitpid(pid_t pid, int *status, int options)
{
	return waitpid(pid, status, options);
}

int children_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	return waitid(type, id, info, options);
}

void children_ignore(void)
{
	signal(SIGCHLD, SIG_IGN);
}

// --- timers -------------------------------------------------------------------------------------

int timers_seen[3], timers_value, timers_code;

static void seen(int number, siginfo_t *info, void *context)
{
	(void)context;
	timers_value = info->si_value.sival_int;
	timers_code = info->si_code;
	__atomic_add_fetch(&timers_seen[number == SIGALRM ? 0 : number == SIGVTALRM ? 1 : 2], 1, __ATOMIC_SEQ_CST);
}

int timers_handle(void)
{
	struct sigaction action = {.sa_sigaction = seen, .sa_flags = SA_SIGINFO};

	return sigaction(SIGALRM, &action, NULL) | sigaction(SIGVTALRM, &action, NULL) |
	       sigaction(SIGPROF, &action, NULL);
}

void timers_set(int which, long usec, long interval)
{
	struct itimerval value = {{interval / 1000000, interval % 1000000}, {usec / 1000000, usec % 1000000}};

	setitimer(which, &value, NULL);
}

long timers_left(int which)
{
	struct itimerval value;

	return getitimer(which, &value) ? -1 : value.it_value.tv_sec * 1000000 + value.it_value.tv_usec;
}

unsigned timers_alarm(unsigned seconds)
{
	return alarm(seconds);
}
