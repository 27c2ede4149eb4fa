// SPDX-License-Identifier: MIT
// loader/python/calls/stop.c, abandon.c: stopping within a limit of time, whatever the program has started.

#define _GNU_SOURCE
#include "calls.h"
#include "cases.h"
#include "base/lock.h"
#include "ns/debug_root.h"
#include "skip.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 400
#define ENDS_MS	 3000 // for what ends when it is interrupted, which takes time on a busy machine
#define TRIES	 10

// C code with the GIL: it ends only when this function returns.
static bool spinning, in_spin;

TEST_EXPORT void test_stop_spin(void);
TEST_EXPORT void test_stop_spin(void)
{
	__atomic_store_n(&in_spin, true, __ATOMIC_RELEASE);
	while (__atomic_load_n(&spinning, __ATOMIC_RELAXED))
		continue;
}

// The call that has started the thread needs the GIL to return: it must have returned first.
static bool may_spin;

TEST_EXPORT int test_stop_may_spin(void);
TEST_EXPORT int test_stop_may_spin(void)
{
	return __atomic_load_n(&may_spin, __ATOMIC_RELAXED);
}

struct program {
	const char *name, *source;
	// What the error says of it; NULL: the program ends when it is interrupted.
	const char *named;
};

#define THREAD(body, daemon)                                                                                           \
	"import threading, time\n"                                                                                     \
	"begun = threading.Event()\n"                                                                                  \
	"def forever(to_do=[begun.set]):\n" body "t = threading.Thread(target=forever, daemon=" daemon "); t.start(); begun.wait()\n"

#define BEGUN "  begun.set()\n"
// An interrupt ends a program that is not in the innermost loop yet, so the program says there that it has begun.
#define STUBBORN(what) TEST_ALWAYS("to_do and to_do.pop()(); " what)

static const struct program programs[] = {
	{"a loop", THREAD(BEGUN "  while True: pass\n", "False"), NULL},
	{"a blocked thread", THREAD(BEGUN "  lock = threading.Lock(); lock.acquire(); lock.acquire()\n", "False"), NULL},
	{"a daemon thread in a loop", THREAD(BEGUN "  while True: pass\n", "True"), NULL},
	{"a thread that catches all", THREAD(STUBBORN("time.sleep(1000)"), "False"), "line 10 in forever"},
	{"a loop that catches all", THREAD(STUBBORN("sum(range(1000))"), "False"), " in forever"},
	{"ten threads", THREAD(STUBBORN("time.sleep(1000)"), "False") "for i in range(9): threading.Thread(target=forever).start()\n",
	 "line 10 in forever"},
	{"an executor", "import concurrent.futures as f, time\n"
			"def work():\n"
			"  time.sleep(1000)\n"
			"e = f.ThreadPoolExecutor(); e.submit(work)\n", NULL},
	{"atexit, blocked", "import atexit, time; atexit.register(time.sleep, 1000)\n", NULL},
	{"atexit in a loop", "import atexit\n"
			     "def forever():\n"
			     "  while True: pass\n"
			     "atexit.register(forever)\n", NULL},
	{"atexit that catches all", "import atexit, time\n"
				    "def forever():\n" TEST_ALWAYS("time.sleep(1000)") "atexit.register(forever)\n", "line 9 in forever"},
	{"a finaliser, blocked", "import time\n"
				 "class Late:\n"
				 "  def __del__(self, sleep=time.sleep): sleep(1000)\n"
				 "late = Late()\n", "line 3 in __del__"},
	{"a finaliser in a loop", "class Late:\n"
				  "  def __del__(self):\n"
				  "    while True: pass\n"
				  "late = Late()\n", NULL},
	{"a finaliser that catches all", "import time\n"
					 "def forever(iter=iter, int=int, range=range, sum=sum, BaseException=BaseException):\n" TEST_ALWAYS("sum(range(1000))")
					 "class Late:\n"
					 "  def __del__(self, forever=forever): forever()\n"
					 "late = Late()\n", " in forever"},
	{"C code", "import ctypes\n" THREAD(BEGUN "  while not ctypes.CDLL(None).test_stop_may_spin(): time.sleep(0.001)\n"
				       "  ctypes.PyDLL(None).test_stop_spin()\n", "False"), "test_stop_spin"},
	{"C code in atexit", "import atexit, ctypes; atexit.register(ctypes.PyDLL(None).test_stop_spin)\n", "test_stop_spin"},
};

