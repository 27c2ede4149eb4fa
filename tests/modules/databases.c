/* SPDX-License-Identifier: MIT */
/* The C library's functions with state of the process, as private code finds them. */
#define _GNU_SOURCE
#include <grp.h>
#include <mntent.h>
#include <netdb.h>
#include <pwd.h>
#include <shadow.h>
#include <string.h>

#define WALK(name)                                                                                 \
	{"set" #name, set##name}, {"get" #name, get##name}, {"get" #name "_r", get##name##_r},     \
	{                                                                                          \
		"end" #name, end##name                                                             \
	}
#define ONE(name)                                                                                  \
	{                                                                                          \
		#name, name                                                                        \
	}

static const struct {
	const char *name;
	void *function;
} functions[] = {
	WALK(pwent),        WALK(grent),         WALK(spent),        ONE(getpwnam),
	ONE(getpwuid),      ONE(getgrnam),       ONE(getgrgid),      ONE(getservbyname),
	ONE(getservbyport), ONE(getprotobyname), ONE(gethostbyname), ONE(gethostbyaddr),
	ONE(getmntent),
};

void *databases_function(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].function;
	return NULL;
}
