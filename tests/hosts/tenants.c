// SPDX-License-Identifier: MIT
// A host with eight tenants that misbehave, each in an interpreter of its own at a time.
//
//	tenants SECONDS [SEED]
//	tenants faults COUNT
//
// Each tenant, at random: computes and is checked; allocates over its limit; loops for ever; blocks in one of ten
// ways; starts endless threads; has a fault, which the host survives; or catches every exception. Then it is
// stopped with a limit of 500 ms, and destroyed. One line at the end:
//
//	tenants: 812 interpreters, 640 stops, longest 521 ms, late 0 (busy 0), wrong 0, abandoned 93 of which 31 kept with 301234 KiB, grown 310000 KiB and 9000 KiB free
//
// "late" are stops that took more than 600 ms. "busy" are late stops during which a thread that only sleeps, or the thread
// that stops, had to wait for a processor at least as long as the stop took too long; of each other late stop a line says what
// it was. "grown" is how much more memory of its own the
// process has than after its first interpreters; "free" is how much more free room there is between blocks in the C
// library's heaps. With "faults" there are COUNT faults, one after another, while three tenants compute.
//
// Exit status 0, or 1 when a call of the library did what it should not.

#define _GNU_SOURCE
#include <gorgon.h>

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TENANTS	 8
#define LIMIT_MS 500
#define LATE_MS	 600
#define NAP_US	 2000
// No more interpreters may be abandoned with parked threads, whose memory is kept.
#define KEPT_MAX 400

static _Atomic uint64_t end_ms;
// How long a thread that only sleeps has waited for a processor, before the nap that it is in.
static _Atomic uint64_t waited_us, nap_us;
static atomic_uint interps, stops, longest, late, busy, wrong, failures, kept;

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t now_ms(void)
{
	return now_us() / 1000;
}

static void *watch_the_machine(void *arg)
{
	for (;;) {
		nap_us = now_us();
		usleep(NAP_US);
		waited_us += now_us() - nap_us - NAP_US;
	}
	return arg;
}

// With the nap that it should have ended.
static uint64_t sleeper_waited_us(void)
{
	uint64_t before = waited_us, now = now_us(), nap = nap_us;

	return before + (now > nap + NAP_US ? now - nap - NAP_US : 0);
}

// How long the calling thread has been ready to run, and did not; see "schedstat" in proc(5).
static uint64_t own_waited_us(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	unsigned long waited_ns = 0;

	if (file && fscanf(file, "%*u %lu", &waited_ns) != 1)
		waited_ns = 0;
	if (file)
		fclose(file);
	return waited_ns / 1000;
}

static void fail(const char *what, struct gorgon_error *err)
{
	fprintf(stderr, "tenants: %s: %s\n", what, err ? gorgon_error_message(err) : "no error");
	failures++;
}

// --- what tenants do ------------------------------------------------------------------------------

enum kind {
	COMPUTES,     // and its call returns
	ALLOCATES,    // and gets MemoryError
	HAS_FAULT,    // and is abandoned
	RUNS,	      // until its call is interrupted
	STARTS,	      // threads, which end when they are interrupted
	CATCHES,      // every exception, in a call
	STARTS_WORSE, // threads that catch everything
};

struct action {
	enum kind kind;
	const char *source;
};

#define ALWAYS(what) "while True:\n  try:\n    while True:\n      try:\n        while True: " what "\n"                       \
		     "      except BaseException: pass\n  except BaseException: pass\n"
#define THREADS(body)                                                                                                   \
	"import threading, time\n"                                                                                     \
	"def endless():\n" body "for i in range(3): threading.Thread(target=endless).start()\n"

static const struct action actions[] = {
	{COMPUTES, "assert sum(i * i for i in range(20000)) == 2666466670000\n"
		   "import json; assert json.loads(json.dumps(list(range(1000)))) == list(range(1000))\n"},
	{COMPUTES, "import hashlib\n"
		   "assert hashlib.sha256(b'x' * 1000000).hexdigest().startswith('1b977e9f')\n"},
	{ALLOCATES, "kept = []\nwhile True: kept.append(bytearray(1 << 20))\n"},
	{HAS_FAULT, "import ctypes; ctypes.c_int.from_address(0).value = 1\n"},
	{HAS_FAULT, "import ctypes; ctypes.memset(0, 1, 100)\n"},
	{RUNS, "while True: pass\n"},
	{RUNS, "import time; time.sleep(1000)\n"},
	{RUNS, "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()\n"},
	{RUNS, "import socket; a, b = socket.socketpair(); a.recv(1)\n"},
	{RUNS, "import threading; l = threading.Lock(); l.acquire(); l.acquire()\n"},
	{RUNS, "import threading; threading.Event().wait()\n"},
	{RUNS, "import queue; queue.Queue().get()\n"},
	{RUNS, "import os; os.read(os.pipe()[0], 1)\n"},
	// poll(), because abandoned programs leave descriptors open, and select() refuses numbers above 1023.
	{RUNS, "import os, select; p = os.pipe(); q = select.poll(); q.register(p[0]); q.poll()\n"},
	{RUNS, "import subprocess; p = subprocess.Popen(['sleep', '3'], stdin=-3); p.wait()\n"},
	{RUNS, "import threading, time; t = threading.Thread(target=time.sleep, args=(1000,)); t.start(); t.join()\n"},
	{STARTS, THREADS("  while True: pass\n")},
	{STARTS, THREADS("  time.sleep(1000)\n")},
	{CATCHES, ALWAYS("pass")},
	{CATCHES, "import time\n" ALWAYS("time.sleep(1000)")},
	{STARTS_WORSE, THREADS("  while True:\n    try:\n      while True:\n        try: time.sleep(1000)\n"
			       "        except BaseException: pass\n    except BaseException: pass\n")},
};

