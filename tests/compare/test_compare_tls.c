// SPDX-License-Identifier: MIT
// Side by side with the system's linker: thread-local storage.

#define _GNU_SOURCE
#include "compare.h"

#include <dlfcn.h>

// libtls_user.so refers to this variable.
TEST_EXPORT __thread int test_host_tls = 51;

typedef int get_fn(void);
typedef int *at_fn(void);

static at_fn *at;

static void say_next(void)
{
	say("%d", ++*at());
}

static void on_threads(void)
{
	say_next();
	say_next();
	test_on_old_thread(say_next);
	test_on_new_thread(say_next);
	test_on_old_thread(say_next);
}

static void user(const struct linker *linker, const char *symbol)
{
	at = FIND(linker, compare_open(linker, "libtls_user.so", 0), at_fn *, symbol);
	on_threads();
}

static void user_other(const struct linker *linker)
{
	user(linker, "tls_user_private");
}

static void user_program(const struct linker *linker)
{
	user(linker, "tls_user_host");
	say("same %d", at() == &test_host_tls);
}

static void reload(const struct linker *linker)
{
	void *handle;

	for (int i = 0; i < 3; i++) {
		handle = compare_open(linker, "libtls.so", 0);
		at = FIND(linker, handle, at_fn *, "tls_value_at");
		on_threads();
		linker->close(handle);
		test_note("|");
	}
}

// --- destructors of thread_local variables --------------------------------------------------

static get_fn *touch;

static void say_touch(void)
{
	say("%d", touch());
}

static void *open_touch(const struct linker *linker)
{
	void *handle = compare_open(linker, "libtls_dtor.so", 0);

	touch = FIND(linker, handle, get_fn *, "tls_dtor_touch");
	return handle;
}

static void destructor_at_exit(const struct linker *linker)
{
	void *handle = open_touch(linker);

	test_on_new_thread(say_touch);
	test_on_new_thread(say_touch);
	linker->close(handle);
	test_note("closed");
}

static void destructor_keeps(const struct linker *linker)
{
	void *handle = open_touch(linker);

	say_touch();
	linker->close(handle);
	test_note("closed");
	open_touch(linker);
	say_touch();
}

static void destructor_keeps_old(const struct linker *linker)
{
	void *handle = open_touch(linker);

	test_on_old_thread(say_touch);
	linker->close(handle);
	test_note("closed");
	open_touch(linker);
	test_on_old_thread(say_touch);
}

static const struct linker *current;

// The library is closed while this thread has still to destroy its variable.
static void touch_and_close(void)
{
	void *handle = open_touch(current);

	say_touch();
	current->close(handle);
	test_note("closed");
}

static void destructor_after_close(const struct linker *linker)
{
	current = linker;
	test_on_new_thread(touch_and_close);
	test_note("ended");
	open_touch(linker);
	say_touch();
}

#define AGE(value, zero, own, used)                                                                \
	"value=" value " zero=" zero " own=" own " aligned=1 page=0 used=" used " pointer=5 |"
#define FIRST  AGE("11", "0", "21", "0")
#define SECOND AGE("12", "1", "23", "2")
#define PROBE_SAYS FIRST " " SECOND " " FIRST " " FIRST " " SECOND

static const struct compare_case cases[] = {
	{.name = "tls_general_dynamic_threads_of_every_age", .module = "libtls_gd.so",
	 .probe = "tls_probe", .says = PROBE_SAYS},
	{.name = "tls_local_dynamic_threads_of_every_age", .module = "libtls_ld.so",
	 .probe = "tls_probe", .says = PROBE_SAYS},
	{.name = "tls_descriptor_threads_of_every_age", .module = "libtls_gnu2.so",
	 .probe = "tls_probe", .says = PROBE_SAYS},
	{.name = "tls_initial_exec_threads_of_every_age", .module = "libtls_initial.so",
	 .probe = "tls_probe", .says = PROBE_SAYS},
	{.name = "tls_other_librarys_variable_is_one", .run = user_other, .says = "12 13 12 12 13"},
	{.name = "tls_programs_variable_is_one", .run = user_program,
	 .says = "52 53 52 52 53 same 1"},
	{.name = "tls_shared_librarys_variable_is_one", .run = user_other, .share = "libtls.so",
	 .says = "12 13 12 12 13"},
	{.name = "tls_reloaded_library_starts_anew", .run = reload,
	 .says = "12 13 12 12 13 | 12 13 12 12 13 | 12 13 12 12 13 |"},
	{.name = "tls_weak_undefined_variable_loads", .module = "libtls_weak.so",
	 .probe = "tls_weak_probe", .says = "loaded"},
	{.name = "tls_weak_undefined_descriptor_is_null", .module = "libtls_weak_desc.so",
	 .probe = "tls_weak_probe", .says = "loaded null=1"},
	{.name = "tls_thread_local_object_of_another_library", .module = "libtls_cxx.so",
	 .probe = "tls_cxx_probe",
	 .says = "+thread_local use=3 use=4 +thread_local use=3 -thread_local=4 "
		 "+thread_local use=3"},
	{.name = "tls_destructor_runs_at_thread_exit", .run = destructor_at_exit,
	 .says = "1 -thread_local 1 -thread_local closed"},
	{.name = "tls_destructor_of_this_thread_keeps_library", .run = destructor_keeps,
	 .says = "1 closed 2"},
	{.name = "tls_destructor_of_other_thread_keeps_library", .run = destructor_keeps_old,
	 .says = "1 closed 2"},
	{.name = "tls_destructor_runs_after_close", .run = destructor_after_close,
	 .says = "1 closed -thread_local ended 1"},
};

int main(void)
{
	return COMPARE_RUN("compare_tls", cases);
}
