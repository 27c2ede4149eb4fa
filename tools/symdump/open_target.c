// SPDX-License-Identifier: MIT
// Opening a target: whether it is a process or a core, and where its files are.

#define _GNU_SOURCE
#include "symdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static int open_root(struct target *target, const char *sysroot, struct problems *problems)
{
	int fd;

	if (sysroot || !target->pid)
		target->root_name = format("%s", sysroot ?: "");
	else
		target->root_name = format("/proc/%d/root", target->pid);
	fd = open(*target->root_name ? target->root_name : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && sysroot)
		problem(problems, "--sysroot %s: %s", sysroot, strerror(errno));
	// The process of another user: its files are probably those of this root, too.
	return fd < 0 && !sysroot ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : fd;
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

bool target_open(struct target *target, const char *what, const char *sysroot,
		 struct problems *problems)
{
	*target = (struct target){.name = what, .root = -1, .memory = -1};
	if (is_number(what)) {
		unsigned long pid = strtoul(what, NULL, 10);

		if (!pid || pid > INT32_MAX) {
			problem(problems, "%s: no process can have this number", what);
			return false;
		}
		target->pid = (pid_t)pid;
	}
	target->sysroot = format("%s", sysroot ?: "");
	target->root = open_root(target, sysroot, problems);
	if (target->root < 0)
		return false;
	target->read = target->pid ? process_read : core_read;
	// a core has its mappings already
	target->read_mappings = target->pid ? process_read_mappings : NULL;
	return target->pid ? process_open(target, problems) : core_open(target, problems);
}
