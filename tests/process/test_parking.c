// SPDX-License-Identifier: MIT
// Tests of loader/process/threads/parking.c: they look at what a thread that is parked holds.
// tests/python/test_stop.c parks the threads of whole interpreters.

#define _GNU_SOURCE
#include "helpers.h"
#include "ns/ns.h"
#include "process/threads/parking.h"
#include "process/part.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

// A namespace with this part alone, and CPython's two mutexes.
static struct gorgon_ns ns;
static struct gorgon_part_state parts[2];
static pthread_mutex_t gil, switches;
static sem_t has_gil, go_on;

static void *parking_function(const char *name)
{
	for (size_t i = 0; i < gorgon_parking_part.bound_count; i++)
		if (!strcmp(gorgon_parking_part.bound[i].name, name))
			return gorgon_parking_part.bound[i].target;
	fail_msg("%s is not bound", name);
	return NULL;
}

static void init_mutex(pthread_mutex_t *mutex)
{
	int (*init)(pthread_mutex_t *, const pthread_mutexattr_t *, void *) =
		(int (*)(pthread_mutex_t *, const pthread_mutexattr_t *, void *))parking_function("pthread_mutex_init");

	assert_int_equal(init(mutex, NULL, parts[0].state), 0);
}

static void destroy_mutex(pthread_mutex_t *mutex)
{
	int (*destroy)(pthread_mutex_t *, void *) = (int (*)(pthread_mutex_t *, void *))parking_function("pthread_mutex_destroy");

	assert_int_equal(destroy(mutex, parts[0].state), 0);
}

// As the thunk of pthread_mutex_lock() does.
static int lock_mutex(pthread_mutex_t *mutex)
{
	int (*lock)(pthread_mutex_t *, void *) = *(int (**)(pthread_mutex_t *, void *))parts[0].state;

	assert_null(parking_function("pthread_mutex_lock"));
	return lock(mutex, parts[0].state);
}

static void leave_thread(void *ctx)
{
	(void)ctx;
	pthread_exit(&ns);
}

static int set_up(void **state)
{
	(void)state;
	ns = (struct gorgon_ns){.parts = parts, .user.on_park = leave_thread};
	parts[0] = (struct gorgon_part_state){&gorgon_parking_part, calloc(1, gorgon_parking_part.state_size)};
	assert_true(gorgon_parking_part.begin(parts[0].state, &ns));
	init_mutex(&gil);
	init_mutex(&switches);
	sem_init(&has_gil, 0, 0);
	sem_init(&go_on, 0, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	destroy_mutex(&gil);
	destroy_mutex(&switches);
	gorgon_parking_part.end(parts[0].state);
	free(parts[0].state);
	return 0;
}

static void *take_gil(void *arg)
{
	lock_mutex(&gil);
	sem_post(&has_gil);
	sem_wait(&go_on);
	lock_mutex(&switches);
	return arg;
}

// The namespace is abandoned while the thread has the mutex of the GIL, and is about to lock that of the switches.
static void thread_that_is_parked_gives_back_what_it_holds(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, take_gil, NULL), 0);
	sem_wait(&has_gil);
	assert_int_equal(pthread_mutex_trylock(&gil), EBUSY);
	gorgon_parking_abandon(&ns);
	sem_post(&go_on);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &ns);
	assert_int_equal(pthread_mutex_trylock(&gil), 0);
	assert_int_equal(pthread_mutex_trylock(&switches), 0);
	pthread_mutex_unlock(&switches);
	pthread_mutex_unlock(&gil);
}

// It holds the GIL's mutex, which the thread that is parked must not give back for it.
static void mutex_of_another_thread_stays_locked(void **state)
{
	pthread_mutex_t destroyed, other;
	pthread_t thread;
	void *result;

	(void)state;
	init_mutex(&destroyed);
	init_mutex(&other);
	destroy_mutex(&destroyed);
	memset(&destroyed, 0xff, sizeof(destroyed)); // is not touched any more
	assert_int_equal(lock_mutex(&other), 0);
	assert_int_equal(pthread_create(&thread, NULL, take_gil, NULL), 0);
	sem_wait(&has_gil);
	gorgon_parking_abandon(&ns);
	sem_post(&go_on);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_int_equal(pthread_mutex_trylock(&other), EBUSY);
	pthread_mutex_unlock(&other);
	destroy_mutex(&other);
}

static void give_up(void)
{
	pthread_exit(NULL);
}

static void *take_in_a_hurry(void *arg)
{
	struct gorgon_gil_deadline hurry = {&ns, 0, give_up, false};

	gorgon_parking_set_deadline(&hurry);
	lock_mutex(&gil);
	lock_mutex(&switches);
	pthread_mutex_unlock(&switches);
	pthread_mutex_unlock(&gil);
	return arg;
}

// Between two mutexes nobody gives up, also if it is late: a wait for the GIL is what is long.
static void thread_in_a_hurry_gets_the_mutexes_of_an_abandoned_namespace(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	gorgon_parking_abandon(&ns);
	assert_int_equal(pthread_create(&thread, NULL, take_in_a_hurry, &ns), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(thread_that_is_parked_gives_back_what_it_holds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mutex_of_another_thread_stays_locked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(thread_in_a_hurry_gets_the_mutexes_of_an_abandoned_namespace, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
