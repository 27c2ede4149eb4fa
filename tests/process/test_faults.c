// SPDX-License-Identifier: MIT
// loader/process/faults/faults.c, fault_watch.c: what a host is told of a fault, and what it keeps.

#define _GNU_SOURCE
#include "helpers.h"
#include "machine.h"
#include "ns/ns.h"
#include "process/sample.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// What a child that ends by a signal has seen.
struct seen {
	unsigned reports, handlers;
	int number;
	uint32_t interp;
	bool own_thread, stack_overflow;
	char object[256], function[64];
	char text[8192];
};

static struct seen *seen;

static void note(void *ctx, const struct gorgon_fault *fault)
{
	struct seen *to = ctx;

	to->reports++;
	to->number = fault->number;
	to->interp = fault->interp;
	to->own_thread = fault->thread == gettid();
	to->stack_overflow = fault->stack_overflow;
	if (fault->object)
		strncpy(to->object, fault->object, sizeof(to->object) - 1);
	if (fault->function)
		strncpy(to->function, fault->function, sizeof(to->function) - 1);
	strncpy(to->text, fault->text, sizeof(to->text) - 1);
}

static void note_and_fail(void *ctx, const struct gorgon_fault *fault)
{
	note(ctx, fault);
	*(volatile int *)NULL = 1;
	((struct seen *)ctx)->reports = 1000;
}

static void call_library(const char *function, int argument)
{
	SYMBOL(test_open(test_ns(), "libfaults.so"), int (*)(int), function)(argument);
}

static int set_up(void **state)
{
	(void)state;
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return seen == MAP_FAILED;
}

static void report_to(void (*report)(void *ctx, const struct gorgon_fault *fault))
{
	const struct gorgon_fault_opts opts = {.size = sizeof(opts), .report = report, .ctx = seen};
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		signal(numbers[i], SIG_DFL); // cmocka has handlers of its own
	assert_ok(gorgon_faults_report(&opts));
}

static int write_to_nothing(void *arg)
{
	report_to(arg);
	call_library("fault_write", 0);
	return 0;
}

static void report_names_signal_object_and_function(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(test_in_child(write_to_nothing, note), -SIGSEGV);
	assert_int_equal(seen->reports, 1);
	assert_int_equal(seen->number, SIGSEGV);
	assert_true(seen->own_thread);
	assert_false(seen->stack_overflow);
	assert_true(seen->interp == GORGON_FAULT_NO_INTERP);
	assert_string_equal(strrchr(seen->object, '/'), "/libfaults.so");
	assert_string_equal(seen->function, "fault_write_here");
	assert_non_null(strstr(seen->text, "libfaults.so!fault_write+0x"));
}

static void report_that_has_a_fault_itself_ends_as_without(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(test_in_child(write_to_nothing, note_and_fail), -SIGSEGV);
	assert_int_equal(seen->reports, 1);
	assert_string_equal(seen->function, "fault_write_here");
}

static void count_handler(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	if (++seen->handlers == 3)
		_exit(7);
}

static int write_under_a_handler(void *arg)
{
	const struct gorgon_fault_opts opts = {.size = sizeof(opts), .report = note, .ctx = seen};
	struct sigaction action = {.sa_sigaction = count_handler, .sa_flags = SA_SIGINFO};

	(void)arg;
	sigaction(SIGSEGV, &action, NULL);
	assert_ok(gorgon_faults_report(&opts));
	call_library("fault_write", 0); // the fault comes again each time that the handler returns
	return 0;
}

static void hosts_handler_is_called_after_the_report(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(test_in_child(write_under_a_handler, NULL), 7);
	assert_int_equal(seen->handlers, 3);
	assert_int_equal(seen->reports, 3);
}

static int write_after_the_end(void *arg)
{
	struct sigaction now;

	(void)arg;
	report_to(note);
	gorgon_faults_ignore();
	sigaction(SIGSEGV, NULL, &now);
	assert_true(now.sa_handler == SIG_DFL);
	call_library("fault_write", 0);
	return 0;
}

static void ignore_puts_back_what_was_there(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(test_in_child(write_after_the_end, NULL), -SIGSEGV);
	assert_int_equal(seen->reports, 0);
}

static int raise_in_the_host(void *arg)
{
	(void)arg;
	report_to(note);
	raise(SIGFPE);
	return 0;
}

