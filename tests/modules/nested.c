// SPDX-License-Identifier: MIT
// A constructor that loads another library by name, along this library's own run
// path, looks a symbol up in it and calls it; a destructor that closes it.

#include "note.h"

#include <dlfcn.h>

#ifndef NESTED_OPENS
#define NESTED_OPENS "libbasic.so"
#endif

int nested_result;
static void *handle;

__attribute__((constructor)) static void start(void)
{
	int (*sum)(int, int);

	test_note("+nested");
	handle = dlopen(NESTED_OPENS, RTLD_NOW);
	if (!handle) {
		test_note(dlerror());
		return;
	}
	sum = (int (*)(int, int))dlsym(handle, "basic_sum");
	nested_result = sum ? sum(2, 3) : -1;
	test_note("=nested");
}

__attribute__((destructor)) static void stop(void)
{
	test_note("-nested");
	if (handle)
		dlclose(handle);
	test_note("~nested");
}
