// SPDX-License-Identifier: MIT loader/python/calls/import_locks.c, process/threads/semaphores.c,
// process/threads/parking.c: locks of importlib and of CPython, beside interrupts, limits and
// Python's end.

#define _GNU_SOURCE
#include "calls.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

// Code that holds a lock of importlib's in several ways; `held` runs meanwhile, and `done` tells
// that it was not interrupted.
static const char *const holders[] = {
	"import _imp\n_imp.acquire_lock()\ntry: held()\nfinally: _imp.release_lock()\n",
	// A module's lock, while importlib takes it.
	"import _frozen_importlib as b\n"
	"real = b._get_module_lock\n"
	"def slow(name):\n"
	"  lock = real(name)\n"
	"  held()\n"
	"  return lock\n"
	"b._get_module_lock = slow\n"
	"try:\n"
	"  with b._ModuleLockManager('nothing'): pass\n"
	"finally: b._get_module_lock = real\n",
};

static const char set_up[] = "import ctypes, time\n"
			     "done = False\n"
			     "def held():\n"
			     "  global done\n"
			     "  ctypes.CDLL(None).test_call_reached()\n"
			     "  for _ in range(300000): pass\n"
			     "  done = True\n";

static void *interrupt_when_reached(void *arg)
{
	sem_wait(&reached);
	for (int i = 0; i < 3; i++) {
		usleep(1000);
		assert_ok(gorgon_interp_interrupt(arg));
	}
	return NULL;
}

// Where an interrupt comes, and what the program has set for SIGINT there.
static const struct way {
	bool on_thread; // not on Python's main thread
	const char *set_up;
} ways[] = {
	{false, ""},
	{false, "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)"},
	{false, "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"},
	{true, ""},
};

static void interrupt_holder(const char *holder, const struct way *way)
{
	struct gorgon_interp *interp = start();
	pthread_t interrupter;
	struct gorgon_error *err;
	struct thread thread;
	char source[2048];

	init_waiting();
	run(interp, set_up);
	run(interp, way->set_up);
	snprintf(source, sizeof(source), "%sfor _ in iter(int, 1): pass\n", holder);
	assert_int_equal(pthread_create(&interrupter, NULL, interrupt_when_reached, interp), 0);
	if (way->on_thread) {
		spawn(&thread, interp, source);
		err = join(&thread);
	} else {
		err = gorgon_interp_run_string(interp, source, NULL);
	}
	assert_raised(err, "KeyboardInterrupt", "");
	pthread_join(interrupter, NULL);
	run(interp, "assert done\nimport wave");
	destroy(interp);
}

static void interrupts_come_when_locks_of_importlib_are_given_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++)
		for (size_t j = 0; j < sizeof(ways) / sizeof(*ways); j++)
			interrupt_holder(holders[i], &ways[j]);
}

static void interrupt_waiter(const struct way *way)
{
	struct gorgon_interp *interp = start();
	pthread_t interrupter;
	struct gorgon_error *err;
	struct thread thread;

	init_waiting();
	run(interp, "import _frozen_importlib as b, threading\n"
		    "mine = b._ModuleLockManager('wave')\n");
	// The lock is another thread's, which an interrupt does not reach: it has ended.
	run(interp, way->on_thread
			    ? "mine.__enter__()"
			    : "t = threading.Thread(target=mine.__enter__); t.start(); t.join()");
	run(interp, way->set_up);
	assert_int_equal(pthread_create(&interrupter, NULL, interrupt_when_reached, interp), 0);
	if (way->on_thread) {
		spawn(&thread, interp, REACHED "import wave\n");
		err = join(&thread);
	} else {
		err = gorgon_interp_run_string(interp, REACHED "import wave\n", NULL);
	}
	assert_raised(err, "KeyboardInterrupt", "");
	pthread_join(interrupter, NULL);
	run(interp, "mine._lock.owner = threading.get_ident(); mine.__exit__(None, None, "
		    "None)\nimport wave");
	destroy(interp);
}

static void wait_for_a_module_is_interrupted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		interrupt_waiter(&ways[i]);
}

