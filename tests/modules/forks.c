// SPDX-License-Identifier: MIT
// Handlers of fork() that count, and a fork().

#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int forks_register(void);
int forks_register_two(void);
int forks_fork(void);
int forks_ran(int phase);
const char *forks_order(void);

static int ran[3];
static char text[16];

static void prepare(void)
{
	ran[0]++;
	strcat(text, "a");
}

static void parent(void)
{
	ran[1]++;
	strcat(text, "p");
}

static void child(void)
{
	ran[2]++;
}

static void late(void)
{
	strcat(text, "l");
}

// Registers a handler while handlers run: it is called at the next fork().
static void prepare_two(void)
{
	strcat(text, "b");
	pthread_atfork(late, late, late);
}

static void parent_two(void)
{
	strcat(text, "q");
}

int forks_register(void)
{
	return pthread_atfork(prepare, parent, child);
}

int forks_register_two(void)
{
	return pthread_atfork(prepare_two, parent_two, NULL);
}

// Fork. Returns how often handlers have run, as the child counts: 100 times the calls of prepare() plus the calls of child().
int forks_fork(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(100 * ran[0] + ran[2]);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

int forks_ran(int phase)
{
	return ran[phase];
}

const char *forks_order(void)
{
	return text;
}