static const struct program with_timers[] = {
	{"timers, and a finaliser that is blocked", "import signal, time\n"
						    "for which, name in enumerate(('ALRM', 'VTALRM', 'PROF')):\n"
						    "  signal.signal(getattr(signal, 'SIG' + name), lambda *args: None)\n"
						    "  signal.setitimer(which, .002, .002)\n"
						    "class Late:\n"
						    "  def __del__(self, sleep=time.sleep): sleep(1000)\n"
						    "late = Late()\n", "line 6 in __del__"},
};

// Programs of gorgon_interp_main(). SAY_BEGUN tells the test that a program has come to the place
// where the test stops it.
#define SAY_BEGUN "import ctypes; begun = ctypes.CDLL(None).test_stop_begun\n"

static const struct {
	const char *name, *source;
	bool abandoned;
} mains[] = {
	{"ends by itself", SAY_BEGUN "begun()\n", false},
	{"a loop", SAY_BEGUN "begun()\n"
			     "while True: pass\n", false},
	{"a lock", SAY_BEGUN "import threading\n"
			     "lock = threading.Lock(); lock.acquire(); begun(); lock.acquire()\n", false},
	{"a loop that catches all", SAY_BEGUN "def forever(to_do=[begun]):\n" STUBBORN("sum(range(1000))") "forever()\n", true},
	{"atexit that catches all", SAY_BEGUN "import atexit, time\n"
					      "def forever(to_do=[begun]):\n" STUBBORN("time.sleep(1000)") "atexit.register(forever)\n", true},
	// The thread has the lock of the module, and runs no more.
	{"an import that a thread has begun", SAY_BEGUN "import gc, importlib.machinery, sys, threading, time\n"
							"class Slow:\n"
							"  find_spec = lambda self, name, *_: importlib.machinery.ModuleSpec(name, self) if name == 'slow' else None\n"
							"  create_module = lambda self, spec: None\n"
							"  def exec_module(self, module):\n"
							"    imports.set()\n"
							"    while True: time.sleep(0.0005)\n"
							"class Late:\n"
							"  def __del__(self):\n"
							"    begun()\n"
							"    import slow\n"
							"gc.disable()\n"
							"late = Late(); late.me = late; del late\n"
							"imports = threading.Event()\n"
							"sys.meta_path.insert(0, Slow())\n"
							"threading.Thread(target=__import__, args=('slow',), daemon=True).start()\n"
							"imports.wait()\n", true},
};

static sem_t main_has_begun;

TEST_EXPORT void test_stop_begun(void);
TEST_EXPORT void test_stop_begun(void)
{
	sem_post(&main_has_begun);
}

static unsigned long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000 + (unsigned long)ts.tv_nsec / 1000000;
}

static struct gorgon_abandoned_stats abandoned(void)
{
	struct gorgon_abandoned_stats stats = {.size = sizeof(stats)};

	assert_ok(gorgon_abandoned_get_stats(&stats));
	return stats;
}

static uint64_t abandoned_count(void)
{
	struct gorgon_abandoned_stats stats = abandoned();

	if (stats.count)
		assert_true(stats.bytes / stats.count > 1 << 20); // at least libpython's own data
	return stats.count;
}

// The state that debuggers and gorgon-symdump read.
static uint32_t shown_state(const struct gorgon_interp *interp)
{
	const struct gorgon_debug_ns *ns = (void *)(uintptr_t)gorgon_debug_root.ns_head;

	while (ns && ns->interp != gorgon_interp_number(interp))
		ns = (void *)(uintptr_t)ns->next;
	assert_non_null(ns);
	return ns->state;
}

// A thread has little time to say where it is. On a busy machine it may not come to that, and the message has its number and name
// alone; or it is still on its way back to where the last interrupt has met it; or Python has not come to the finaliser yet.
static bool tells_less(const char *message)
{
	const char *last = strrchr(message, ')');

	return strstr(message, "(test_stop);") || (last && !last[1]) || strstr(message, " in forever") || !strstr(message, "File ");
}

