// SPDX-License-Identifier: MIT
// What a library leaves for the end: static objects, made when it is loaded and later, a
// thread_local one, a destructor, and a static object that closes a library. One source for
// several libraries: NAME is what they report.

#include "note.h"

#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>

using abi::__cxa_atexit;

namespace
{
struct noted {
	const char *note;

	explicit noted(const char *what) : note(what)
	{
	}
	~noted()
	{
		test_note(note);
	}
};

struct closer {
	void *handle = dlopen("libbasic.so", RTLD_NOW);

	~closer()
	{
		test_note("-" NAME ".closer");
		dlclose(handle);
		test_note("~" NAME ".closer");
	}
};

noted global("-" NAME ".global");
} // namespace

extern "C" bool ends_late()
{
	static noted late("-" NAME ".late");

	return late.note;
}

extern "C" bool ends_thread()
{
	static thread_local noted here("-" NAME ".thread");

	return here.note;
}

extern "C" bool ends_closer()
{
	static closer late;

	return late.handle;
}

static void report(void *what)
{
	test_note(static_cast<const char *>(what));
}

// Registers a function at an address that belongs to no library, as code that a compiler has made in memory.
extern "C" bool ends_nameless()
{
	static char what[] = "-" NAME ".nameless";

	return !__cxa_atexit(report, what, nullptr);
}

static void report_status(int status, void *)
{
	test_note(status ? "-" NAME ".failed" : "-" NAME ".ended");
}

extern "C" bool ends_status()
{
	return !on_exit(report_status, nullptr);
}

extern "C" bool ends_quick()
{
	return !at_quick_exit([] { test_note("-" NAME ".quick"); });
}

__attribute__((destructor)) static void stop()
{
	test_note("-" NAME ".stop");
}