static void fault_of_the_host_is_of_no_interpreter(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(test_in_child(raise_in_the_host, NULL), -SIGFPE);
	assert_int_equal(seen->reports, 1);
	assert_true(seen->interp == GORGON_FAULT_NO_INTERP);
	assert_non_null(strstr(seen->text, "gorgon: SIGFPE, thread "));
}

static int call_of_the_host(void *arg)
{
	struct gorgon_interp *interp = test_interp_start(NULL, NULL);
	char *code;

	(void)arg;
	report_to(note);
	if (asprintf(&code, "import ctypes; ctypes.CDLL('%s').fault_recurse(0)", test_module("libfaults.so")) < 0)
		return 1;
	gorgon_error_destroy(gorgon_interp_run_string(interp, code, NULL));
	return 0;
}

static void fault_in_a_call_is_the_interpreters(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(test_in_child(call_of_the_host, NULL), -SIGSEGV);
	assert_int_equal(seen->reports, 1);
	assert_true(seen->interp != GORGON_FAULT_NO_INTERP);
	assert_true(seen->stack_overflow);
	assert_string_equal(seen->function, "fault_recurse");
}

// --- hosts that live by faults ------------------------------------------------------------------------

static volatile int *page; // whose protection the handler takes away
static sigjmp_buf beyond;

static void jump_beyond(int number)
{
	(void)number;
	seen->handlers++;
	siglongjmp(beyond, 1);
}

static void open_page(int number)
{
	(void)number;
	seen->handlers++;
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void give_up(int number)
{
	seen->handlers++;
	signal(number, SIG_DFL);
}

static void only_count(int number)
{
	(void)number;
	seen->handlers++;
}

static void write_in_host(void)
{
	*(volatile int *)NULL = 1;
}

static void write_to_page(void)
{
	*page = 1;
}

static void memset_in_host(void)
{
	void *(*volatile function)(void *, int, size_t) = memset;

	function(NULL, 1, 100);
}

static void run_compiled(void)
{
	static const unsigned char code[] = {TEST_CODE_READS_NULL};
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(made, code, sizeof(code));
	__builtin___clear_cache(made, (char *)made + sizeof(code));
	((void (*)(void))made)();
}

static void raise_in_host(void)
{
	raise(SIGSEGV);
}

static void write_in_private(void)
{
	call_library("fault_write", 0);
}

static void write_to_page_in_private(void)
{
	SYMBOL(test_open(test_ns(), "libfaults.so"), int (*)(volatile int *),
	       "fault_write_here")(page);
}

// Who has which fault, what the host's handler does, and how often it and the report are called.
static const struct host {
	const char *name;
	void (*fault)(void);
	void (*handler)(int number);
	int flags, number, status;
	unsigned handlers, reports;
	bool abandon;
} hosts[] = {
	{"host's, handled", write_in_host, jump_beyond, 0, SIGSEGV, 7, 1, 0, false},
	{"C library's for the host, handled", memset_in_host, jump_beyond, 0, SIGSEGV, 7, 1, 0,
	 false},
	{"compiled code's, handled", run_compiled, jump_beyond, 0, SIGSEGV, 7, 1, 0, false},
	{"barrier in the host, handled", write_to_page, open_page, 0, SIGSEGV, 7, 1, 0, false},
	{"barrier in private code, handled", write_to_page_in_private, open_page, 0, SIGSEGV, 7, 1,
	 0, false},
	{"barrier of a host that survives", write_to_page_in_private, open_page, 0, SIGSEGV, 7, 1,
	 1, true},
	{"abort() of the host, handled", abort, jump_beyond, 0, SIGABRT, 7, 1, 0, false},
	{"raise() of the host, handled", raise_in_host, only_count, 0, SIGSEGV, 7, 1, 0, false},
	{"host's, given up", write_in_host, give_up, 0, SIGSEGV, -SIGSEGV, 1, 1, false},
	{"raise() of the host, given up", raise_in_host, give_up, 0, SIGSEGV, 7, 1, 0, false},
	{"host's, handler for one", write_in_host, only_count, SA_RESETHAND, SIGSEGV, -SIGSEGV, 1,
	 1, false},
	{"abort() of the host, counted", abort, only_count, 0, SIGABRT, -SIGABRT, 1, 1, false},
	{"private code's", write_in_private, jump_beyond, 0, SIGSEGV, 7, 1, 1, false},
	{"private code's, handler for one", write_in_private, only_count, SA_RESETHAND, SIGSEGV,
	 -SIGSEGV, 1, 1, false},
	{"private code's, no handler", write_in_private, NULL, 0, SIGSEGV, -SIGSEGV, 0, 1, false},
};

static int be_host(void *arg)
{
	const struct host *host = arg;
	const struct gorgon_fault_opts opts = {
		.size = sizeof(opts), .report = note, .ctx = seen, .abandon = host->abandon};
	struct sigaction action = {.sa_flags = host->flags};

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	action.sa_handler = host->handler ?: SIG_DFL;
	sigaction(host->number, &action, NULL);
	assert_ok(gorgon_faults_report(&opts));
	if (!sigsetjmp(beyond, 1))
		host->fault();
	return 7;
}

static void handler_of_the_host_comes_first_outside_of_private_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		int status;

		memset(seen, 0, sizeof(*seen));
		status = test_in_child(be_host, (void *)&hosts[i]);
		if (status != hosts[i].status || seen->handlers != hosts[i].handlers ||
		    seen->reports != hosts[i].reports)
			fail_msg("%s: status %d, %u calls of the handler, %u reports\n%s",
				 hosts[i].name, status, seen->handlers, seen->reports, seen->text);
	}
}

