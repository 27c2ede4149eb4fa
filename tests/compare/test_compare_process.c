// SPDX-License-Identifier: MIT
// Side by side with the system's linker: what a library has of the process and leaves in
// it: data of the C library, names of the program, threads, keys, handlers.

#define _GNU_SOURCE
#include "compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int get_fn(void);
typedef int text_fn(const char *text);

// libsystem.so refers to this function.
TEST_EXPORT int provided_by_host(int value);
TEST_EXPORT int provided_by_host(int value)
{
	return value * 2;
}

static void data(const struct linker *linker)
{
	void *handle = compare_open(linker, "libsystem.so", 0);
	char *text = FIND(linker, handle, char *(*)(double), "system_format")(2.5);

	say("%d", FIND(linker, handle, FILE *(*)(void), "system_stdout")() == stdout);
	// Our namespace has a copy of the list.
	say("%d", !strcmp((*FIND(linker, handle, char ***(*)(void), "system_environ")())[0], environ[0]));
	say("%d", FIND(linker, handle, get_fn *, "system_errno")() == EBADF);
	say("%s", text);
	free(text); // both sides have the same heap
	say("%d", FIND(linker, handle, int (*)(int), "system_provided")(21));
	linker->close(handle);
}

static void *handle;
static const struct linker *current;

static void call(const char *symbol)
{
	say("%d", FIND(current, handle, get_fn *, symbol)());
}

static void call_with(const char *symbol, const char *text)
{
	say("%d", FIND(current, handle, text_fn *, symbol)(text));
}

static void use(const struct linker *linker, const char *module)
{
	current = linker;
	handle = compare_open(linker, module, 0);
}

static void threads(const struct linker *linker)
{
	use(linker, "libthread.so");
	call("thread_start");
	FIND(linker, handle, void (*)(void), "thread_release")();
	call("thread_join");
	linker->close(handle);
}

static void set_key(void)
{
	call_with("thread_key_set", "-key");
}

static void keys(const struct linker *linker)
{
	use(linker, "libthread.so");
	call("thread_key_create");
	test_on_new_thread(set_key);
	test_on_new_thread(set_key);
	test_on_old_thread(set_key);
	call("thread_key_delete");
	linker->close(handle);
}

static void at_end(void)
{
	call_with("thread_atexit", "-one");
	call_with("thread_atexit", "-two");
}

static void thread_ends(const struct linker *linker)
{
	use(linker, "libthread.so");
	test_on_new_thread(at_end);
	linker->close(handle);
}

static void fork_once(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(3);
	say("%d", waitpid(pid, NULL, 0) == pid);
}

static void forks(const struct linker *linker)
{
	use(linker, "libatfork.so");
	FIND(linker, handle, void (*)(void), "atfork_probe")();
	fork_once();
	linker->close(handle);
	fork_once();
}

static const struct compare_case cases[] = {
	{.name = "process_data_and_names_are_the_same", .run = data, .says = "1 1 1 2.50 text 42"},
	{.name = "process_threads_of_the_library", .run = threads, .says = "0 0"},
	{.name = "process_key_is_destroyed_at_thread_exit", .run = keys,
	 .says = "0 0 -key 0 -key 0 0"},
	{.name = "process_thread_destructors_run_in_reverse", .run = thread_ends,
	 .says = "0 0 -two -one"},
	{.name = "process_fork_handlers_go_with_the_library", .run = forks,
	 .says = "registered=0 prepare parent 1 1"},
};

int main(void)
{
	return COMPARE_RUN("compare_process", cases);
}
