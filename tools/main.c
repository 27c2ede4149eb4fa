// SPDX-License-Identifier: MIT
// The `gorgon` command: finds the subcommand and runs it.

#define _GNU_SOURCE
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"run", tool_run, "run a program in one or several interpreters"},
	{"exec", tool_exec, "run Python in interpreters of a running process"},
	{"info", tool_info,
	 "which CPython, its debug information, what is shared; what a library needs"},
	{"doctor", tool_doctor,
	 "look at this machine: what running and debugging need, and what to do"},
	{"cache", tool_cache, "show or clear the files that are kept for debuggers"},
	{"demo", tool_demo, "show what private interpreters are good for"},
};

enum {
	COMMAND_COUNT = sizeof(commands) / sizeof(*commands),
};

static void print_help(FILE *out)
{
	fputs("Usage: gorgon COMMAND [OPTION...] [ARG...]\n"
	      "Runs CPython several times in one process, each copy private and with its own GIL, "
	      "all of them\n"
	      "visible to gdb and lldb.\n\n",
	      out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\n`gorgon COMMAND --help` has the options of a command; gorgon(1) has all of "
	      "them.\n\n"
	      "Example: gorgon run -n 4 -c 'import gorgon; print(gorgon.interpreter)'\n",
	      out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static char **arguments; // kept until the process ends, because Python has pointers to them

// Python gets copies of the arguments, because programs that call setproctitle() overwrite what the
// kernel has given us, for ps.
static bool copy_arguments(int argc, char **argv)
{
	arguments = calloc((size_t)argc + 1, sizeof(*arguments));
	for (int i = 0; arguments && i < argc; i++)
		if (!(arguments[i] = strdup(argv[i])))
			return false;
	return arguments;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	const struct command *command = find_command(word);
	static char help_option[] = "--help";

	if (!copy_arguments(argc, argv)) {
		fputs("gorgon: no memory\n", stderr);
		return TOOL_FAILED;
	}
	argv = arguments;
	if (command)
		return command->run(argc - 1, argv + 1);
	if (!strcmp(word, "help") && argc > 2) {
		if (!(command = find_command(argv[2])))
			return tool_usage("%s: no such command", argv[2]);
		return command->run(2, (char *[]){argv[2], help_option, NULL});
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
		print_help(stdout);
		return 0;
	}
	if (!strcmp(word, "--version")) {
		puts("gorgon " GORGON_VERSION);
		return 0;
	}
	if (*word)
		return tool_usage("%s: no such command", word);
	print_help(stderr);
	return TOOL_USAGE;
}
