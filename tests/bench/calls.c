// SPDX-License-Identifier: MIT
// Calls of the C library from a library: each function returns nanoseconds of processor time for each of @count rounds.

#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

double allocate(size_t size, long count)
{
	double begin = now();

	for (long i = 0; i < count; i++) {
		volatile char *p = malloc(size);

		*p = 1;
		free((void *)p);
	}
	return (now() - begin) / (double)count;
}

// Many blocks live at the same time.
double hold(size_t size, long count)
{
	void *blocks[64];
	double begin = now();

	for (long i = 0; i < count / 64; i++) {
		for (int k = 0; k < 64; k++)
			blocks[k] = malloc(size);
		for (int k = 0; k < 64; k++)
			free(blocks[k]);
	}
	return (now() - begin) / (double)count;
}

double clear(size_t size, long count)
{
	double begin = now();

	for (long i = 0; i < count; i++) {
		volatile char *p = calloc(1, size);

		*p = 1;
		free((void *)p);
	}
	return (now() - begin) / (double)count;
}

double resize(size_t size, long count)
{
	void *p = malloc(size);
	double begin = now();

	for (long i = 0; i < count; i++) {
		p = realloc(p, size + (size_t)(i & 1) * size / 2);
		if (!p)
			abort();
	}
	free(p);
	return (now() - begin) / (double)count;
}

double lock(size_t size, long count)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	double begin = now();

	(void)size;
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return (now() - begin) / (double)count;
}

double post(size_t size, long count)
{
	double begin;
	sem_t sem;

	(void)size;
	sem_init(&sem, 0, 1);
	begin = now();
	for (long i = 0; i < count; i++) {
		sem_wait(&sem);
		sem_post(&sem);
	}
	return (now() - begin) / (double)count;
}
