// SPDX-License-Identifier: MIT
// See compare.h.

#define _GNU_SOURCE
#include "compare.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD_SIZE 8192

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

// Where a child writes what it records.
static int record_fd;

void say(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	test_note(text);
}

// Ends a child. After a failure cmocka would go on with the next test, in the child.
static __attribute__((noreturn)) void leave(void)
{
	const char *text = test_notes();

	_exit(write(record_fd, text, strlen(text)) < 0);
}

// --- the two ways ------------------------------------------------------------------

static const char *system_open(const char *path, int flags, void **ret)
{
	*ret = dlopen(path, RTLD_NOW | flags);
	return *ret ? NULL : dlerror();
}

static void *system_find(void *handle, const char *symbol)
{
	return dlsym(handle, symbol);
}

static void system_close(void *handle)
{
	if (dlclose(handle)) {
		say("dlclose: %s", dlerror());
		leave();
	}
}

// Notes come until the very end of the process.
static void system_end(void)
{
	test_notes_go_to(record_fd);
	exit(0);
}

static const struct linker system_linker = {"system", system_open, system_find, system_close, system_end};

static struct gorgon_ns *ns;

static const char *private_open(const char *path, int flags, void **ret)
{
	struct gorgon_object *object;
	struct gorgon_open_opts opts = {.size = sizeof(opts), .flags = flags & RTLD_GLOBAL ? GORGON_OPEN_GLOBAL : 0};
	// The error's text is not freed: the child ends soon.
	struct gorgon_error *err = gorgon_object_open(ns, path, &opts, &object);

	*ret = object;
	return err ? gorgon_error_message(err) : NULL;
}

static void *private_find(void *handle, const char *symbol)
{
	return gorgon_object_find_symbol(handle, symbol, NULL);
}

static void private_close(void *handle)
{
	gorgon_object_close(handle);
}

static void private_end(void)
{
	struct gorgon_error *err = gorgon_ns_destroy(ns);

	if (err)
		say("%s", gorgon_error_message(err));
	leave();
}

static const struct linker private_linker = {"private", private_open, private_find, private_close, private_end};

// --- for cases -----------------------------------------------------------------------

void *compare_open(const struct linker *linker, const char *module, int flags)
{
	void *handle;
	const char *message = linker->open(test_module(module), flags, &handle);

	if (message) {
		say("%s", message);
		leave();
	}
	return handle;
}

void *compare_find(const struct linker *linker, void *handle, const char *symbol)
{
	void *ret = linker->find(handle, symbol);

	if (!ret) {
		say("no symbol %s", symbol);
		leave();
	}
	return ret;
}

void *compare_try(const struct linker *linker, const char *path)
{
	void *handle;
	const char *message = linker->open(path, 0, &handle);

	say("%s", message ? "refused" : "loaded");
	return message ? NULL : handle;
}

static void (*_Atomic old_work)(void);
static pthread_barrier_t old_start, old_end;

static void *old_thread(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_barrier_wait(&old_start);
		old_work();
		pthread_barrier_wait(&old_end);
	}
	return NULL;
}

void test_on_old_thread(void (*fn)(void))
{
	old_work = fn;
	pthread_barrier_wait(&old_start);
	pthread_barrier_wait(&old_end);
}

static void *new_thread(void *arg)
{
	((void (*)(void))arg)();
	return NULL;
}

void test_on_new_thread(void (*fn)(void))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, new_thread, (void *)fn) || pthread_join(thread, NULL)) {
		say("no thread");
		leave();
	}
}

// --- running -------------------------------------------------------------------------

static void run_case(const struct compare_case *test, const struct linker *linker)
{
	void *handle;

	if (test->run) {
		test->run(linker);
		return;
	}
	handle = compare_open(linker, test->module, 0);
	FIND(linker, handle, void (*)(void), test->probe)();
	linker->close(handle);
}

static __attribute__((noreturn)) void run_child(const struct compare_case *test,
						const struct linker *linker)
{
	const char *const share[] = {test->share, NULL};
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .share = share};
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
	struct gorgon_error *err = NULL;
	pthread_t thread;

	// cmocka's handlers of signals would go on with the next test, in the child.
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_DFL);
	alarm(120); // a child that hangs is a failure too
	pthread_barrier_init(&old_start, NULL, 2);
	pthread_barrier_init(&old_end, NULL, 2);
	if (pthread_create(&thread, NULL, old_thread, NULL))
		say("no thread");
	if (linker == &private_linker)
		err = gorgon_ns_create(&opts, &ns);
	if (err)
		say("%s", gorgon_error_message(err));
	else
		run_case(test, linker);
	leave();
}

// Runs the case in a child. @text gets what it records, and the signal that has ended it, if any.
static void record(const struct compare_case *test, const struct linker *linker, char *text)
{
	size_t used = 0;
	ssize_t size;
	int status, fds[2];
	pid_t pid;

	test_notes(); // forget what was noted before
	if (pipe(fds))
		fail_msg("cannot make a pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail_msg("cannot fork");
	if (!pid) {
		close(fds[0]);
		record_fd = fds[1];
		run_child(test, linker);
	}
	close(fds[1]);
	while ((size = read(fds[0], text + used, RECORD_SIZE - 1 - used)) > 0)
		used += (size_t)size;
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid)
		fail_msg("cannot wait");
	if (used && text[used - 1] == ' ')
		used--;
	text[used] = 0;
	if (WIFSIGNALED(status))
		snprintf(text + used, RECORD_SIZE - used, "killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(text + used, RECORD_SIZE - used, "exit status %d", WEXITSTATUS(status));
}

static bool check(const struct linker *linker, const char *found, const char *expected)
{
	bool same = !strcmp(found, expected);

	if (!same)
		print_error("%s linker: \"%s\"\n    expected \"%s\"\n", linker->name, found, expected);
	return same;
}

static void compare(void **state)
{
	const struct compare_case *test = *state;
	static char by_system[RECORD_SIZE], by_us[RECORD_SIZE];
	bool same = true;

	// Where ours is to differ, the table has a reason.
	assert_int_equal(!test->private_says, !test->why);
	if (!SANITIZED || !test->by_caller) {
		record(test, &system_linker, by_system);
		same = check(&system_linker, by_system, test->says);
	}
	record(test, &private_linker, by_us);
	same &= check(&private_linker, by_us, test->private_says ?: test->says);
	if (!same)
		fail();
}

int compare_run(const char *group, const struct compare_case *cases, size_t count)
{
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	int ret;

	if (!tests)
		return 1;
	for (size_t i = 0; i < count; i++)
		tests[i] = (struct CMUnitTest){.name = cases[i].name,
					       .test_func = compare,
					       .initial_state = (void *)&cases[i]};
	ret = _cmocka_run_group_tests(group, tests, count, NULL, NULL);
	free(tests);
	return ret;
}