// The waits of this test are long: that the call comes back is asserted, and that it does so long before the test would.
// Returns false if the message tells less than it should, for a reason that may be the machine's.
static bool stop_program(struct gorgon_interp *interp, const struct program *program)
{
	unsigned long begin = now_ms(), took;
	struct gorgon_error *err = gorgon_interp_stop_within(interp, program->named ? LIMIT_MS : ENDS_MS);

	took = now_ms() - begin;
	if (took > 10 * ENDS_MS)
		fail_msg("%s: took %lu ms", program->name, took);
	if (program->named) {
		bool named = err && strstr(gorgon_error_message(err), program->named);

		if (gorgon_error_code(err) != GORGON_ERROR_ABANDONED || (!named && !tells_less(gorgon_error_message(err))))
			fail_msg("%s: expected abandoned, and %s: %s", program->name, program->named,
				 err ? gorgon_error_message(err) : "(no error)");
		assert_int_equal(shown_state(interp), GORGON_DEBUG_NS_ABANDONED);
		assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_ABANDONED, "was abandoned");
		assert_error(gorgon_interp_stop_within(interp, LIMIT_MS), GORGON_ERROR_ABANDONED, named ? program->named : "thread ");
		gorgon_error_destroy(err);
		return named;
	}
	if (err)
		fail_msg("%s: %s", program->name, gorgon_error_message(err));
	return true;
}

static void still_computes(struct gorgon_interp *interp)
{
	run(interp, "assert sum(i * i for i in range(1000)) == 332833500\n");
}

static bool run_and_stop(const struct program *program, struct gorgon_interp *bystander)
{
	struct gorgon_interp *interp = start();
	uint64_t before = abandoned_count();
	struct gorgon_error *err;
	bool named;

	__atomic_store_n(&spinning, true, __ATOMIC_RELAXED);
	__atomic_store_n(&may_spin, false, __ATOMIC_RELAXED);
	__atomic_store_n(&in_spin, false, __ATOMIC_RELAXED);
	run(interp, program->source);
	__atomic_store_n(&may_spin, true, __ATOMIC_RELAXED);
	while (strstr(program->source, "may_spin") && !__atomic_load_n(&in_spin, __ATOMIC_ACQUIRE))
		usleep(1000);
	named = stop_program(interp, program);
	assert_int_equal(abandoned_count(), before + !!program->named);
	// Its timers must not signal the process any more, which has the default for their signals.
	for (clock_t begin = clock(); strstr(program->source, "setitimer") && clock() - begin < CLOCKS_PER_SEC / 50;)
		continue;
	still_computes(bystander);
	__atomic_store_n(&spinning, false, __ATOMIC_RELAXED);
	err = gorgon_interp_destroy(interp);
	if (err)
		assert_error(err, GORGON_ERROR_BUSY, "");
	if (!program->named && err)
		fail_msg("%s: not destroyed", program->name);
	return named;
}

static void end_or_abandon(const struct program *tried, size_t count)
{
	struct gorgon_interp *bystander = start();

	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	alarm(300);
	for (size_t i = 0; i < count; i++) {
		bool named = false;

		for (int tries = 0; tries < TRIES && !named; tries++)
			named = run_and_stop(&tried[i], bystander);
		if (!named)
			fail_msg("%s: %s was never named", tried[i].name, tried[i].named);
	}
	destroy(bystander);
	alarm(0);
}

static void stop_within_a_limit_ends_or_abandons(void **state)
{
	(void)state;
	end_or_abandon(programs, sizeof(programs) / sizeof(*programs));
}

static void stop_within_a_limit_ends_timers(void **state)
{
	(void)state;
	end_or_abandon(with_timers, sizeof(with_timers) / sizeof(*with_timers));
}

#define HOGS 8

static bool hogging = true;

static void *hog(void *arg)
{
	while (__atomic_load_n(&hogging, __ATOMIC_RELAXED))
		continue;
	return arg;
}

static int tell(const char *what, struct gorgon_error *err)
{
	fprintf(stderr, "%s: %s\n", what, err ? gorgon_error_message(err) : "no error");
	return 1;
}

