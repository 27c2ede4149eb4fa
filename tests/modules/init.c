// SPDX-License-Identifier: MIT
// Every kind of initialiser and finaliser in one library, and what they are given.

#define _GNU_SOURCE
#include "note.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void init_old(void);
void fini_old(void);
void init_probe(void);
char **init_argv(void);
char **init_envp(void);

static int given_argc;
static char **given_argv, **given_envp;

void init_old(void)
{
	test_note("+DT_INIT");
}

void fini_old(void)
{
	test_note("-DT_FINI");
}

static void at_exit(void)
{
	test_note("-atexit");
}

__attribute__((constructor(101))) static void early(int argc, char **argv, char **envp)
{
	given_argc = argc;
	given_argv = argv;
	given_envp = envp;
	test_note("+early");
	atexit(at_exit);
}

__attribute__((constructor)) static void late(void)
{
	test_note("+late");
}

__attribute__((destructor)) static void first(void)
{
	test_note("-first");
}

__attribute__((destructor(101))) static void last(void)
{
	test_note("-last");
}

void init_probe(void)
{
	note_value("argc", given_argc);
	note_value("name", given_argv[0] == program_invocation_name);
	note_value("end", !given_argv[given_argc]);
	note_value("envp", given_envp == environ);
}

char **init_argv(void)
{
	return given_argv;
}

char **init_envp(void)
{
	return given_envp;
}
