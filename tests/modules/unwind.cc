// SPDX-License-Identifier: MIT
// Every way through frames of this library that runs destructors: exceptions, the end of a
// thread, cancellation. Probes note what runs, in order.

#include "note.h"

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <exception>
#include <execinfo.h>
#include <future>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace {

struct guard {
	const char *name;
	~guard()
	{
		test_note(name);
	}
};

struct base {
	virtual ~base() = default;
};

struct derived : base {
	int value;
	explicit derived(int value) : value(value)
	{
	}
};

[[gnu::noinline]] void throw_number(int number)
{
	guard here{"-inner"};

	throw derived(number);
}

[[gnu::noinline]] void between(int number)
{
	guard here{"-between"};

	throw_number(number);
}

int compare_and_throw(const void *, const void *)
{
	throw std::runtime_error("compare");
}

std::exception_ptr kept;

void keep()
{
	try {
		between(6);
	} catch (...) {
		kept = std::current_exception();
	}
}

void throw_kept()
{
	try {
		std::rethrow_exception(kept);
	} catch (const derived &e) {
		note_value("kept", e.value);
	}
}

struct throws_first {
	throws_first()
	{
		static int count;

		note_value("construct", ++count);
		if (count == 1)
			throw std::logic_error("first");
	}
};

// Constructors of the library: the first catches its own exception, the second sees the result.
int caught_in_constructor = [] {
	try {
		between(9);
	} catch (const base &) {
		return 9;
	}
	return 0;
}();

void end_thread()
{
	guard here{"-here"};

	try {
		pthread_exit(nullptr);
	} catch (abi::__forced_unwind &) {
		test_note("forced");
		throw;
	}
}

struct at_end {
	int value = 1;
	~at_end()
	{
		test_note("-thread_local");
	}
};

thread_local at_end at_end_of_thread;
pthread_barrier_t ready;

void clean(void *text)
{
	test_note(static_cast<const char *>(text));
}

void *wait_for_cancel(void *)
{
	guard here{"-guard"};

	at_end_of_thread.value++;
	pthread_cleanup_push(clean, const_cast<char *>("cleanup"));
	pthread_barrier_wait(&ready);
	for (;;)
		sleep(1);
	pthread_cleanup_pop(0);
	return nullptr;
}

void *throw_out_of_thread(void *)
{
	throw 1;
}

std::jmp_buf jump;

void on_signal(int)
{
	throw std::runtime_error("signal");
}

} // namespace

