/* SPDX-License-Identifier: MIT */
/* The C library's functions with state of the process, as private code finds them. */
#define _GNU_SOURCE
#include <aliases.h>
#include <dlfcn.h>
#include <fstab.h>
#include <grp.h>
#include <gshadow.h>
#include <mntent.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <rpc/netdb.h>
#include <search.h>
#include <shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <utmpx.h>

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
	WALK(pwent), WALK(grent), WALK(spent), WALK(sgent), WALK(servent), WALK(protoent),
	WALK(rpcent), WALK(netent), WALK(hostent), WALK(aliasent),
	ONE(setfsent), ONE(getfsent), ONE(endfsent), ONE(getfsfile),
	ONE(setusershell), ONE(getusershell), ONE(endusershell),
	ONE(getpwnam), ONE(getpwuid), ONE(fgetpwent), ONE(getgrnam), ONE(getgrgid), ONE(sgetspent),
	ONE(getservbyname), ONE(getservbyport), ONE(getprotobyname), ONE(getprotobynumber),
	ONE(getrpcbyname), ONE(gethostbyname), ONE(gethostbyname2), ONE(gethostbyaddr),
	ONE(getnetbyname), ONE(getmntent),
	ONE(setutxent), ONE(getutxent), ONE(getutxid), ONE(getutxline), ONE(pututxline),
	ONE(endutxent), ONE(utmpxname), ONE(getutent_r), ONE(getutid_r), ONE(getutline_r),
	ONE(hcreate), ONE(hdestroy),
	ONE(ttyname), ONE(ptsname), ONE(getlogin), ONE(cuserid), ONE(ctermid), ONE(getpass),
	ONE(ether_ntoa), ONE(ether_aton), ONE(getdate),
};

void *databases_function(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(functions[i].name, name))
			return functions[i].function;
	return NULL;
}

int databases_getdate_err(void)
{
	return getdate_err;
}

/* hsearch(); without @data it only looks. */
const char *databases_search(char *key, char *data)
{
	ENTRY *found = hsearch((ENTRY){key, data}, data ? ENTER : FIND);

	return found ? found->data : NULL;
}

/* It looks tmpnam() up, because the linker warns of each program that calls tmpnam() by its name. */
char *databases_tmpnam(char *name)
{
	char *(*found)(char *) = (char *(*)(char *))dlsym(RTLD_DEFAULT, "tmpnam");

	return found(name);
}