// A thread of the interpreter gets a ninth of the processor. The end of an interpreter and the text of an interrupt, for which Python
// imports modules, take longer than the limits then.
static int end_on_a_busy_processor(void *arg)
{
	struct gorgon_pool_opts opts = {.size = sizeof(opts), .count = 1, .job_limit_ms = 10,
					.warm_up = "def f():\n while True: pass\n"};
	struct gorgon_interp *interp;
	const struct gorgon_exception *exception;
	struct gorgon_pool *pool;
	struct gorgon_error *err;
	pthread_t threads[HOGS];
	struct gorgon_job *job;
	cpu_set_t all, one;

	(void)arg;
	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(all), &all);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
	interp = start();
	assert_ok(gorgon_pool_create(&opts, &pool));
	for (size_t i = 0; i < HOGS; i++)
		pthread_create(&threads[i], NULL, hog, NULL);
	if ((err = gorgon_interp_stop_within(interp, 100 * (unsigned)test_every())))
		return tell("an idle interpreter", err);
	assert_ok(gorgon_pool_submit(pool, NULL, "f", NULL, NULL, -1, &job));
	err = gorgon_job_finish(job, NULL);
	exception = gorgon_error_exception(err);
	if (!exception || strcmp(exception->type, "KeyboardInterrupt") != 0)
		return tell("a job", err);
	gorgon_error_destroy(err);
	__atomic_store_n(&hogging, false, __ATOMIC_RELAXED);
	for (size_t i = 0; i < HOGS; i++)
		pthread_join(threads[i], NULL);
	destroy(interp);
	assert_ok(gorgon_pool_destroy(pool));
	return 0;
}

static void busy_machine_uses_up_no_limit(void **state)
{
	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	assert_int_equal(test_in_child(end_on_a_busy_processor, NULL), 0);
}

static bool loading, stopped;

// As a thread that loads a large library.
static void *load_until_stopped(void *arg)
{
	unsigned long begin = now_ms();

	gorgon_lock();
	__atomic_store_n(&loading, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stopped, __ATOMIC_ACQUIRE) && now_ms() < begin + 10 * ENDS_MS)
		usleep(1000);
	gorgon_unlock();
	return __atomic_load_n(&stopped, __ATOMIC_ACQUIRE) ? arg : NULL;
}

static void stop_does_not_wait_for_loads_of_other_threads(void **state)
{
	struct gorgon_interp *interp = start();
	pthread_t thread;
	void *ended;

	(void)state;
	run(interp, THREAD(STUBBORN("time.sleep(1000)"), "False"));
	assert_int_equal(pthread_create(&thread, NULL, load_until_stopped, interp), 0);
	while (!__atomic_load_n(&loading, __ATOMIC_ACQUIRE))
		usleep(1000);
	assert_error(gorgon_interp_stop_within(interp, LIMIT_MS), GORGON_ERROR_ABANDONED, "did not end within");
	__atomic_store_n(&stopped, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, &ended), 0);
	assert_ptr_equal(ended, interp);
	assert_int_equal(shown_state(interp), GORGON_DEBUG_NS_ABANDONED);
	gorgon_error_destroy(gorgon_interp_destroy(interp));
}

// C code that no interrupt ends, with the GIL, and interrupts from half of the limit on.
TEST_EXPORT void test_stop_late(void);
TEST_EXPORT void test_stop_late(void)
{
	unsigned long begin = now_ms();

	while (now_ms() < begin + ENDS_MS * 3 / 4)
		usleep(1000);
}

static int end_behind_late_code(void *source)
{
	struct gorgon_interp *interp = start();
	char text[1000] = "";

	dup2(memfd_create("stderr", 0), STDERR_FILENO);
	run(interp, source);
	assert_ok(gorgon_interp_stop_within(interp, ENDS_MS));
	destroy(interp);
	if (pread(STDERR_FILENO, text, sizeof(text) - 1, 0))
		puts(text);
	fflush(stdout);
	return *text;
}

// The program has no code any more that could be interrupted. Python calls threading._shutdown(), if there is the module.
static void interrupt_after_the_last_function_says_nothing(void **state)
{
	static char *const sources[] = {
		"import atexit, ctypes; atexit.register(ctypes.PyDLL(None).test_stop_late)\n",
		"import atexit, ctypes, sys\n"
		"atexit.register(ctypes.PyDLL(None).test_stop_late)\n"
		"atexit.register(sys.modules.pop, 'threading')\n",
	};

	(void)state;
	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		assert_int_equal(test_in_child(end_behind_late_code, sources[i]), 0);
}

static struct gorgon_interp *slow_to_flush;

// The library's, in place of the C library's: it flushes the host's output when Python has ended.
__attribute__((visibility("hidden"))) int fflush(FILE *stream)
{
	struct gorgon_interp *interp = __atomic_load_n(&slow_to_flush, __ATOMIC_RELAXED);
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};
	unsigned long begin = now_ms();

	// Signals end a sleep early.
	if (interp && !gorgon_interp_get_stats(interp, &stats) && stats.state == GORGON_INTERP_HAS_ENDED)
		while (now_ms() < begin + 2 * LIMIT_MS)
			usleep(1000);
	return fflush_unlocked(stream);
}

