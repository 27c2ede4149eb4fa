// SPDX-License-Identifier: MIT
// Threads that private code starts, thread-specific keys with destructors, and
// destructors registered with __cxa_thread_atexit.

#include "note.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

extern void *__dso_handle;
extern int __cxa_thread_atexit(void (*fn)(void *), void *arg, void *dso);

int thread_start(void);
void thread_release(void);
int thread_join(void);
int thread_key_create(void);
int thread_key_set(const char *text);
int thread_key_delete(void);
int thread_keys_many(int count);
int thread_key_get_foreign(pthread_key_t foreign, const void *expected);
int thread_key_rounds(void);
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

// Makes many keys that exist at the same time, each with its value. Returns the number of failures.
int thread_keys_many(int count)
{
	pthread_key_t *keys = calloc((size_t)count, sizeof(*keys));
	int failures = 0;

	for (int i = 0; i < count; i++)
		failures += pthread_key_create(&keys[i], NULL) != 0 ||
			    pthread_getspecific(keys[i]) ||
			    pthread_setspecific(keys[i], &keys[i]) != 0;
	for (int i = 0; i < count; i++)
		failures += pthread_getspecific(keys[i]) != &keys[i];
	for (int i = 0; i < count; i++)
		failures += pthread_key_delete(keys[i]) != 0 || pthread_getspecific(keys[i]) ||
			    pthread_setspecific(keys[i], keys) != EINVAL ||
			    pthread_key_delete(keys[i]) != EINVAL;
	free(keys);
	return failures;
}

// Reads the value of a key that the host has made.
int thread_key_get_foreign(pthread_key_t foreign, const void *expected)
{
	return pthread_getspecific(foreign) == expected && !pthread_setspecific(foreign, &key) &&
			       pthread_getspecific(foreign) == &key
		       ? 0
		       : -1;
}

static tss_t chain;

// A destructor that sets its key once more.
static void next_round(void *text)
{
	test_note(text);
	if (!strcmp(text, "first"))
		tss_set(chain, "second");
}

int thread_key_rounds(void)
{
	return tss_create(&chain, next_round) != thrd_success || tss_set(chain, "first") != thrd_success;
}

int thread_key_delete(void)
{
	return pthread_key_delete(key);
}

int thread_atexit(const char *text)
{
	return __cxa_thread_atexit(note, (void *)text, &__dso_handle);
}