// The lock is never given back. The call cannot be interrupted, and the stop frees it.
static void stop_frees_a_call_that_waits_for_the_import_lock(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_error *err;
	struct thread thread;

	(void)state;
	init_waiting();
	run(interp, "import _imp, ctypes, threading, time\n"
		    "def hold(): _imp.acquire_lock(); begun.set(); time.sleep(1000)\n"
		    "begun = threading.Event()\n"
		    "threading.Thread(target=hold, daemon=True).start(); begun.wait()\n");
	spawn(&thread, interp, "ctypes.CDLL(None).test_call_reached(); _imp.acquire_lock()\n");
	sem_wait(&reached);
	assert_error(gorgon_interp_stop_within(interp, 300), GORGON_ERROR_ABANDONED, "did not end");
	assert_error(join(&thread), GORGON_ERROR_ABANDONED, "");
	err = gorgon_interp_destroy(interp);
	if (err)
		assert_error(err, GORGON_ERROR_BUSY, "");
}

// What is freed is overwritten, so that its use would be noticed.
static void end_with_threads(const char *source, int count)
{
	setenv("PYTHONMALLOC", "malloc", 1);
	mallopt(M_PERTURB, 165);
	for (int i = 0; i < count; i++) {
		struct gorgon_interp *interp = start();
		struct gorgon_error *err;

		run(interp, source);
		assert_ok(gorgon_interp_stop_within(interp, 10000));
		for (int tries = 0; tries < 500 && (err = gorgon_interp_destroy(interp)); tries++) {
			gorgon_error_destroy(err);
			err = NULL;
			usleep(10000);
		}
		assert_null(err);
	}
	mallopt(M_PERTURB, 0);
	unsetenv("PYTHONMALLOC");
}

static void end_of_python_waits_for_threads_that_start(void **state)
{
	(void)state;
	end_with_threads("import _thread, time\n"
			 "def f(): time.sleep(.02)\n"
			 "for _ in range(8): _thread.start_new_thread(f, ())\n",
			 30);
}

static void end_of_python_ends_threads_that_wait_for_the_import_lock(void **state)
{
	(void)state;
	end_with_threads("import _imp, _thread, time\n"
			 "def f(): _imp.acquire_lock()\n"
			 "_imp.acquire_lock()\n"
			 "for _ in range(8): _thread.start_new_thread(f, ())\n"
			 "time.sleep(.01)\n",
			 10);
}

// What gives a module's lock back has memory for it, whatever the interpreter's limit.
static void locks_are_given_back_at_the_limit_of_memory(void **state)
{
	const struct gorgon_interp_opts opts = {
		.size = sizeof(opts), .memory_limit = 64 << 20, .memory_hard_limit = 64 << 20};
	struct gorgon_interp *interp = test_interp_start(&opts, NULL);

	(void)state;
	run(interp, "import _frozen_importlib as b\n"
		    "try: bytearray(128 << 20)\n"
		    "except MemoryError: pass\n"
		    "else: raise AssertionError('there is no limit')\n"
		    "class Lock:\n"
		    "  def __init__(self, lock): self.lock = lock\n"
		    "  def release(self):\n"
		    "    bytearray(128 << 20)\n"
		    "    self.lock.release()\n"
		    "manager = b._ModuleLockManager('nothing')\n"
		    "manager.__enter__()\n"
		    "lock = manager._lock\n"
		    "manager._lock = Lock(lock)\n"
		    "manager.__exit__(None, None, None)\n"
		    "assert not lock.count\n"
		    "try: bytearray(128 << 20)\n"
		    "except MemoryError: pass\n"
		    "else: raise AssertionError('the limit is gone')\n");
	destroy(interp);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupts_come_when_locks_of_importlib_are_given_back),
		cmocka_unit_test(wait_for_a_module_is_interrupted),
		cmocka_unit_test(stop_frees_a_call_that_waits_for_the_import_lock),
		cmocka_unit_test(end_of_python_waits_for_threads_that_start),
		cmocka_unit_test(end_of_python_ends_threads_that_wait_for_the_import_lock),
		cmocka_unit_test(locks_are_given_back_at_the_limit_of_memory),
	};

	alarm(200);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
