// SPDX-License-Identifier: MIT
// loader/elf/exits.c: what private code has registered for the end, at the end of the process: in
// exit() and in quick_exit(), while its namespace is there and after that.

#define _GNU_SOURCE
#include "helpers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// A module registers by @symbol; then the process ends by @end with status 3. Returns what was noted.
static const char *end_with(const char *symbol, bool destroy, void (*end)(int status))
{
	static char notes[256];
	int pipe_fds[2], status;
	ssize_t size;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct gorgon_ns *ns = test_ns();
		struct gorgon_object *object = test_open(ns, "libends_a.so");

		if (!SYMBOL(object, bool (*)(void), symbol)())
			_exit(1);
		if (destroy)
			test_ns_destroy(ns);
		test_notes_go_to(pipe_fds[1]);
		end(3);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_calls_what_is_there_with_the_status),
		cmocka_unit_test(exit_after_the_namespace_calls_nothing_again),
		cmocka_unit_test(quick_exit_calls_what_is_there),
		cmocka_unit_test(quick_exit_after_the_namespace_calls_nothing),
	};

	return cmocka_run_group_tests_name("exits", tests, NULL, NULL);
}