extern "C" {

void unwind_inside()
{
	try {
		between(1);
	} catch (const base &e) {
		note_value("caught", dynamic_cast<const derived &>(e).value);
	}
}

void unwind_qsort()
{
	int numbers[] = {3, 1, 2};

	try {
		guard here{"-around"};

		qsort(numbers, 3, sizeof(*numbers), compare_and_throw);
	} catch (const std::exception &e) {
		test_note(e.what());
	}
}

void unwind_call_once()
{
	std::once_flag flag;
	int calls = 0;

	for (int i = 0; i < 3; i++) {
		try {
			std::call_once(flag, [&] {
				if (++calls == 1)
					throw std::runtime_error("once");
			});
			note_value("calls", calls);
		} catch (const std::runtime_error &e) {
			test_note(e.what());
		}
	}
}

void unwind_rethrow()
{
	try {
		try {
			between(2);
		} catch (...) {
			guard here{"-rethrow"};

			throw;
		}
	} catch (const derived &e) {
		note_value("caught", e.value);
	}
}

void unwind_nested()
{
	try {
		try {
			between(3);
		} catch (...) {
			std::throw_with_nested(std::runtime_error("outer"));
		}
	} catch (const std::exception &e) {
		test_note(e.what());
		try {
			std::rethrow_if_nested(e);
		} catch (const derived &nested) {
			note_value("nested", nested.value);
		}
	}
}

void unwind_pointer()
{
	test_on_new_thread(keep);
	throw_kept();
	test_on_new_thread(throw_kept);
	test_on_old_thread(keep);
	test_on_new_thread(throw_kept);
	kept = nullptr;
}

void unwind_future()
{
	auto future = std::async(std::launch::async, [] { between(7); });

	try {
		future.get();
	} catch (const derived &e) {
		note_value("caught", e.value);
	}
}

void unwind_static()
{
	for (int i = 0; i < 3; i++) {
		try {
			static throws_first instance;

			test_note("ready");
		} catch (const std::logic_error &e) {
			test_note(e.what());
		}
	}
}

void unwind_constructor()
{
	note_value("constructor", caught_in_constructor);
}

void unwind_system_types()
{
	try {
		(void)std::string("abc").at(7);
	} catch (const std::out_of_range &) {
		test_note("out_of_range");
	}
	try {
		(void)std::stoi("none");
	} catch (const std::invalid_argument &e) {
		test_note(e.what());
	}
	try {
		(void)dynamic_cast<derived &>(static_cast<base &>(*new base));
	} catch (const std::bad_cast &) {
		test_note("bad_cast");
	}
}

void unwind_signal()
{
	struct sigaction action = {}, old;
	int (*volatile send)(int) = raise; // which is declared not to throw

	action.sa_handler = on_signal;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &action, &old);
	try {
		guard here{"-raise"};

		send(SIGUSR1);
	} catch (const std::runtime_error &e) {
		test_note(e.what());
	}
	sigaction(SIGUSR1, &old, nullptr);
}

void unwind_jump()
{
	int volatile count = 0;

	if (!setjmp(jump)) {
		count = 1;
		longjmp(jump, 1);
	}
	note_value("jumped", count);
}

void unwind_noexcept()
{
	[]() noexcept { between(4); }();
}

void unwind_uncaught()
{
	pthread_t thread;

	pthread_create(&thread, nullptr, throw_out_of_thread, nullptr);
	pthread_join(thread, nullptr);
}

void unwind_thread_exit()
{
	test_on_new_thread(end_thread);
}

void unwind_cancel()
{
	pthread_t thread;
	void *ret = nullptr;

	pthread_barrier_init(&ready, nullptr, 2);
	pthread_create(&thread, nullptr, wait_for_cancel, nullptr);
	pthread_barrier_wait(&ready);
	pthread_cancel(thread);
	pthread_join(thread, &ret);
	note_value("canceled", ret == PTHREAD_CANCELED);
}

// What stands in the table of dynamic symbols is named by dladdr().
[[gnu::noinline]] int unwind_frame_inner()
{
	void *frames[64];
	int count = backtrace(frames, 64), named = 0, last = 0;
	Dl_info info;

	for (int i = 0; i < count; i++) {
		if (!dladdr(static_cast<char *>(frames[i]) - 1, &info) || !info.dli_sname ||
		    strncmp(info.dli_sname, "unwind_", 7))
			continue;
		test_note(info.dli_sname);
		named++;
		last = i;
	}
	note_value("more", count > last + 2);
	return named;
}

[[gnu::noinline]] int unwind_frame_outer()
{
	return unwind_frame_inner() + 1;
}

void unwind_backtrace()
{
	note_value("named", unwind_frame_outer());
}

void unwind_backtrace_symbols()
{
	void *frames[64];
	int count = backtrace(frames, 64);
	char **lines = backtrace_symbols(frames, count);

	int named = 0;

	for (int i = 0; i < count; i++)
		named += strstr(lines[i], "unwind_backtrace_symbols") != nullptr;
	note_value("named", named);
	free(lines);
}

// Loads a library whose constructor throws: no exception may leave dlopen().
void unwind_dlopen()
{
	try {
		test_note(dlopen("libthrow_init.so", RTLD_NOW) ? "opened" : dlerror());
	} catch (const std::exception &e) {
		test_note(e.what());
	}
}

} // extern "C"
