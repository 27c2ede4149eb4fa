// SPDX-License-Identifier: MIT
// loader/python/calls/cpu_limit.c: the limit of an interpreter's processor time, for calls of a host.

#define _GNU_SOURCE
#include "calls.h"
#include "skip.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Added to each limit: what the start of an interpreter uses where that is much, as under an emulator. Tenths of a second.
static uint64_t more_ms;

static int measure_a_start(void **state)
{
	struct gorgon_interp *interp = start();
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	(void)state;
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	more_ms = stats.total_cpu_ns / 50000000 * 100;
	destroy(interp);
	return 0;
}

static struct gorgon_interp *start_limited(uint64_t soft_ms, uint64_t hard_ms, uint64_t (*near)(void *, uint64_t), void *ctx)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts)};
	struct gorgon_interp *ret;

	opts.cpu_limit_ms = soft_ms + more_ms;
	opts.cpu_hard_limit_ms = hard_ms ? hard_ms + more_ms : 0;
	opts.near_cpu_limit = near;
	opts.limit_ctx = ctx;
	ret = test_interp_start(&opts, NULL);
	return ret;
}

// What messages call the hard limit where @soft_ms is the other.
static const char *hard_limit(uint64_t soft_ms, const char *more)
{
	static char text[200];

	snprintf(text, sizeof(text), "its hard limit is %.1f s%s", (double)((soft_ms + more_ms) * 5 / 4) / 1000, more);
	return text;
}

#define FOR_EVER "while True: pass\n"
// Computes for 20 ms at a time.
#define COMPUTE                                                                                    \
	"import time\n"                                                                            \
	"def compute(ms):\n"                                                                       \
	"    end = time.thread_time() + ms / 1000\n"                                               \
	"    while time.thread_time() < end: pass\n"

static void call_beyond_the_limit_is_interrupted_once(void **state)
{
	struct gorgon_interp *interp = start_limited(300, 100000, NULL, NULL);
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	(void)state;
	assert_raised(gorgon_interp_run_string(interp, FOR_EVER, NULL), "KeyboardInterrupt", "");
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	assert_int_equal(stats.cpu_limit_ms, 300 + more_ms);
	assert_true(stats.total_cpu_ns >= stats.cpu_limit_ms * 1000000);
	// Calls after that go on until the hard limit.
	run(interp, COMPUTE "compute(150)");
	destroy(interp);
}

static void thread_of_the_interpreter_is_interrupted(void **state)
{
	struct gorgon_interp *interp = start_limited(300, 100000, NULL, NULL);

	(void)state;
	// CPython 3.11 leaves the beginning of "try: while True:" unprotected.
	run(interp, "import itertools, threading\n"
		    "caught = []\n"
		    "def f():\n"
		    "    try:\n"
		    "        for i in itertools.count(): pass\n"
		    "    except KeyboardInterrupt: caught.append(1)\n"
		    "t = threading.Thread(target=f); t.start()\n");
	// The thread computes, the host is elsewhere.
	for (int i = 0; i < 1000; i++) {
		struct gorgon_interp_stats stats = {.size = sizeof(stats)};

		assert_ok(gorgon_interp_get_stats(interp, &stats));
		if (!stats.thread_count)
			break;
		usleep(10000);
	}
	run(interp, "assert caught == [1] and not t.is_alive()");
	destroy(interp);
}

static void interpreter_beyond_the_hard_limit_is_stopped(void **state)
{
	struct gorgon_interp *interp = start_limited(200, 0, NULL, NULL);
	struct gorgon_error *err = NULL;

	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	(void)state;
	alarm(120);
	while (gorgon_error_code(err) != GORGON_ERROR_BUSY || strstr(gorgon_error_message(err), "is being stopped")) {
		if (err && gorgon_error_code(err) != GORGON_ERROR_BUSY)
			assert_raised(err, "KeyboardInterrupt", "");
		else
			gorgon_error_destroy(err);
		err = gorgon_interp_run_string(interp, FOR_EVER, NULL);
	}
	assert_error(err, GORGON_ERROR_BUSY, "was stopped: it has used ");
	assert_error(gorgon_interp_run_string(interp, "pass", NULL), GORGON_ERROR_BUSY, hard_limit(200, ""));
	destroy(interp);
	alarm(0);
}

