// SPDX-License-Identifier: MIT
// Side by side with the system's linker: exceptions, backtraces, ends of threads.

#include "compare.h"

typedef int int_fn(int);

static void across(const struct linker *linker)
{
	void *handle = compare_open(linker, "libcatch.so", 0);

	say("%d", FIND(linker, handle, int_fn *, "catch_own_type")(5));
	say("%d", FIND(linker, handle, int_fn *, "catch_standard_type")(6));
	linker->close(handle);
}

static void (*thrower)(int);

static void program_frame(int value)
{
	thrower(value);
	say("not reached");
}

static void program(const struct linker *linker)
{
	void *handle = compare_open(linker, "libcatch.so", 0);
	int (*catch_from)(void (*)(int), int) = compare_find(linker, handle, "catch_from");

	thrower = FIND(linker, handle, void (*)(int), "catch_nothing");
	say("%d", catch_from(program_frame, 8));
	linker->close(handle);
}

static void own_unwinder(const struct linker *linker)
{
	say("%d", FIND(linker, compare_open(linker, "libthrow_static.so", 0), int_fn *,
		       "throw_inside")(4));
}

#define PROBE(test, function, text)                                                                \
	{                                                                                          \
		.name = test, .module = "libunwind_probe.so", .probe = function, .says = text      \
	}
// The library's own constructor throws and catches first.
#define LOADED "-inner -between "

static const struct compare_case cases[] = {
	PROBE("unwind_inside_one_object", "unwind_inside", LOADED "-inner -between caught=1"),
	{.name = "unwind_across_two_objects", .run = across, .says = "-guard 5 6"},
	{.name = "unwind_through_the_programs_frame", .run = program, .says = "-guard 8"},
	{.name = "unwind_with_its_own_unwinder", .run = own_unwinder, .says = "5"},
	PROBE("unwind_through_qsort", "unwind_qsort", LOADED "-around compare"),
	PROBE("unwind_rethrow_keeps_the_exception", "unwind_rethrow",
	      LOADED "-inner -between -rethrow caught=2"),
	PROBE("unwind_nested_exception_is_unpacked", "unwind_nested",
	      LOADED "-inner -between outer nested=3"),
	PROBE("unwind_exception_ptr_crosses_threads", "unwind_pointer",
	      LOADED "-inner -between kept=6 kept=6 -inner -between kept=6"),
	PROBE("unwind_future_gives_the_exception", "unwind_future",
	      LOADED "-inner -between caught=7"),
	PROBE("unwind_from_a_local_statics_constructor", "unwind_static",
	      LOADED "construct=1 first construct=2 ready ready"),
	PROBE("unwind_inside_a_constructor", "unwind_constructor", LOADED "constructor=9"),
	PROBE("unwind_from_the_cxx_library", "unwind_system_types",
	      LOADED "out_of_range stoi bad_cast"),
#ifndef __SANITIZE_THREAD__ // its pthread_once() and raise() know no exceptions
	PROBE("unwind_through_call_once", "unwind_call_once", LOADED "once calls=2 calls=2"),
	PROBE("unwind_out_of_a_signal_handler", "unwind_signal", LOADED "-raise signal"),
#endif
	PROBE("unwind_longjmp", "unwind_jump", LOADED "jumped=1"),
	PROBE("unwind_noexcept_terminates", "unwind_noexcept", "killed by signal 6"),
	PROBE("unwind_uncaught_in_a_thread_terminates", "unwind_uncaught", "killed by signal 6"),
	PROBE("unwind_pthread_exit_runs_destructors", "unwind_thread_exit",
	      LOADED "forced -here"),
	PROBE("unwind_cancel_runs_cleanup_and_destructors", "unwind_cancel",
	      LOADED "cleanup -guard -thread_local canceled=1"),
	PROBE("unwind_backtrace_names_frames", "unwind_backtrace",
	      LOADED "unwind_frame_inner unwind_frame_outer unwind_backtrace more=1 named=4"),
	{.name = "unwind_backtrace_symbols_are_the_systems", .module = "libunwind_probe.so",
	 .probe = "unwind_backtrace_symbols", .says = LOADED "named=1",
	 .private_says = LOADED "named=0",
	 .why = "backtrace_symbols() is the C library's and asks the system's linker alone"},
	{.name = "unwind_out_of_dlopen_terminates", .module = "libunwind_probe.so",
	 .probe = "unwind_dlopen", .by_caller = true, .says = "killed by signal 6"},
};

int main(void)
{
	return COMPARE_RUN("compare_unwind", cases);
}
