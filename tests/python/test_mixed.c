// SPDX-License-Identifier: MIT
// Interpreters of different CPythons in one process: a release and a debug build, whose structures differ, and
// other versions where a pyenv has them. Each has its own extensions, exceptions and threads, and is destroyed at
// any time.

#define _GNU_SOURCE
#include "calls.h"
#include "machine.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELEASE "/usr/bin/python" TEST_PYTHON
#define DEBUG	RELEASE "d"
#define COUNT_MAX 5

// f(n) does a bit of everything in threads, and says which CPython has done it.
#define PROGRAM                                                                                    \
	"import _ctypes, _ssl, _sqlite3, ctypes, decimal, hashlib, sqlite3, ssl, sys, threading\n" \
	"try:\n"                                                                                   \
	"    import numpy\n"                                                                       \
	"except ImportError:\n"                                                                    \
	"    numpy = None\n"                                                                       \
	"Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), "                  \
	"ctypes.POINTER(ctypes.c_int))\n"                                                          \
	"def step(n, sums):\n"                                                                     \
	"    try:\n"                                                                               \
	"        raise ValueError(n)\n"                                                            \
	"    except ValueError as error:\n"                                                        \
	"        sums.append(error.args[0])\n"                                                     \
	"    numbers = (ctypes.c_int * 5)(n, 4, 3, 2, 1)\n"                                        \
	"    ctypes.CDLL(None).qsort(numbers, 5, 4, Compare(lambda a, b: a[0] - b[0]))\n"          \
	"    assert list(numbers) == sorted([n, 4, 3, 2, 1])\n"                                    \
	"    assert len(hashlib.new('sha3_256', b'x' * n).digest()) == 32\n"                       \
	"    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()\n"                              \
	"    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n"                                  \
	"    try:\n"                                                                               \
	"        context.wrap_bio(incoming, outgoing, server_hostname='a').do_handshake()\n"       \
	"    except ssl.SSLWantReadError:\n"                                                       \
	"        assert outgoing.pending > 100\n"                                                  \
	"    with sqlite3.connect(':memory:') as db:\n"                                            \
	"        assert db.execute('select ? * 2', (n,)).fetchone() == (2 * n,)\n"                 \
	"    assert decimal.Decimal(n) / 4 * 4 == n\n"                                             \
	"    assert not numpy or numpy.arange(n).sum() == n * (n - 1) // 2\n"                      \
	"def f(n):\n"                                                                              \
	"    sums = []\n"                                                                          \
	"    threads = [threading.Thread(target=step, args=(n + i, sums)) for i in range(4)]\n"    \
	"    for thread in threads: thread.start()\n"                                              \
	"    for thread in threads: thread.join()\n"                                               \
	"    assert sorted(sums) == [n, n + 1, n + 2, n + 3], sums\n"                              \
	"    debug = hasattr(sys, 'gettotalrefcount')\n"                                           \
	"    return [sys.version_info[1], debug, sys.executable, _ctypes.__file__]\n"

struct member {
	const char *python;
	struct gorgon_interp *interp;
	pthread_t thread;
	struct gorgon_error *err;  // of what the thread has done
	struct gorgon_value value; // and its result
};

static void *begin(void *arg)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts)};
	struct member *member = arg;

	opts.python = member->python;
	member->err = gorgon_interp_create(&opts, &member->interp);
	if (!member->err)
		member->err = gorgon_interp_start(member->interp, NULL);
	if (!member->err)
		member->err = gorgon_interp_run_string(member->interp, PROGRAM, NULL);
	return NULL;
}

static void *use(void *arg)
{
	struct gorgon_value number = VALUE_INT(100);
	struct member *member = arg;

	for (int i = 0; i < 5 && !member->err; i++) {
		gorgon_value_deinit(&member->value);
		member->err = call_f(member->interp, &number, &member->value);
	}
	return NULL;
}

// What a member's f() has returned names the CPython that was asked for.
static void check(struct member *member)
{
	const struct gorgon_python *python = gorgon_interp_python(member->interp);
	const struct gorgon_value *items = member->value.list.items;

	assert_int_equal(items[0].integer, python->minor);
	assert_int_equal(items[1].boolean, python->debug);
	assert_string_equal(items[2].text.data, member->python);
	assert_true(!strstr(items[3].text.data, "d-" TEST_MULTIARCH ".so") == !python->debug);
	gorgon_value_deinit(&member->value);
	assert_raised(gorgon_interp_run_string(member->interp, "{}['nothing']", NULL), "KeyError",
		      "nothing");
}

// Runs a function for all members, each on a thread.
static void all(struct member *members, size_t count, void *(*fn)(void *))
{
	for (size_t i = 0; i < count; i++)
		if (fn == begin || members[i].interp)
			assert_int_equal(pthread_create(&members[i].thread, NULL, fn, &members[i]), 0);
	for (size_t i = 0; i < count; i++)
		if (fn == begin || members[i].interp)
			pthread_join(members[i].thread, NULL);
	for (size_t i = 0; i < count; i++)
		assert_ok(members[i].err);
}

