// SPDX-License-Identifier: MIT
// Side by side with the system's linker: the end of all libraries, exit() for the system's,
// the end of the namespace for ours.

#include "compare.h"

typedef bool touch_fn(void);

static void touch(const struct linker *linker, void *handle, const char *symbol)
{
	if (!FIND(linker, handle, touch_fn *, symbol)())
		say("%s failed", symbol);
}

static void exit_with_destructor_that_closes(const struct linker *linker)
{
	compare_open(linker, "libnested_user.so", 0);
	test_note("|");
	linker->end();
}

// A library and a library that needs it; the former makes its last object after the latter has made its own.
static void leave_two(const struct linker *linker, const char *more)
{
	void *a = compare_open(linker, "libends_a.so", 0), *b = compare_open(linker, "libends_b.so", 0);

	touch(linker, a, "ends_thread");
	touch(linker, b, "ends_thread");
	touch(linker, b, "ends_late");
	if (more)
		touch(linker, b, more);
	touch(linker, a, "ends_late");
	test_note("|");
	linker->end();
}

static void exit_order(const struct linker *linker)
{
	leave_two(linker, NULL);
}

static void exit_handler_that_closes(const struct linker *linker)
{
	leave_two(linker, "ends_closer");
}

// A library that was closed has nothing left to run at the end.
static void exit_after_close(const struct linker *linker)
{
	void *a = compare_open(linker, "libends_a.so", 0), *b = compare_open(linker, "libends_b.so", 0);

	touch(linker, a, "ends_late");
	touch(linker, b, "ends_late");
	linker->close(b);
	test_note("|");
	linker->end();
}

static void exit_nameless(const struct linker *linker)
{
	leave_two(linker, "ends_nameless");
}

static void exit_with_status(const struct linker *linker)
{
	leave_two(linker, "ends_status");
}

static const struct compare_case cases[] = {
	{.name = "exit_close_from_destructor_changes_no_order", .run = exit_with_destructor_that_closes,
	 .by_caller = true,
	 .says = "+bottom1 +bottom2 +nested +basic =nested | -nested ~nested -bottom2 -bottom1 -basic",
	 .private_says = "+bottom1 +bottom2 +nested +basic =nested | -basic -nested ~nested -bottom2 -bottom1",
	 .why = "what does not need each other ends in the reverse order of initialisation"},
	{.name = "exit_runs_the_last_registered_first_across_libraries", .run = exit_order, .by_caller = true,
	 .says = "| -b.thread -a.thread -a.late -b.late -b.global -a.global -b.stop -a.stop"},
	{.name = "exit_runs_what_is_of_no_library_in_its_turn", .run = exit_nameless, .by_caller = true,
	 .says = "| -b.thread -a.thread -a.late -b.nameless -b.late -b.global -a.global -b.stop -a.stop"},
	{.name = "exit_runs_what_wants_the_status_in_its_turn", .run = exit_with_status, .by_caller = true,
	 .says = "| -b.thread -a.thread -a.late -b.ended -b.late -b.global -a.global -b.stop -a.stop"},
	{.name = "exit_handler_that_closes_finalises_at_once", .run = exit_handler_that_closes, .by_caller = true,
	 .says = "+basic | -b.thread -a.thread -a.late -b.closer -basic ~b.closer -b.late -b.global -a.global "
		 "-b.stop -a.stop"},
	{.name = "exit_after_close_runs_nothing_again", .run = exit_after_close, .by_caller = true,
	 .says = "-b.stop -b.late -b.global | -a.late -a.global -a.stop"},
};

int main(void)
{
	return COMPARE_RUN("compare_end", cases);
}