// --- a thread that tells where it is ----------------------------------------------------------------

struct sleeper {
	struct gorgon_interp *interp;
	pid_t tid; // atomic
};

static void *sleep_in_python(void *arg)
{
	struct sleeper *sleeper = arg;

	__atomic_store_n(&sleeper->tid, gettid(), __ATOMIC_RELEASE);
	gorgon_error_destroy(gorgon_interp_run_string(sleeper->interp, "import time\nwhile True: time.sleep(1000)", NULL));
	return NULL;
}

static bool write_with_a_fault(void *ctx, int fd)
{
	(void)ctx;
	(void)fd;
	*(volatile int *)NULL = 1;
	return true;
}

// Until it sleeps.
static void sample_sleeper(const struct sleeper *sleeper, struct gorgon_sample *ret)
{
	do {
		gorgon_sample_thread(__atomic_load_n(&sleeper->tid, __ATOMIC_ACQUIRE), 1000, ret);
	} while (!strstr(ret->native, "nanosleep"));
}

static int sample_with_a_fault(void *arg)
{
	struct sleeper sleeper = {.interp = test_interp_start(NULL, NULL)};
	struct gorgon_ns_user *user = &gorgon_interp_ns(sleeper.interp)->user;
	bool (*write_python)(void *, int) = user->write_python;
	struct gorgon_sample sample;
	pthread_t thread;

	report_to(arg);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_python, &sleeper), 0);
	while (!__atomic_load_n(&sleeper.tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	sample_sleeper(&sleeper, &sample);
	assert_non_null(strstr(sample.python, "line 2"));
	user->write_python = write_with_a_fault;
	sample_sleeper(&sleeper, &sample);
	assert_string_equal(sample.python, "");
	user->write_python = write_python;
	sample_sleeper(&sleeper, &sample);
	assert_non_null(strstr(sample.python, "line 2"));
	return 7;
}

static void fault_of_a_thread_that_tells_where_it_is_ends_its_answer(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(test_in_child(sample_with_a_fault, note), 7);
	assert_int_equal(seen->reports, 0);
}

static void options_of_a_wrong_size_are_refused(void **state)
{
	const struct gorgon_fault_opts opts = {.size = 3};

	(void)state;
	assert_error(gorgon_faults_report(&opts), GORGON_ERROR_ARGUMENT, "gorgon_fault_opts: size is 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_of_a_wrong_size_are_refused),
		cmocka_unit_test(report_names_signal_object_and_function),
		cmocka_unit_test(report_that_has_a_fault_itself_ends_as_without),
		cmocka_unit_test(hosts_handler_is_called_after_the_report),
		cmocka_unit_test(handler_of_the_host_comes_first_outside_of_private_code),
		cmocka_unit_test(ignore_puts_back_what_was_there),
		cmocka_unit_test(fault_of_the_host_is_of_no_interpreter),
		cmocka_unit_test(fault_in_a_call_is_the_interpreters),
		cmocka_unit_test(fault_of_a_thread_that_tells_where_it_is_ends_its_answer),
	};

	// A sanitizer has handlers of its own, which the children's reports would meet.
	return _cmocka_run_group_tests("faults", tests, TEST_SANITIZED ? 1 : sizeof(tests) / sizeof(*tests), set_up, NULL);
}
