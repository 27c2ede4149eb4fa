// SPDX-License-Identifier: MIT
// A constructor that opens the library it belongs to, which is not ready yet.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int self_seen;

__attribute__((constructor)) static void start(void)
{
	Dl_info info;
	void *handle;

	if (!dladdr(&self_seen, &info))
		return;
	handle = dlopen(info.dli_fname, RTLD_NOW);
	self_seen = handle && dlsym(handle, "self_seen") == &self_seen;
	if (handle)
		dlclose(handle);
}
