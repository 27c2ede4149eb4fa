// SPDX-License-Identifier: MIT
// loader/python/calls/interrupt.c: interrupts of threads that are not Python's main thread, in blocking calls.

#define _GNU_SOURCE
#include "calls.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct kind {
	const char *name, *source;
};

static const struct kind kinds[] = {
	{"sleep", "time.sleep(1000)"},
	{"accept", "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()"},
	{"recv", "a, b = socket.socketpair(); a.recv(1)"},
	{"Lock.acquire", "l = threading.Lock(); l.acquire(); l.acquire()"},
	{"with a lock", "l = threading.Lock(); l.acquire()\nwith l:\n  reached_inside = True"},
	{"Lock.acquire with a time limit", "l = threading.Lock(); l.acquire(); l.acquire(timeout=1000)"},
	{"RLock.acquire", "taken.acquire()"},
	{"Condition.wait", "c = threading.Condition()\nwith c: c.wait()"},
	{"queue.get", "queue.Queue().get()"},
	{"SimpleQueue.get", "queue.SimpleQueue().get()"},
	{"Event.wait", "threading.Event().wait()"},
	{"os.read", "p = os.pipe(); os.read(p[0], 1)"},
	{"input", "p = os.pipe(); sys.stdin = open(p[0]); input()"},
	{"select", "p = os.pipe(); select.select([p[0]], [], [])"},
	{"poll", "p = os.pipe(); q = select.poll(); q.register(p[0]); q.poll()"},
	{"waitpid", "os.waitpid(child.pid, 0)"},
	{"join", "sleeper.join()"},
	{"a loop", "\nwhile True: pass"},
};

// taken: held by the main thread. sleeper: a thread that nobody may interrupt, so it is started by the host's call and
// has an answer to each interrupt.
static const char set_up[] =
	"import os, queue, select, signal, socket, subprocess, sys, threading, time\n"
	"results, sleeping = {}, True\n"
	"taken = threading.RLock(); taken.acquire()\n"
	"child = subprocess.Popen(['sleep', '1000'], stdin=-3, stdout=-3, stderr=-3)\n"
	"def sleep():\n"
	"  while sleeping:\n"
	"    try: time.sleep(1000)\n"
	"    except KeyboardInterrupt: pass\n"
	"sleeper = threading.Thread(target=sleep); sleeper.start()\n"
	// CPython 3.11 does not begin a traced function while a thread's exception seems to be due.
	"def trace():\n"
	"  sys.settrace(lambda *args: None); traced(); sys.settrace(None)\n"
	"def traced(): pass\n"
	"def body(name, source):\n"
	"  try:\n"
	"    started.set(); exec(source, globals()); results[name] = 'came back'\n"
	"  except BaseException as e:\n"
	"    results[name] = repr(type(e))\n"
	"    for i in range(1000): pass\n"
	"    time.sleep(0.01)\n" // nothing of the interrupt is left
	"    threading.Lock().acquire()\n"
	"    trace()\n"
	"    results[name] += ', once'\n"
	"def begin(name, source):\n"
	"  global t, started\n"
	"  started = threading.Event()\n"
	"  t = threading.Thread(target=body, args=(name, source)); t.start(); started.wait(); time.sleep(0.05)\n"
	"def check(name):\n"
	"  t.join(20)\n"
	"  assert not t.is_alive(), name + ' was not interrupted'\n"
	"  assert results[name] == \"<class 'KeyboardInterrupt'>, once\", (name, results[name])\n"
	"  assert 'reached_inside' not in globals()\n"
	"  assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n";

static const char tear_down[] = "sleeping = False; child.kill(); child.wait()\n";

static void call(struct gorgon_interp *interp, const char *function, const struct kind *kind)
{
	struct gorgon_value items[2] = {
		{.kind = GORGON_VALUE_STRING, .text = {kind->name, strlen(kind->name)}},
		{.kind = GORGON_VALUE_STRING, .text = {kind->source, strlen(kind->source)}},
	};
	struct gorgon_value args = VALUE_LIST(items);

	args.list.count = !strcmp(function, "begin") ? 2 : 1;
	assert_ok(gorgon_interp_call(interp, NULL, function, &args, NULL, NULL));
}

static void interrupt_threads_that_python_has_started(void **state)
{
	struct gorgon_interp *interp;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	interp = start();
	alarm(120); // instead of a hang
	run(interp, set_up);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		call(interp, "begin", &kinds[i]);
		assert_ok(gorgon_interp_interrupt(interp));
		call(interp, "check", &kinds[i]);
	}
	run(interp, tear_down);
	assert_ok(gorgon_interp_interrupt(interp)); // the sleeper
	destroy(interp);
	alarm(0);
}