#define CATCH_ALL "def catch_all():\n" TEST_ALWAYS("sum(range(1000))")

static void what_does_not_end_is_abandoned(void **state)
{
	struct gorgon_interp *interp = start_limited(200, 0, NULL, NULL), *other = start();

	(void)state;
	alarm(120);
	assert_error(gorgon_interp_run_string(interp, CATCH_ALL "catch_all()\n", NULL), GORGON_ERROR_ABANDONED,
		     hard_limit(200, ", and it did not end within 1000 ms: thread "));
	destroy(interp);
	run(other, "assert sum(range(1000)) == 499500");
	destroy(other);
	alarm(0);
}

static void program_that_does_not_end_is_abandoned(void **state)
{
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .cpu_limit_ms = 300};
	const char *const argv[] = {"-c", CATCH_ALL "catch_all()\n"};
	struct gorgon_interp *interp = test_interp_create(&opts);
	int status;

	(void)state;
	alarm(120);
	assert_error(gorgon_interp_main(interp, 2, argv, &status), GORGON_ERROR_ABANDONED,
		     "its hard limit is 0.4 s, and it did not end within 1000 ms: thread ");
	destroy(interp);
	alarm(0);
}

struct host {
	int asked;
	uint64_t used_ms;
};

static uint64_t give_more(void *ctx, uint64_t used_ms)
{
	struct host *host = ctx;

	host->used_ms = used_ms;
	return host->asked++ ? 0 : used_ms + 200;
}

static void host_is_asked_and_may_give_more(void **state)
{
	struct host host = {0};
	struct gorgon_interp *interp = start_limited(200, 0, give_more, &host);
	struct gorgon_interp_stats stats = {.size = sizeof(stats)};

	SKIP_UNDER_TSAN("the thread sanitizer delivers signals later, elsewhere");
	(void)state;
	assert_raised(gorgon_interp_run_string(interp, FOR_EVER, NULL), "KeyboardInterrupt", "");
	assert_ok(gorgon_interp_get_stats(interp, &stats));
	destroy(interp);
	assert_int_equal(host.asked, 2);
	assert_true(host.used_ms >= 400 && stats.cpu_limit_ms >= 400);
}

// Of this process.
static int threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int ret = -2; // "." and ".."

	assert_non_null(folder);
	while (readdir(folder))
		ret++;
	closedir(folder);
	return ret;
}

static void options_that_contradict_are_refused_and_threads_end(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .cpu_limit_ms = 100, .cpu_hard_limit_ms = 50};
	struct gorgon_interp *interp = NULL;
	int before = threads();

	(void)state;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT,
		     "cpu_hard_limit_ms is 50, expected 0, or cpu_limit_ms (100) or more");
	opts.cpu_limit_ms = 0;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT, "cpu_limit_ms (0)");
	assert_null(interp);
	// Never started, and destroyed.
	opts.cpu_limit_ms = 1;
	interp = test_interp_create(&opts);
	assert_int_equal(threads(), before + 1);
	destroy(interp);
	for (int i = 0; threads() != before && i < 1000; i++) // a thread that was joined may be on its way out
		usleep(1000);
	assert_int_equal(threads(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_beyond_the_limit_is_interrupted_once),
		cmocka_unit_test(thread_of_the_interpreter_is_interrupted),
		cmocka_unit_test(interpreter_beyond_the_hard_limit_is_stopped),
		cmocka_unit_test(what_does_not_end_is_abandoned),
		cmocka_unit_test(program_that_does_not_end_is_abandoned),
		cmocka_unit_test(host_is_asked_and_may_give_more),
		cmocka_unit_test(options_that_contradict_are_refused_and_threads_end),
	};

	return cmocka_run_group_tests_name("cpu_limit", tests, measure_a_start, NULL);
}
