// SPDX-License-Identifier: MIT
// Threads that private code starts, thread-specific keys with destructors, and
// destructors registered with __cxa_thread_atexit.

#include "note.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

extern void *__dso_handle;
extern int __cxa_thread_atexit(void (*fn)(void *), void *arg, void *dso);

int thread_start(void);
void thread_release(void);
int thread_join(void);
int thread_key_create(void);
int thread_key_set(const char *text);
int thread_key_delete(void);
int thread_atexit(const char *text);
int thread_start_detached(void);

static pthread_t thread;
static pthread_key_t key;
static int released;
__thread int thread_counter = 1;

static void *wait_for_release(void *arg)
{
	while (!__atomic_load_n(&released, __ATOMIC_ACQUIRE))
		usleep(1000);
	thread_counter++;
	return arg;
}

int thread_start(void)
{
	__atomic_store_n(&released, 0, __ATOMIC_RELEASE);
	return pthread_create(&thread, NULL, wait_for_release, &released);
}

void thread_release(void)
{
	__atomic_store_n(&released, 1, __ATOMIC_RELEASE);
}

int thread_join(void)
{
	void *ret = NULL;

	return pthread_join(thread, &ret) || ret != &released ? -1 : 0;
}

static void *sleep_a_little(void *arg)
{
	usleep(100000);
	return arg;
}

int thread_start_detached(void)
{
	pthread_t id;

	return pthread_create(&id, NULL, sleep_a_little, NULL) || pthread_detach(id) ? -1 : 0;
}

static void note(void *text)
{
	test_note(text);
}

int thread_key_create(void)
{
	return pthread_key_create(&key, note);
}

int thread_key_set(const char *text)
{
	return pthread_setspecific(key, text);
}

int thread_key_delete(void)
{
	return pthread_key_delete(key);
}

int thread_atexit(const char *text)
{
	return __cxa_thread_atexit(note, (void *)text, &__dso_handle);
}