static void interrupt_calls_of_the_host_on_other_threads(void **state)
{
	struct gorgon_interp *interp;
	struct thread thread;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	interp = start();
	alarm(120);
	init_waiting();
	run(interp, set_up);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char source[512];

		snprintf(source, sizeof(source), REACHED "%s\n", kinds[i].source);
		spawn(&thread, interp, source);
		sem_wait(&reached);
		usleep(50000);
		assert_ok(gorgon_interp_interrupt(interp));
		assert_raised(join(&thread), "KeyboardInterrupt", "");
		run(interp, "trace()\n");
	}
	run(interp, "assert 'reached_inside' not in globals()\n");
	run(interp, tear_down);
	assert_ok(gorgon_interp_interrupt(interp));
	destroy(interp);
	alarm(0);
}

// A program that handles SIGINT itself, on its main thread, has that handler afterwards, and it was not called.
static void interrupt_of_a_thread_leaves_handlers_of_signals_alone(void **state)
{
	struct gorgon_interp *interp;

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	interp = start();
	alarm(120);
	run(interp, "import signal, threading, time\n"
		    "calls = []\n"
		    "handler = lambda *args: calls.append(args)\n"
		    "signal.signal(signal.SIGINT, handler); signal.signal(signal.SIGURG, handler)\n"
		    "def body():\n"
		    "  global ended\n"
		    "  try: time.sleep(1000)\n"
		    "  except KeyboardInterrupt: ended = True\n"
		    "t = threading.Thread(target=body); t.start(); time.sleep(0.1)\n");
	assert_ok(gorgon_interp_interrupt(interp));
	run(interp, "t.join(20); assert ended and calls == []\n"
		    "assert signal.getsignal(signal.SIGINT) is handler\n"
		    "signal.raise_signal(signal.SIGURG); assert len(calls) == 1\n");
	destroy(interp);
	alarm(0);
}

static void interrupt_reaches_threads_of_one_interpreter_only(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	static const char sleeper[] = "import threading, time\n"
				      "ended = []\n"
				      "def body():\n"
				      "  try: time.sleep(1.5); ended.append('slept')\n"
				      "  except KeyboardInterrupt: ended.append('interrupted')\n"
				      "t = threading.Thread(target=body); t.start(); time.sleep(0.05)\n";

	(void)state;
	alarm(120);
	run(interp, sleeper);
	run(other, sleeper);
	assert_ok(gorgon_interp_interrupt(interp));
	run(interp, "t.join(20); assert ended == ['interrupted'], ended");
	run(other, "t.join(20); assert ended == ['slept'], ended");
	destroy(interp);
	destroy(other);
	alarm(0);
}

// C code on the main thread, without the GIL, which ends when a thread of the program has been interrupted.
TEST_EXPORT void test_interrupt_compute(void);
TEST_EXPORT void test_interrupt_compute(void)
{
	sem_post(&reached);
	while (sem_wait(&go_on))
		continue;
}

TEST_EXPORT void test_interrupt_go_on(void);
TEST_EXPORT void test_interrupt_go_on(void)
{
	sem_post(&go_on);
}

static void *interrupt_when_reached(void *interp)
{
	sem_wait(&reached);
	return gorgon_interp_interrupt(interp);
}

// Python handles signals on its main thread. While a thread is interrupted it passes for that, or code of ours does: the SIGINT
// for the call that runs on the main thread must wait for it all the same.
static void interrupt_main_and_others(const char *what)
{
	struct gorgon_interp *interp = start();
	struct gorgon_error *err;
	char source[512];
	pthread_t thread;
	void *refused;

	alarm(60);
	init_waiting();
	snprintf(source, sizeof(source),
		 "import ctypes, threading, time\n"
		 "def body(begun):\n"
		 "  try:\n"
		 "    begun.set()\n"
		 "    while True: %s\n"
		 "  except KeyboardInterrupt: ctypes.CDLL(None).test_interrupt_go_on()\n"
		 "begun = threading.Event()\n"
		 "t = threading.Thread(target=body, args=(begun,)); t.start(); begun.wait(); time.sleep(0.05)\n",
		 what);
	run(interp, source);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_when_reached, interp), 0);
	err = gorgon_interp_run_string(interp, "ctypes.CDLL(None).test_interrupt_compute()\nfor i in range(10): pass\n", NULL);
	pthread_join(thread, &refused);
	assert_ok(refused);
	assert_raised(err, "KeyboardInterrupt", "");
	run(interp, "t.join(20); assert not t.is_alive()\n");
	destroy(interp);
	alarm(0);
}

static void interrupt_main_thread_and_one_in_bytecode(void **state)
{
	(void)state;
	interrupt_main_and_others("pass");
}

static void interrupt_main_thread_and_one_in_a_blocking_call(void **state)
{
	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	interrupt_main_and_others("time.sleep(1000)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupt_threads_that_python_has_started),
		cmocka_unit_test(interrupt_calls_of_the_host_on_other_threads),
		cmocka_unit_test(interrupt_of_a_thread_leaves_handlers_of_signals_alone),
		cmocka_unit_test(interrupt_reaches_threads_of_one_interpreter_only),
		cmocka_unit_test(interrupt_main_thread_and_one_in_bytecode),
		cmocka_unit_test(interrupt_main_thread_and_one_in_a_blocking_call),
	};

	return cmocka_run_group_tests_name("interrupt_threads", tests, test_warm_up, NULL);
}
