// SPDX-License-Identifier: MIT
// What private code takes from the process: the C library's data (which the program
// may hold a copy of), a function the host provides, errno, variadic functions.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int provided_by_host(int value);

FILE *system_stdout(void);
char ***system_environ(void);
int system_errno(void);
char *system_format(double value);
int system_provided(int value);

FILE *system_stdout(void)
{
	return stdout;
}

char ***system_environ(void)
{
	extern char **environ;

	return &environ;
}

int system_errno(void)
{
	errno = 0;
	close(-1);
	return errno;
}

char *system_format(double value)
{
	char *ret = malloc(64);

	if (ret)
		snprintf(ret, 64, "%.2f %s", value, "text");
	return ret;
}

int system_provided(int value)
{
	return provided_by_host(value);
}