// --- tenants ----------------------------------------------------------------------------------------

struct call {
	struct gorgon_interp *interp;
	const char *source;
	struct gorgon_error *err;
};

static void *run_call(void *arg)
{
	struct call *call = arg;

	call->err = gorgon_interp_run_string(call->interp, call->source, NULL);
	return NULL;
}

static bool has_exception(const struct gorgon_error *err, const char *type)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	return exception && !strcmp(exception->type, type);
}

// threading.Condition.wait() leaves its lock released when it is interrupted between giving up the lock and its "try", or a second
// time: "release unlocked lock", a RuntimeError that CPython raises while it handles the interrupt.
static bool was_interrupted(const struct gorgon_error *err)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	return exception && strstr(exception->traceback, "\nKeyboardInterrupt");
}

static bool is_right(enum kind kind, const struct gorgon_error *err)
{
	bool abandoned = gorgon_error_code(err) == GORGON_ERROR_ABANDONED;

	switch (kind) {
	case ALLOCATES:
		return has_exception(err, "MemoryError");
	case HAS_FAULT:
		return abandoned;
	case RUNS: // on a busy machine there may be no time left for the exception
	case CATCHES:
		return abandoned || was_interrupted(err);
	default:
		return !err;
	}
}

static void stop(struct gorgon_interp *interp, const char *source)
{
	uint64_t sleeper = sleeper_waited_us(), own = own_waited_us(), begin = now_ms();
	struct gorgon_error *err = gorgon_interp_stop_within(interp, LIMIT_MS);
	unsigned took = (unsigned)(now_ms() - begin), before = longest;

	stops++;
	if (took > LATE_MS) {
		uint64_t late_us = (took - LATE_MS) * UINT64_C(1000);

		sleeper = sleeper_waited_us() - sleeper;
		own = own_waited_us() - own;
		late++;
		if (sleeper >= late_us || own >= late_us)
			busy++;
		else
			fprintf(stderr, "tenants: late: %u ms, the sleeper waited %lu us, this thread %lu us: %s: %s\n", took, sleeper, own, source,
				err ? gorgon_error_message(err) : "no error");
	}
	while (took > before && !atomic_compare_exchange_weak(&longest, &before, took))
		continue;
	if (err && gorgon_error_code(err) != GORGON_ERROR_ABANDONED)
		fail("stop", err);
	gorgon_error_destroy(err);
}

// An abandoned interpreter with parked threads stays. If its calls are about to return it is tried again.
static void destroy(struct gorgon_interp *interp)
{
	struct gorgon_error *err = NULL;

	for (int i = 0; i < 10; i++) {
		gorgon_error_destroy(err);
		if (!(err = gorgon_interp_destroy(interp)))
			return;
		usleep(10000);
	}
	if (gorgon_error_code(err) != GORGON_ERROR_BUSY)
		fail("destroy", err);
	gorgon_error_destroy(err);
	kept++;
}

static void live(const struct action *action, unsigned *seed)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .memory_limit = UINT64_C(64) << 20};
	struct call call = {.source = action->source};
	bool calls = action->kind == RUNS || action->kind == CATCHES;
	struct gorgon_error *err = gorgon_interp_create(&opts, &call.interp);
	pthread_t thread;

	if (err || (err = gorgon_interp_start(call.interp, NULL))) {
		fail("start", err);
		gorgon_error_destroy(err);
		return;
	}
	interps++;
	if (calls && pthread_create(&thread, NULL, run_call, &call))
		abort();
	if (calls)
		usleep(1000 * (useconds_t)(rand_r(seed) % 100));
	else
		run_call(&call);
	stop(call.interp, action->source);
	if (calls)
		pthread_join(thread, NULL);
	if (!is_right(action->kind, call.err) && !(calls && gorgon_error_code(call.err) == GORGON_ERROR_BUSY)) {
		fail(action->source, call.err);
		wrong++;
	}
	gorgon_error_destroy(call.err);
	destroy(call.interp);
}

