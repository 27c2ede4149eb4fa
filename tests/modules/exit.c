// SPDX-License-Identifier: MIT
// Calls exit(), which it takes for the end of the process, and writes to standard output.

#include <stdlib.h>
#include <unistd.h>

void exit_now(int status);
long exit_write(int fd, const char *text, unsigned long size);

void exit_now(int status)
{
	exit(status);
}

long exit_write(int fd, const char *text, unsigned long size)
{
	return write(fd, text, size);
}