// The time is up when Python has ended, and before the thread that has finalised it says so.
static void stop_that_ends_at_the_last_moment_has_ended(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_error *busy;

	(void)state;
	__atomic_store_n(&slow_to_flush, interp, __ATOMIC_RELAXED);
	assert_ok(gorgon_interp_stop_within(interp, LIMIT_MS));
	assert_int_equal(shown_state(interp), GORGON_DEBUG_NS_LIVE);
	__atomic_store_n(&slow_to_flush, NULL, __ATOMIC_RELAXED);
	while ((busy = gorgon_interp_destroy(interp))) {
		assert_int_equal(gorgon_error_code(busy), GORGON_ERROR_BUSY);
		gorgon_error_destroy(busy);
		usleep(10000);
	}
}

static void stop_interrupts_calls_and_destroy_frees_all(void **state)
{
	static const char *const sources[] = {
		REACHED TEST_LOOP,
		REACHED "import time; time.sleep(1000)\n",
		REACHED "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()\n",
	};

	(void)state;
	alarm(120);
	init_waiting();
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct gorgon_interp *interp = start();
		struct thread thread;

		spawn(&thread, interp, sources[i]);
		sem_wait(&reached);
		assert_ok(gorgon_interp_stop_within(
			interp,
			10 * LIMIT_MS)); // the exception's text is made by code that is imported
		assert_raised(join(&thread), "KeyboardInterrupt", "");
		destroy(interp);
	}
	alarm(0);
}

// The host's threads return from their calls, and then nothing keeps the interpreter.
static void calls_into_an_abandoned_interpreter_come_back(void **state)
{
	static const char *const sources[] = {
		"import time\n" REACHED_ALWAYS("time.sleep(1000)"),
		REACHED_ALWAYS("sum(range(1000))"),
		"import threading\n" REACHED_ALWAYS("threading.Event().wait()"),
		"import sys; sys.setswitchinterval(0.5)\n" REACHED_ALWAYS("sum(range(1000))"),
	};
	uint64_t before = abandoned_count();

	(void)state;
	alarm(120);
	init_waiting();
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct gorgon_interp *interp = start();
		struct thread threads[3];

		for (int j = 0; j < 3; j++) {
			spawn(&threads[j], interp, sources[i]);
			sem_wait(&reached);
		}
		assert_error(gorgon_interp_stop_within(interp, LIMIT_MS), GORGON_ERROR_ABANDONED, "thread ");
		for (int j = 0; j < 3; j++)
			assert_error(join(&threads[j]), GORGON_ERROR_ABANDONED, "did not end within");
		destroy(interp);
	}
	assert_int_equal(abandoned_count(), before);
	alarm(0);
}

static struct gorgon_interp *called_back;
static struct gorgon_error *from_inside;
static bool host_went_on;

TEST_EXPORT void test_stop_call_back(void);
TEST_EXPORT void test_stop_call_back(void)
{
	from_inside = gorgon_interp_run_string(called_back, REACHED_ALWAYS("sum(range(1000))"), NULL);
	host_went_on = true;
}

// A stop does not jump over a function of the host, which may hold locks of the host.
static void functions_of_the_host_between_two_calls_go_on(void **state)
{
	struct gorgon_interp *interp = called_back = start();
	struct thread thread;

	(void)state;
	alarm(120);
	init_waiting();
	spawn(&thread, interp, "import ctypes; ctypes.CDLL(None).test_stop_call_back()\nwhile True: pass\n");
	sem_wait(&reached);
	assert_error(gorgon_interp_stop_within(interp, LIMIT_MS), GORGON_ERROR_ABANDONED, "");
	assert_error(join(&thread), GORGON_ERROR_ABANDONED, "");
	assert_error(from_inside, GORGON_ERROR_ABANDONED, "");
	assert_true(host_went_on);
	destroy(interp);
	alarm(0);
}