static void *compute(void *arg)
{
	while (now_ms() < end_ms)
		live(&actions[0], arg);
	return NULL;
}

static void survive(unsigned count)
{
	unsigned seeds[3] = {1, 2, 3};
	pthread_t threads[3];

	end_ms = UINT64_MAX;
	for (unsigned i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, compute, &seeds[i]))
			abort();
	while (count--)
		live(&actions[count % 2 ? 3 : 4], seeds);
	end_ms = 0;
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *tenant(void *arg)
{
	unsigned seed = *(unsigned *)arg;

	while (now_ms() < end_ms) {
		const struct action *action = &actions[(unsigned)rand_r(&seed) % (sizeof(actions) / sizeof(*actions))];

		if (action->kind != STARTS_WORSE || kept < KEPT_MAX)
			live(action, &seed);
	}
	return NULL;
}

// --- the host -----------------------------------------------------------------------------------------

// Tenants write to addresses next to 0. What else goes wrong is told.
static void report_others(void *ctx, const struct gorgon_fault *fault)
{
	const siginfo_t *info = fault->info;

	(void)ctx;
	if ((uintptr_t)info->si_addr >= 4096 && write(STDERR_FILENO, fault->text, fault->text_size) < 0)
		abort();
}

// How much memory belongs to this process alone. Pages of files, which it has in common with others, do not count.
struct memory {
	long all_kib;
	long free_kib; // free room in pages of the C library's heaps that are partly in use
};

// A heap of the C library begins at a multiple of its largest size, or it is the program's heap.
static int is_heap(const char *mapping)
{
	unsigned long start = strtoul(mapping, NULL, 16), inode = 0;
	int is_anonymous = sscanf(mapping, "%*s rw-p %*s %*s %lu", &inode) == 1 && !inode;

	return is_anonymous && (!(start % (64 << 20)) || strstr(mapping, "[heap]"));
}

static struct memory measure(void)
{
	struct memory ret = {0, 0};
	int in_heap = 0;
	long heaps_kib = 0, kib;
	char line[4096];
	FILE *file;

	malloc_trim(0);
	file = fopen("/proc/self/smaps", "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (line[0] < 'A' || line[0] > 'Z') {
			in_heap = is_heap(line);
		} else if (sscanf(line, "Anonymous: %ld kB", &kib) == 1) {
			ret.all_kib += kib;
			heaps_kib += in_heap ? kib : 0;
		}
	}
	if (file)
		fclose(file);
	ret.free_kib = heaps_kib - (long)(mallinfo2().uordblks / 1024);
	return ret;
}

#ifdef __SANITIZE_ADDRESS__
// A thread that is parked leaves what the calls that it was in had allocated: no leak of the others can be told from that.
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
	const struct gorgon_fault_opts opts = {.size = sizeof(opts), .report = report_others, .abandon = true};
	struct gorgon_abandoned_stats stats = {.size = sizeof(stats)};
	unsigned seeds[TENANTS], seed = argc > 2 && atoi(argv[2]) ? (unsigned)atoi(argv[2]) : 1;
	pthread_t threads[TENANTS];
	struct memory first, last;

	if (pthread_create(&threads[0], NULL, watch_the_machine, NULL))
		abort();
	if (argc < 2) {
		fprintf(stderr, "tenants: missing argument: tenants SECONDS [SEED]\n");
		return 2;
	}
	gorgon_error_destroy(gorgon_faults_report(&opts));
	for (int i = 0; i < 3; i++)
		live(&actions[i], &seed);
	first = measure();
	if (!strcmp(argv[1], "faults")) {
		survive(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	} else {
		end_ms = now_ms() + (uint64_t)(atof(argv[1]) * 1000);
		for (unsigned i = 0; i < TENANTS; i++) {
			seeds[i] = seed * 1000 + i;
			if (pthread_create(&threads[i], NULL, tenant, &seeds[i]))
				abort();
		}
		for (unsigned i = 0; i < TENANTS; i++)
			pthread_join(threads[i], NULL);
	}
	gorgon_error_destroy(gorgon_abandoned_get_stats(&stats));
	last = measure();
	printf("tenants: %u interpreters, %u stops, longest %u ms, late %u (busy %u), wrong %u, abandoned %lu of which %lu kept with %lu KiB, "
	       "grown %ld KiB and %ld KiB free\n", interps, stops, longest, late, busy, wrong, stats.total_count, stats.count,
	       stats.bytes / 1024, last.all_kib - last.free_kib - (first.all_kib - first.free_kib), last.free_kib - first.free_kib);
	return wrong || failures;
}
