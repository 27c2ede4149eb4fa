// SPDX-License-Identifier: MIT
/*
 * Who traces this process: /proc/self/status has the tracer's number, and /proc/NUMBER/comm its
 * name. LLDB traces through lldb-server, also the LLDB of an editor.
 *
 * The kernel takes 8 us to write the status. So registrations read it only when a debugger listens,
 * which is when it has a breakpoint on __jit_debug_register_code (descriptor.c); strace, say, has
 * none. The answer holds for this moment only: debuggers come and go.
 */
#define _GNU_SOURCE 1
#include "debugger.h"

#include "descriptor.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The start of a small file, as a string. */
static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

static enum jitreg_tracer find_by_number(long number)
{
	char path[48], name[32];

	snprintf(path, sizeof(path), "/proc/%ld/comm", number);
	if (!read_text(path, name, sizeof(name)))
		return JITREG_TRACER_OTHER;
	return !strncmp(name, "gdb", 3)    ? JITREG_TRACER_GDB
	       : !strncmp(name, "lldb", 4) ? JITREG_TRACER_LLDB
					   : JITREG_TRACER_OTHER;
}

// What traces the process; @unknown where /proc cannot be read.
static enum jitreg_tracer find(enum jitreg_tracer unknown)
{
	static const char label[] = "\nTracerPid:\t";
	char text[2048];
	const char *found;
	long number;

	if (!read_text("/proc/self/status", text, sizeof(text)) || !(found = strstr(text, label)))
		return unknown;
	number = strtol(found + strlen(label), NULL, 10);
	return number ? find_by_number(number) : JITREG_TRACER_NONE;
}

enum jitreg_tracer jitreg_find_tracer(void)
{
	return find(JITREG_TRACER_NONE);
}

enum jitreg_tracer jitreg_find_listener(void)
{
	return jitreg_descriptor_is_watched() ? find(JITREG_TRACER_OTHER) : JITREG_TRACER_NONE;
}