// Pages that were never written to do not count; a thread's stack counts for the interpreter.
static void abandoned_memory_is_what_is_resident(void **state)
{
	static const char memory[] = "import mmap\n"
				     "m = mmap.mmap(-1, 256 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
				     "for i in range(0, 16 << 20, 4096): m[i] = 1\n";
	struct gorgon_interp *interp = start();
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};
	struct gorgon_abandoned_stats before = abandoned();
	uint64_t bytes;

	(void)state;
	alarm(120);
	run(interp, memory);
	run(interp, programs[3].source);
	assert_error(gorgon_interp_stop_within(interp, LIMIT_MS), GORGON_ERROR_ABANDONED, "");
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	assert_true(stats.mapped_bytes > 256 << 20);
	assert_true(stats.stack_bytes > 4096);
	bytes = abandoned().bytes - before.bytes;
	assert_in_range(bytes, (16 << 20) + stats.heap_bytes + stats.private_bytes + stats.stack_bytes, 64 << 20);
	assert_error(gorgon_interp_destroy(interp), GORGON_ERROR_BUSY, "");
	alarm(0);
}

// A forked child has no parked threads, and a parked thread delays neither fork() nor exit().
static void fork_and_exit_with_parked_threads(void **state)
{
	struct gorgon_interp *interp = start(), *other = start();
	uint64_t before;
	int status;
	pid_t pid;

	(void)state;
	alarm(120);
	run(interp, programs[5].source);
	assert_error(gorgon_interp_stop_within(interp, LIMIT_MS), GORGON_ERROR_ABANDONED, "");
	before = abandoned_count();
	assert_error(gorgon_interp_destroy(interp), GORGON_ERROR_BUSY, "");
	pid = fork();
	if (!pid) {
		// The child has its own copies of their stacks, and no thread uses them.
		gorgon_error_destroy(gorgon_interp_destroy(interp));
		exit(abandoned_count() < before ? 7 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	run(other, "import subprocess; assert subprocess.run(['true']).returncode == 0\n"
		   "import os\n"
		   "pid = os.fork()\n"
		   "if not pid: os._exit(3)\n"
		   "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3\n");
	destroy(other);
	alarm(0);
}

// What the interpreter's libraries have registered for the end is code that is not there any more.
static void end_of_the_process_calls_nothing_of_an_abandoned_interpreter(void **state)
{
	int status;
	pid_t pid;

	SKIP_UNDER_TSAN("the thread sanitizer follows 64 locks at most of those that fork() takes");
	SKIP_UNDER_ASAN("a lock of the sanitizer that another thread holds at fork() stays taken");
	(void)state;
	pid = fork();
	if (!pid) {
		struct gorgon_interp *interp = start();
		struct gorgon_error *err;
		struct thread thread;
		char source[1024];

		alarm(120);
		init_waiting();
		snprintf(source, sizeof(source), "import ctypes, time\nctypes.CDLL('%s').ends_late()\n%s",
			 test_module("libends_a.so"), REACHED_ALWAYS("time.sleep(1000)"));
		spawn(&thread, interp, source);
		sem_wait(&reached);
		err = gorgon_interp_stop_within(interp, LIMIT_MS);
		if (gorgon_error_code(err) != GORGON_ERROR_ABANDONED)
			_exit(1);
		gorgon_error_destroy(err);
		err = join(&thread);
		if (gorgon_error_code(err) != GORGON_ERROR_ABANDONED || gorgon_interp_destroy(interp))
			_exit(2);
		gorgon_error_destroy(err);
		exit(7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

// With a limit of time Python ends as it does without.
static void stop_within_a_limit_is_an_ordinary_end(void **state)
{
	struct gorgon_interp *interp = start();
	char path[] = "/tmp/gorgon-stop-XXXXXX", source[1024], text[64] = "";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	snprintf(source, sizeof(source),
		 "import atexit, os, threading, time\n"
		 "f = os.open('%s', os.O_WRONLY)\n"
		 "def say(word, write=os.write, f=f): write(f, word.encode() + b'\\n')\n"
		 "class Last:\n"
		 "  def __del__(self, say=say): say('finaliser')\n"
		 "last = Last()\n"
		 "def body(): time.sleep(0.05); say('thread')\n"
		 "threading.Thread(target=body).start()\n"
		 "atexit.register(say, 'first'); atexit.register(say, 'second')\n", path);
	run(interp, source);
	assert_ok(gorgon_interp_stop_within(interp, 60000));
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "thread\nsecond\nfirst\nfinaliser\n");
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY, "has ended, and cannot be started again");
	destroy(interp);
	close(fd);
	unlink(path);
}

// As a process's end does with such a thread. (CPython 3.14 has every daemon thread wait that asks for the GIL at the end.)
static void daemon_thread_that_waits_for_signals_ends_with_the_program(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	run(interp, THREAD(BEGUN "  import signal; signal.pause()\n", "True") "time.sleep(0.1)\n");
	assert_ok(gorgon_interp_stop(interp));
	destroy(interp);
}

// At the end of python3 the process ends with them. Here they would keep their interpreter's memory for good.
static void daemon_threads_in_blocking_calls_end_with_the_program(void **state)
{
	struct gorgon_interp *interp = start();

	(void)state;
	run(interp, "import os, queue, select, threading, time\n"
		    "calls = [threading.Event().wait, lambda: threading.Event().wait(1000), lambda: time.sleep(1000),\n"
		    "         queue.SimpleQueue().get, lambda: os.read(os.pipe()[0], 1), lambda: select.select([], [], [])]\n"
		    "begun = threading.Barrier(len(calls) + 1)\n"
		    "def block(call):\n"
		    "  begun.wait()\n"
		    "  call()\n"
		    "for call in calls: threading.Thread(target=block, args=(call,), daemon=True).start()\n"
		    "begun.wait()\n"
		    "time.sleep(0.1)\n");
	assert_ok(gorgon_interp_stop_within(interp, ENDS_MS));
	destroy(interp);
}

struct run_of_main {
	struct gorgon_interp *interp;
	const char *source;
	struct gorgon_error *err;
};

static void *run_main(void *arg)
{
	struct run_of_main *main = arg;
	int status;

	main->err = gorgon_interp_main(main->interp, 2, (const char *const[]){"-c", main->source}, &status);
	return NULL;
}

static void stop_within_a_limit_ends_or_abandons_programs(void **state)
{
	struct gorgon_interp *bystander = start();

	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	(void)state;
	alarm(300);
	sem_init(&main_has_begun, 0, 0);
	for (size_t i = 0; i < sizeof(mains) / sizeof(*mains); i++) {
		struct run_of_main main = {.source = mains[i].source};
		enum gorgon_error_code expected = mains[i].abandoned ? GORGON_ERROR_ABANDONED : GORGON_OK;
		struct gorgon_error *err;
		pthread_t thread;

		assert_ok(gorgon_interp_create(NULL, &main.interp));
		assert_int_equal(pthread_create(&thread, NULL, run_main, &main), 0);
		sem_wait(&main_has_begun);
		err = gorgon_interp_stop_within(main.interp, mains[i].abandoned ? LIMIT_MS : ENDS_MS);
		pthread_join(thread, NULL);
		// What ends by itself may have ended before the stop.
		if (!i && gorgon_error_code(err) == GORGON_ERROR_BUSY) {
			gorgon_error_destroy(err);
			err = NULL;
		}
		if (gorgon_error_code(err) != expected || gorgon_error_code(main.err) != expected)
			fail_msg("%s: %s, and the program: %s", mains[i].name, err ? gorgon_error_message(err) : "ended",
				 main.err ? gorgon_error_message(main.err) : "ended");
		gorgon_error_destroy(err);
		gorgon_error_destroy(main.err);
		gorgon_error_destroy(gorgon_interp_destroy(main.interp));
		still_computes(bystander);
	}
	destroy(bystander);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(daemon_thread_that_waits_for_signals_ends_with_the_program),
		cmocka_unit_test(daemon_threads_in_blocking_calls_end_with_the_program),
		cmocka_unit_test(stop_within_a_limit_is_an_ordinary_end),
		cmocka_unit_test(stop_that_ends_at_the_last_moment_has_ended),
		cmocka_unit_test(interrupt_after_the_last_function_says_nothing),
		cmocka_unit_test(busy_machine_uses_up_no_limit),
		cmocka_unit_test(stop_does_not_wait_for_loads_of_other_threads),
		cmocka_unit_test(stop_interrupts_calls_and_destroy_frees_all),
		cmocka_unit_test(calls_into_an_abandoned_interpreter_come_back),
		cmocka_unit_test(functions_of_the_host_between_two_calls_go_on),
		cmocka_unit_test(stop_within_a_limit_ends_or_abandons),
		cmocka_unit_test(stop_within_a_limit_ends_timers),
		cmocka_unit_test(stop_within_a_limit_ends_or_abandons_programs),
		cmocka_unit_test(end_of_the_process_calls_nothing_of_an_abandoned_interpreter),
		cmocka_unit_test(abandoned_memory_is_what_is_resident),
		cmocka_unit_test(fork_and_exit_with_parked_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
