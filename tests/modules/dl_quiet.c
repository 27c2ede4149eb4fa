// SPDX-License-Identifier: MIT
// A constructor that fails to load something, and does not ask dlerror() why.

#include <dlfcn.h>

__attribute__((constructor)) static void start(void)
{
	dlopen("/nonexistent/libx.so", RTLD_NOW);
}
