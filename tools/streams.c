// SPDX-License-Identifier: MIT
// C++ streams of files below /proc/self/fd.
//
// In private code the loader changes such names (loader/process/kernel/proc_paths.c), because
// /proc/self has the descriptors of the process's first thread, and a program has a table of its
// own. But a stream is opened by libstdc++, which is one for all programs, so the loader does not
// see the call. memray opens the files that it has recorded like this. The command's own fopen64()
// comes before the C library's, and takes the descriptors of the calling thread, which on any other
// thread are the same. The linker calls it fopen(), too, which newer ones of libstdc++ use.
//
// Not handled: other functions of shared libraries, such as std::filesystem's; hosts that are not
// this command, because a library has no business to change what a whole process calls.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *const folders[] = {"/proc/self/fd/", "/dev/fd/"};

__attribute__((visibility("default"))) FILE *fopen64(const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
	char changed[64];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t size = strlen(folders[i]);
		if (!strncmp(path, folders[i], size) && strlen(path + size) < 16) {
			snprintf(changed, sizeof(changed), "/proc/thread-self/fd/%s", path + size);
			path = changed;
		}
	}
	return next(path, mode);
}
