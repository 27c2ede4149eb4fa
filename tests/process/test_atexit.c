// SPDX-License-Identifier: MIT
// loader/process/libc/atexit.c: what private code has registered for the end, at the end of the
// process: in exit() and in quick_exit(), while its namespace is there and after that, and in a
// child that an interpreter has forked.

#define _GNU_SOURCE
#include "helpers.h"

#include "ns/ns.h"
#include "process/libc/atexit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t stream_is_held;

struct way {
	const char *symbol; // the function by which a module registers something
	bool destroy;
	void (*end)(int status);
};

static void go(const struct way *way, int fd)
{
	struct gorgon_ns *ns = test_ns();
	struct gorgon_object *object = test_open(ns, "libends_a.so");

	if (!SYMBOL(object, bool (*)(void), way->symbol)())
		_exit(1);
	if (way->destroy)
		test_ns_destroy(ns);
	test_notes_go_to(fd);
	way->end(3);
}

// Forks a child that is ended by @run with status 3. Returns what the child has noted.
static const char *notes_of(void (*run)(const struct way *way, int fd), const struct way *way)
{
	static char notes[256];
	int pipe_fds[2], status;
	ssize_t size;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run(way, pipe_fds[1]);
	close(pipe_fds[1]);
	size = read(pipe_fds[0], notes, sizeof(notes) - 1);
	for (ssize_t n = size; n > 0; size += n)
		n = read(pipe_fds[0], notes + size, sizeof(notes) - 1 - (size_t)size);
	close(pipe_fds[0]);
	notes[size] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
		fail_msg("status %#x after \"%s\"", (unsigned)status, notes);
	return notes;
}

static const char *end_with(const char *symbol, bool destroy, void (*end)(int status))
{
	return notes_of(go, &(struct way){symbol, destroy, end});
}

static void exit_calls_what_is_there_with_the_status(void **state)
{
	(void)state;
	assert_string_equal(end_with("ends_late", false, exit), "-a.late -a.global ");
	assert_string_equal(end_with("ends_nameless", false, exit), "-a.nameless -a.global ");
	assert_string_equal(end_with("ends_status", false, exit), "-a.failed -a.global ");
}

static void exit_after_the_namespace_calls_nothing_again(void **state)
{
	static const char *const symbols[] = {"ends_late", "ends_nameless", "ends_status"};
	static const char *const notes[] = {"-a.late -a.global -a.stop ", "-a.nameless -a.global -a.stop ",
					    "-a.ended -a.global -a.stop "};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(end_with(symbols[i], true, exit), notes[i]);
}

static void quick_exit_calls_what_is_there(void **state)
{
	(void)state;
	assert_string_equal(end_with("ends_quick", false, quick_exit), "-a.quick ");
	assert_string_equal(end_with("ends_status", false, quick_exit), "");
}

static void quick_exit_after_the_namespace_calls_nothing(void **state)
{
	(void)state;
	assert_string_equal(end_with("ends_quick", true, quick_exit), "-a.global -a.stop ");
	assert_string_equal(end_with("ends_status", true, quick_exit), "-a.ended -a.global -a.stop ");
}

static void note_host(void)
{
	test_note("host");
}

static int run_python(struct gorgon_interp *interp, const char *code, const char *module)
{
	const char *argv[] = {"-I", "-c", code, test_module(module)};
	int status = -1;

	assert_ok(gorgon_interp_main(interp, 4, argv, &status));
	return status;
}

static void *hold_stream(void *in)
{
	flockfile(in);
	sem_post(&stream_is_held);
	pause();
	return NULL;
}

// The host has registered something, and one of its threads is reading.
static void fork_from_python(const struct way *way, int fd)
{
	struct gorgon_interp *one = test_interp_create(NULL), *other = test_interp_create(NULL);
	pthread_t thread;
	int status;

	(void)way;
	alarm(120); // ends a child that hangs
	atexit(note_host);
	sem_init(&stream_is_held, 0, 0);
	if (pthread_create(&thread, NULL, hold_stream, stdin))
		_exit(1);
	sem_wait(&stream_is_held);
	test_notes_go_to(fd);
	if (run_python(other, "import ctypes, sys; ctypes.CDLL(sys.argv[1]).ends_late()", "libends_b.so"))
		_exit(1);
	status = run_python(one,
			    "import ctypes, os, sys\n"
			    "ends = ctypes.CDLL(sys.argv[1])\n"
			    "ends.ends_late(); ends.ends_status()\n"
			    "for leave in sys.exit, ctypes.CDLL(None).exit:\n"
			    "    child = os.fork()\n"
			    "    if not child:\n"
			    "        leave(7)\n"
			    "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n",
			    "libends_a.so");
	_exit(status ?: 3);
}

// The host forks: all handlers are there to run in the child.
static void fork_from_host(const struct way *way, int fd)
{
	// With descriptors of its own the program would have called them at its end.
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .files = GORGON_FILES_SHARED};
	struct gorgon_interp *interp = test_interp_create(&opts);
	int status;
	pid_t pid;

	(void)way;
	if (run_python(interp, "import ctypes, sys; ctypes.CDLL(sys.argv[1]).ends_late()", "libends_a.so"))
		_exit(1);
	test_notes_go_to(fd);
	pid = fork();
	if (!pid) {
		atexit(note_host);
		exit(3);
	}
	_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// The child ends as the program of interpreter one does, and not as the host does.
static void exit_of_an_interpreters_child_runs_what_is_its_own(void **state)
{
	(void)state;
	assert_string_equal(notes_of(fork_from_python, NULL),
			    // the program of the other interpreter ends
			    "-b.late -b.global -a.global -b.stop -a.stop "
			    "-a.failed -a.late -a.global -a.stop "
			    "-a.failed -a.late -a.global -a.stop "
			    "-a.ended -a.late -a.global -a.stop "); // the program that has forked
}

// Children of the host end as without interpreters.
static void exit_of_the_hosts_child_runs_all(void **state)
{
	(void)state;
	assert_string_equal(notes_of(fork_from_host, NULL), "host -a.late -a.global ");
}

static struct gorgon_ns *ending;

// The loader registers by this function. When a namespace ends, its functions are called while the C library finds no memory.
int on_exit(void (*fn)(int status, void *arg), void *arg)
{
	int (*real)(void (*)(int, void *), void *) = (int (*)(void (*)(int, void *), void *))dlsym(RTLD_NEXT, "on_exit");

	if (!ending)
		return real(fn, arg);
	gorgon_atexit_run_at_end(gorgon_parts_state(ending->parts, &gorgon_atexit_part), 0);
	return -1;
}

static int register_at_the_end(void *arg)
{
	(void)arg;
	ending = test_ns();
	return SYMBOL(test_open(ending, "libends_a.so"), bool (*)(void), "ends_status")();
}

static void on_exit_without_memory_at_the_end_fails(void **state)
{
	(void)state;
	assert_int_equal(test_in_child(register_at_the_end, NULL), false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_exit_without_memory_at_the_end_fails),
		cmocka_unit_test(exit_calls_what_is_there_with_the_status),
		cmocka_unit_test(exit_after_the_namespace_calls_nothing_again),
		cmocka_unit_test(quick_exit_calls_what_is_there),
		cmocka_unit_test(quick_exit_after_the_namespace_calls_nothing),
		cmocka_unit_test(exit_of_an_interpreters_child_runs_what_is_its_own),
		cmocka_unit_test(exit_of_the_hosts_child_runs_all),
	};

	return cmocka_run_group_tests_name("exits", tests, NULL, NULL);
}
