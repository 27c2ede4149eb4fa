// SPDX-License-Identifier: MIT
// A live process, which is never stopped: process_vm_readv(), else /proc/PID/mem.

#define _GNU_SOURCE
#include "symdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// vm.max_map_count is 65,530 by default, and a host with many interpreters has more.
#define MAPPINGS_MAX 10000000

bool process_read_mappings(struct target *target, struct problems *problems)
{
	char name[32], *line = NULL;
	size_t capacity = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", target->pid);
	file = fopen(name, "re");
	if (!file) {
		problem(problems, "process %s: %s", target->name,
			errno == ENOENT ? "there is none with this number" : strerror(errno));
		return false;
	}
	while (getline(&line, &capacity, file) > 0 && target->mapping_count < MAPPINGS_MAX) {
		uint64_t start, end, off;
		int path = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &off, &path) == 3 &&
		    path && (line[path] == '/' || !strcmp(line + path, VDSO)))
			target_add_mapping(target, start, end, off, line + path);
	}
	free(line);
	fclose(file);
	if (!target->mapping_count)
		problem(problems,
			"process %s: it has no mapped files: a thread of the kernel, or it has "
			"ended, "
			"or it belongs to somebody else",
			target->name);
	return target->mapping_count > 0;
}

/* Whether memory can be read at all. A mapping may be gone since it was read about, or may have no
 * page of its file behind it. */
static bool can_read(const struct target *target)
{
	uint8_t byte;

	for (size_t i = 0; i < target->mapping_count; i++) {
		if (process_read(target, target->mappings[i].start, &byte, 1))
			return true;
		if (errno != EFAULT && errno != EIO)
			break;
	}
	return false;
}

bool process_open(struct target *target, struct problems *problems)
{
	char name[32];

	if (!process_read_mappings(target, problems))
		return false;
	snprintf(name, sizeof(name), "/proc/%d/mem", target->pid);
	target->memory = open(name, O_RDONLY | O_CLOEXEC);
	if (can_read(target))
		return true;
	// A filter of system calls forbids it, or the kernel has none.
	target->no_readv = true;
	if (can_read(target))
		return true;
	problem(problems, "process %s: its memory cannot be read: %s", target->name,
		strerror(errno));
	return false;
}

bool process_read(const struct target *target, uint64_t addr, void *bytes, size_t size)
{
	struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)addr, size};

	if (!target->no_readv)
		return process_vm_readv(target->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
	if (target->memory < 0 || addr > INT64_MAX)
		return false;
	return pread(target->memory, bytes, size, (off_t)addr) == (ssize_t)size;
}