// All members are there at once; then they are destroyed one after the other, beginning with @first, while the rest
// works on.
static void live_together(struct member *members, size_t count, size_t first)
{
	all(members, count, begin);
	for (size_t i = 0; i < count; i++) {
		struct member *member = &members[(first + i) % count];

		all(members, count, use);
		for (size_t k = 0; k < count; k++)
			if (members[k].interp)
				check(&members[k]);
		destroy(member->interp);
		member->interp = NULL;
	}
}

static void mixed_release_and_debug_build_live_together(void **state)
{
	struct member members[] = {{.python = RELEASE}, {.python = DEBUG}};

	(void)state;
	if (access(DEBUG, X_OK))
		skip_because("python" TEST_PYTHON "-dbg is not installed");
	test_hide_leaks(true);
	live_together(members, 2, 0);
	live_together(members, 2, 1);
	test_hide_leaks(false);
	assert_int_equal(gorgon_interp_count(), 0);
}

// Finds the versions of a pyenv, or else those of the distribution: a release of Debian has one or two.
static size_t find_versions(glob_t *found, struct member *members)
{
	const char *home = getenv("HOME") ?: "";
	size_t count = 0;
	char pattern[4096], library[64];

	for (unsigned minor = 11; minor <= 15 && count < COUNT_MAX; minor++) {
		snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.%u.*/bin/python3.%u", home, minor,
			 minor);
		if (glob(pattern, found->gl_pathc ? GLOB_APPEND : 0, NULL, found)) {
			snprintf(pattern, sizeof(pattern), "/usr/bin/python3.%u", minor);
			snprintf(library, sizeof(library), "/usr/lib/" TEST_MULTIARCH "/libpython3.%u.so.1.0", minor);
			if (access(library, R_OK) ||
			    glob(pattern, found->gl_pathc ? GLOB_APPEND : 0, NULL, found))
				continue;
		}
		members[count++].python = found->gl_pathv[found->gl_pathc - 1];
	}
	return count;
}

static void mixed_versions_live_together(void **state)
{
	struct member members[COUNT_MAX] = {0};
	glob_t found = {0};
	size_t count = find_versions(&found, members);

	(void)state;
	if (count < 2) {
		globfree(&found);
		skip_because("there are no two CPythons from 3.11 on");
	}
	test_hide_leaks(true);
	for (size_t first = 0; first < count; first++)
		live_together(members, count, first);
	test_hide_leaks(false);
	globfree(&found);
	assert_int_equal(gorgon_interp_count(), 0);
}

// A finaliser that lets go of the GIL, and takes it as code that knows nothing of Python's
// threads does; then it says that it has come to its end.
#define FINALIZER                                                                                  \
	"import ctypes, os, sqlite3\n"                                                             \
	"class End:\n"                                                                             \
	"    def __init__(self):\n"                                                                \
	"        self.me = self\n"                                                                 \
	"        self.callback = ctypes.CFUNCTYPE(None)(lambda: None)\n"                           \
	"        self.write, self.close = os.write, os.close\n"                                    \
	"        self.reader, self.writer = os.pipe()\n"                                           \
	"        self.db = sqlite3.connect(':memory:', check_same_thread=False)\n"                 \
	"    def __del__(self):\n"                                                                 \
	"        self.callback()\n"                                                                \
	"        self.close(self.reader)\n"                                                        \
	"        self.db.close()\n"                                                                \
	"        self.callback()\n"                                                                \
	"        self.close(self.writer)\n"                                                        \
	"        self.write(%d, b'x')\n"                                                           \
	"End()\n"

static void *start_one(void *arg)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts)};
	struct member *member = arg;

	opts.python = member->python;
	member->err = gorgon_interp_create(&opts, &member->interp);
	if (!member->err)
		member->err = gorgon_interp_start(member->interp, NULL);
	return NULL;
}

static void *stop_one(void *arg)
{
	struct member *member = arg;

	member->err = gorgon_interp_destroy(member->interp);
	return NULL;
}

// The interpreter was started on a thread that has ended, and is stopped on a thread that was never in it.
static void check_stop(const char *python)
{
	struct member member = {.python = python};
	char source[2048], got = 0;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	snprintf(source, sizeof(source), FINALIZER, fds[1]);
	pthread_create(&member.thread, NULL, start_one, &member);
	pthread_join(member.thread, NULL);
	assert_ok(member.err);
	run(member.interp, source);
	pthread_create(&member.thread, NULL, stop_one, &member);
	pthread_join(member.thread, NULL);
	assert_ok(member.err);
	close(fds[1]);
	assert_int_equal(read(fds[0], &got, 1), 1);
	assert_int_equal(got, 'x');
	close(fds[0]);
}

static void stop_on_another_thread_lets_finalizers_take_turns(void **state)
{
	struct member members[COUNT_MAX] = {0};
	glob_t found = {0};
	size_t count = find_versions(&found, members);

	(void)state;
	test_hide_leaks(true);
	check_stop(RELEASE);
	for (size_t i = 0; i < count; i++)
		check_stop(members[i].python);
	test_hide_leaks(false);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed_release_and_debug_build_live_together),
		cmocka_unit_test(mixed_versions_live_together),
		cmocka_unit_test(stop_on_another_thread_lets_finalizers_take_turns),
	};

	return cmocka_run_group_tests_name("mixed", tests, test_warm_up, NULL);
}
