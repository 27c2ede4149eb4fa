// SPDX-License-Identifier: MIT
// The `gorgon` command: which subcommand it is.

#define _GNU_SOURCE
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: gorgon run [OPTION...] (-c CODE | -m MODULE | FILE) [ARG...]\n"
	"       gorgon demo [-n N]\n"
	"       gorgon info [--python PATH] [--json]\n"
	"       gorgon info --deps FILE [--names] [--python PATH] [--share GLOB]... [--private GLOB]...\n"
	"                   [--json]\n"
	"       gorgon --version\n"
	"\n"
	"Runs CPython several times in one process, each copy private and with its own GIL,\n"
	"all of them visible to gdb and lldb.\n"
	"\n"
	"run options:\n"
	"  -n N                 number of interpreters, a thread each (default 1)\n"
	"  --python PATH        a python executable, a virtual environment's, or a libpython\n"
	"  --repeat R           do it R times, with fresh interpreters each time\n"
	"  --label              put \"[i] \" before each line of output\n"
	"  --timing             print where the time went, for each interpreter, on stderr\n"
	"  --json               the same as JSON, on stderr\n"
	"  --share GLOB         take matching libraries from the system (repeatable)\n"
	"  --private GLOB       keep matching libraries private (repeatable; wins); not one that\n"
	"                       takes in the C library or the dynamic linker\n"
	"  --debug MODE         what debuggers are told: full (lines and locals in each copy), lazy\n"
	"                       (names and unwind data, for hundreds of interpreters), off, or auto\n"
	"                       (the default: full up to 8 interpreters, then lazy)\n"
	"  --isolate HOW        who makes copies: loader (the default, gorgon's own), copy (copies of\n"
	"                       files, for the system's linker) or dlmopen (namespaces of the\n"
	"                       system's linker, 15 at most)\n"
	"  --shared-files       descriptors, current directory, umask are the process's; otherwise each\n"
	"                       interpreter has its own, as a process has\n"
	"  --quick-end          objects that only refer to each other are not finalised at the end\n"
	"\n"
	"info options:\n"
	"  --deps FILE          what loading a module or library would bring: private or shared, why\n"
	"  --names              also the names that private code takes from shared libraries, and\n"
	"                       those that gorgon replaces\n"
	"\n"
	"Exit status of run: 0, or that of the lowest-numbered interpreter that failed (1 for\n"
	"an uncaught exception, k for sys.exit(k)); 2 wrong usage; 3 no interpreter.\n"
	"Of info --deps: 1 when a library was not found.\n"
	"\n"
	"Example: gorgon run -n 4 -c 'import gorgon; print(gorgon.interpreter)'\n";

// The kernel's own are what setproctitle() and the like write to: a title for ps.
static char **copy_arguments(int argc, char **argv)
{
	char **ret = calloc((size_t)argc + 1, sizeof(*ret));

	for (int i = 0; ret && i < argc; i++)
		if (!(ret[i] = strdup(argv[i])))
			return NULL;
	return ret;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {{"run", tool_run}, {"demo", tool_demo}, {"info", tool_info}};
	const char *command = argc > 1 ? argv[1] : "";

	if (!(argv = copy_arguments(argc, argv))) {
		fputs("gorgon: no memory\n", stderr);
		return TOOL_FAILED;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(command, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	if (!strcmp(command, "--help") || !strcmp(command, "-h") || !strcmp(command, "help")) {
		fputs(help, stdout);
		return 0;
	}
	if (!strcmp(command, "--version")) {
		puts("gorgon " GORGON_VERSION);
		return 0;
	}
	if (*command)
		return tool_usage("%s: no such command; there are run, demo, info", command);
	fputs(help, stderr);
	return TOOL_USAGE;
}
