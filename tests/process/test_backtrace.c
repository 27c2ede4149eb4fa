// SPDX-License-Identifier: MIT
// loader/process/faults/backtrace.c: each kind of rule and of operator that unwind tables may have,
// in functions that a signal interrupts.

#define _GNU_SOURCE
#include "helpers.h"
#include "skip.h"

#include "ns/unwind.h"
#include "process/faults/backtrace.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>

#ifdef __x86_64__
#include "frames_x86_64.h"

#define CAPACITY 8

enum outcome {
	GOES_ON,     // the caller, and its callers
	INTERRUPTED, // the caller, which a signal has interrupted
	CALLER,	     // the caller alone: the next frame is where no memory is
	ENDS,	     // only the function itself
};

#define FUNCTION(name, outcome, enter, leave)                                                                          \
	void name(void);                                                                                               \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" enter "ud2\n" leave "ret\n"          \
		".cfi_endproc\n.size " #name ", .-" #name "\n");
FRAMES(FUNCTION)

static const struct {
	const char *name;
	enum outcome outcome;
	void (*function)(void);
} cases[] = {
#define CASE(name, outcome, enter, leave) {#name, outcome, name},
	FRAMES(CASE)
};

static struct gorgon_frame frames[CAPACITY];
static size_t capacity;
static volatile size_t count;
static bool in_function;
static sigjmp_buf unreadable;

static void leave_walk(int number)
{
	(void)number;
	siglongjmp(unreadable, 1);
}

static void look(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	if (!sigsetjmp(unreadable, 1))
		gorgon_backtrace(context, frames, capacity, &count);
	in_function = frames[0].pc == (uintptr_t)info->si_addr && frames[0].interrupted;
	interrupted->uc_mcontext.gregs[REG_RIP] += ILLEGAL_SIZE;
}

static void interrupt(void (*function)(void))
{
	struct dl_find_object found;

	// The first call finds the C library's function with dlvsym(), which a handler may not call.
	gorgon_unwind_find_object((void *)(uintptr_t)interrupt, &found);
	struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO}, illegal, fault;

	memset(frames, 0, sizeof(frames));
	assert_int_equal(sigaction(SIGILL, &action, &illegal), 0);
	action = (struct sigaction){.sa_handler = leave_walk};
	assert_int_equal(sigaction(SIGSEGV, &action, &fault), 0);
	call_frame(function);
	assert_int_equal(sigaction(SIGILL, &illegal, NULL), 0);
	assert_int_equal(sigaction(SIGSEGV, &fault, NULL), 0);
	assert_true(in_function);
}

static bool is_as_expected(enum outcome outcome)
{
	bool has_caller = count > 1 && frames[1].pc == (uintptr_t)after_call;

	switch (outcome) {
	case GOES_ON:
		return has_caller && !frames[1].interrupted && count > 2;
	case INTERRUPTED:
		return has_caller && frames[1].interrupted && count > 2;
	case CALLER:
		return has_caller && count == 2;
	default:
		return count == 1;
	}
}

static void backtrace_any_rule_finds_the_caller_or_ends(void **state)
{
	size_t wrong = 0;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip_because("the thread sanitizer takes what runs behind a jump out of a handler for the handler");
#endif
	capacity = CAPACITY;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		interrupt(cases[i].function);
		if (is_as_expected(cases[i].outcome))
			continue;
		print_message("%s: outcome %d expected, %zu frames\n", cases[i].name, cases[i].outcome, count);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void backtrace_writes_no_more_than_there_is_room(void **state)
{
	(void)state;
	capacity = 2;
	interrupt(as_compilers_say);
	assert_int_equal(count, 2);
	assert_int_equal(frames[1].pc, (uintptr_t)after_call);
	assert_int_equal(frames[2].pc, 0);
}

#else

static void backtrace_any_rule_finds_the_caller_or_ends(void **state)
{
	(void)state;
	skip_because("the functions are written for x86-64");
}

static void backtrace_writes_no_more_than_there_is_room(void **state)
{
	(void)state;
	skip_because("the functions are written for x86-64");
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backtrace_any_rule_finds_the_caller_or_ends),
		cmocka_unit_test(backtrace_writes_no_more_than_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
