// SPDX-License-Identifier: MIT
// Errors as signals, the way cysignals has them: a thread sends its process SIGABRT and goes
// on where the handler jumps to.

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

void jump_install(void);
int jump_out(void);

unsigned jump_taken;

static sigjmp_buf target;
static pthread_t taken_by;

static void on_abort(int number)
{
	(void)number;
	jump_taken++;
	taken_by = pthread_self();
	siglongjmp(target, 1);
}

void jump_install(void)
{
	struct sigaction action = {.sa_handler = on_abort};

	sigaction(SIGABRT, &action, NULL);
}

// Returns NULL when no signal came.
static void *fail(void *ignored)
{
	(void)ignored;
	if (sigsetjmp(target, 1))
		return &jump_taken;
	kill(getpid(), SIGABRT);
	return NULL;
}

// Runs in a thread that ends: whether this thread ran the handler.
int jump_out(void)
{
	pthread_t thread;
	void *ret;

	if (pthread_create(&thread, NULL, fail, NULL))
		return 0;
	pthread_join(thread, &ret);
	return ret && pthread_equal(taken_by, thread);
}
