// SPDX-License-Identifier: MIT
// See calls.h.

#define _GNU_SOURCE
#include "calls.h"

#include <string.h>

sem_t reached, go_on;

struct gorgon_interp *start(void)
{
	return test_interp_start(NULL, NULL);
}

void destroy(struct gorgon_interp *interp)
{
	assert_ok(gorgon_interp_destroy(interp));
}

void run(struct gorgon_interp *interp, const char *source)
{
	assert_ok(gorgon_interp_run_string(interp, source, NULL));
}

void assert_raised(struct gorgon_error *err, const char *type, const char *message)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	if (!exception)
		fail_msg("%s", gorgon_error_message(err));
	assert_string_equal(exception->type, type);
	if (!strstr(exception->message, message))
		fail_msg("\"%s\" has no \"%s\"", exception->message, message);
	gorgon_error_destroy(err);
}

struct gorgon_error *call_f(struct gorgon_interp *interp, struct gorgon_value *arg,
			    struct gorgon_value *ret)
{
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {arg, 1}};

	return gorgon_interp_call(interp, NULL, "f", &args, NULL, ret);
}

struct gorgon_interp *start_with_identity(void)
{
	struct gorgon_interp *interp = start();

	run(interp, "def f(x): return x");
	return interp;
}

void *run_thread(void *arg)
{
	struct thread *thread = arg;

	__atomic_store_n(&thread->err,
			 gorgon_interp_run_string(thread->interp, thread->source, NULL),
			 __ATOMIC_RELEASE);
	return NULL;
}

void spawn(struct thread *thread, struct gorgon_interp *interp, const char *source)
{
	*thread = (struct thread){.interp = interp, .source = source};
	assert_int_equal(pthread_create(&thread->thread, NULL, run_thread, thread), 0);
}

struct gorgon_error *join(struct thread *thread)
{
	pthread_join(thread->thread, NULL);
	return thread->err;
}

void init_waiting(void)
{
	sem_init(&reached, 0, 0);
	sem_init(&go_on, 0, 0);
}

// Python code calls these through ctypes, which releases the GIL meanwhile.
TEST_EXPORT void test_call_reached(void);
TEST_EXPORT void test_call_reached(void)
{
	sem_post(&reached);
}

TEST_EXPORT void test_call_wait(void);
TEST_EXPORT void test_call_wait(void)
{
	sem_post(&reached);
	sem_wait(&go_on);
}
