// SPDX-License-Identifier: MIT
// Writes the fuzz targets' bytes to files, and sends their output to /dev/null.

#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char no_files[32];

int LLVMFuzzerInitialize(int *argc __attribute__((unused)), char ***argv __attribute__((unused)))
{
	char folder[] = "/tmp/gorgon-fuzz-XXXXXX";
	int dir;

	elf_version(EV_CURRENT);
	if (!mkdtemp(folder) || (dir = open(folder, O_PATH | O_DIRECTORY)) < 0 || rmdir(folder) ||
	    !freopen("/dev/null", "w", stdout))
		abort();
	snprintf(no_files, sizeof(no_files), "/proc/self/fd/%d", dir);
	return 0;
}

const char *fuzz_no_files(void)
{
	return no_files;
}

int fuzz_file(const uint8_t *data, size_t size, char name[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, 32, "/proc/self/fd/%d", fd);
	return fd;
}
