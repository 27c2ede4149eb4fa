// SPDX-License-Identifier: MIT gorgon doctor: checks what running and debugging need of this
// machine, prints a line for each, and what to do where something is missing.

#define _GNU_SOURCE
#include "tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jitreg.h>
#include <json.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// An interpreter with numpy has about so many mappings, as /proc/PID/maps shows.
#define MAPPINGS_PER_INTERPRETER 200

enum verdict {
	STATE_OK,
	STATE_NOTE, // it works, but something is missing
	STATE_BAD,
};

static const char *const states[] = {"ok", "note", "PROBLEM"};

static enum verdict worst;

// Add a row: @what was looked at, what was found, and @advice, which says what to do or is NULL.
static __attribute__((format(printf, 5, 6))) void say(struct json_object *list, enum verdict state,
						      const char *what, const char *advice,
						      const char *format, ...)
{
	struct json_object *row = json_object_new_object();
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	tool_add_text(row, "state", states[state]);
	tool_add_text(row, "what", what);
	tool_add_text(row, "found", text);
	tool_add_text(row, "advice", advice);
	json_object_array_add(list, row);
	free(text);
	if (state > worst)
		worst = state;
}

// The first line of a file or of a command's output, without its end; malloc()ed, or NULL.
static char *read_line(FILE *in)
{
	char *line = NULL;
	size_t size = 0;

	if (!in || getline(&line, &size, in) <= 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "re");
	char *ret = read_line(in);

	if (in)
		fclose(in);
	return ret;
}

static char *read_command(const char *command)
{
	FILE *in = popen(command, "re");
	char *ret = read_line(in);

	if (in)
		pclose(in);
	return ret;
}

// --- CPython ----------------------------------------------------------------------------

static void check_debug(struct json_object *list, const struct gorgon_python *python)
{
	struct jitreg_debug debug;
	int err = jitreg_find_debug(python->libpython, -1, &debug);
	char *advice = NULL;

	if (err) {
		say(list, STATE_BAD, "debug information", NULL, "%s: %s", python->libpython,
		    strerror(-err));
		return;
	}
	if (asprintf(&advice,
		     "on Debian: apt install libpython3.%u-dbg python3.%u-dbg; or a libpython "
		     "built with -g",
		     python->minor, python->minor) < 0)
		abort();
	if (debug.names_path)
		say(list, STATE_OK, "debug information", NULL,
		    "%s (debuggers read a copy, in the cache)", debug.names_path);
	else if (debug.kind == JITREG_DEBUG_NAMES)
		say(list, STATE_NOTE, "debug information", advice,
		    "%s has names of functions only: debuggers show no source lines, arguments or "
		    "locals of it",
		    python->libpython);
	else
		say(list, STATE_OK, "debug information", NULL, "%s",
		    debug.path ?: python->libpython);
	free(advice);
	jitreg_debug_deinit(&debug);
}

// An environment that was activated, but is not the python3 of PATH, has packages that programs
// would miss.
static void check_environment(struct json_object *list, const struct gorgon_python *python)
{
	const char *folder = getenv("VIRTUAL_ENV");
	size_t size = folder ? strlen(folder) : 0;

	if (!size)
		return;
	if (!strncmp(python->executable, folder, size) && python->executable[size] == '/')
		say(list, STATE_OK, "virtual environment", NULL, "%s is used", folder);
	else
		say(list, STATE_NOTE, "virtual environment",
		    "name its python with --python, if you want its packages",
		    "%s is active (VIRTUAL_ENV), and not used: programs run with %s", folder,
		    python->executable);
}

static void check_lines(struct json_object *list, const struct chosen *chosen)
{
	char *problem = python_lines_problem(chosen);

	if (problem)
		say(list, STATE_NOTE, "Python lines", NULL,
		    "%s: debuggers show no Python frames (--python-lines)", problem);
	else
		say(list, STATE_OK, "Python lines", NULL,
		    "debuggers show Python frames with --python-lines=on");
	free(problem);
}

static void check_python(struct json_object *list, const char *name)
{
	struct chosen chosen;

	if (python_choose(name, &chosen)) {
		say(list, chosen.gave_way ? STATE_NOTE : STATE_OK, "CPython", NULL,
		    "3.%u%s, %s (%s)", chosen.python.minor,
		    chosen.python.debug ? " (debug build)" : "", chosen.python.libpython,
		    chosen.why);
		check_environment(list, &chosen.python);
		check_debug(list, &chosen.python);
		check_lines(list, &chosen);
	} else {
		say(list, STATE_BAD, "CPython", "name one with --python, or install libpython",
		    "%s", chosen.problem);
	}
	python_deinit(&chosen);
}

static void check_cache(struct json_object *list)
{
	char *folder = cache_folder(), *problem = cache_problem();

	if (problem)
		say(list, STATE_NOTE, "cache", "set XDG_CACHE_HOME to a folder of your own", "%s",
		    problem);
	else
		say(list, STATE_OK, "cache", NULL, "%s (`gorgon cache` says what is in it)",
		    folder);
	free(problem);
	free(folder);
}

// --- debuggers --------------------------------------------------------------------------

// Whether a start-up file of a debugger has our script's name in it.
static bool is_named_in(const char *home, const char *file, const char *script)
{
	char *path = tool_text("%s/%s", home, file), *line = NULL;
	FILE *in = fopen(path, "re");
	size_t size = 0;
	bool ret = false;

	while (in && !ret && getline(&line, &size, in) > 0)
		ret = line[strspn(line, " \t")] != '#' && strstr(line, script);
	if (in)
		fclose(in);
	free(line);
	free(path);
	return ret;
}

// Whether gdb loads the scripts when it sees the libgorgon that this program uses: gdb looks below
// its folder for the library's own path with symbolic links resolved. See "auto-load" in GDB's
// manual. A library of another folder, such as an installed one beside a build, has scripts of its
// own.
static bool are_loaded_by_gdb(void)
{
	char *library = NULL, *script = NULL;
	bool ret;
	Dl_info info;

	if (dladdr(gorgon_error_message, &info))
		library = realpath(info.dli_fname, NULL);
	ret = library &&
	      asprintf(&script, "%s%s-gdb.py", "/usr/share/gdb/auto-load", library) >= 0 &&
	      !access(script, R_OK);
	free(script);
	free(library);
	return ret;
}

struct debugger {
	const char *name, *script;
	const char *load;	 // its command that loads the script
	const char *files[3];	 // files of the home folder that it reads when it starts
	const char *commands[4]; // names that it is installed under, the newest first
	int oldest;		 // version that Gorgon is tested with
	const char *package;
};

static const struct debugger debuggers[] = {
	{"gdb", "gdb/gorgon.py", "source", {".gdbinit", ".config/gdb/gdbinit"}, {"gdb"}, 13, "gdb"},
	{"lldb",
	 "lldb/gorgon.py",
	 "command script import",
	 {".lldbinit"},
	 {"lldb", "lldb-21", "lldb-19", "lldb-16"},
	 16,
	 "lldb-19"},
};

static int parse_version(const char *line)
{
	const char *word = line;

	// "GNU gdb (Debian 13.1-3) 13.1", "lldb version 19.1.7"
	for (const char *p = line; *p; p++)
		if (*p == ' ' && p[1] >= '0' && p[1] <= '9')
			word = p + 1;
	return atoi(word);
}

static void check_scripts(struct json_object *list, const struct debugger *debugger,
			  const char *folder)
{
	const char *home = getenv("HOME");
	char *what, *advice;
	bool named = false;

	for (size_t i = 0; home && i < 2 && debugger->files[i]; i++)
		named |= is_named_in(home, debugger->files[i], debugger->script);
	what = tool_text("%s's scripts", debugger->name);
	advice = tool_text("put this line into ~/%s: %s %s/%s", debugger->files[0], debugger->load,
			   folder, debugger->script);
	if (named)
		say(list, STATE_OK, what, NULL, "~/%s loads them", debugger->files[0]);
	else if (!strcmp(debugger->name, "gdb") && are_loaded_by_gdb())
		say(list, STATE_OK, what, NULL, "gdb loads them by itself");
	else
		say(list, STATE_NOTE, what, advice,
		    "~/%s does not load them: no labels, no `gorgon` commands", debugger->files[0]);
	free(what);
	free(advice);
}

static void check_debugger(struct json_object *list, const struct debugger *debugger,
			   const char *folder)
{
	char *line = NULL, *command, *advice;

	// The one without a version in its name may be older than the others.
	for (size_t i = 0;
	     i < 4 && debugger->commands[i] && (!line || parse_version(line) < debugger->oldest);
	     i++) {
		char *next;

		command = tool_text("%s --version 2>/dev/null", debugger->commands[i]);
		next = read_command(command);
		free(command);
		if (next) {
			free(line);
			line = next;
		}
	}
	advice = tool_text("on Debian: apt install %s", debugger->package);
	if (!line) {
		say(list, STATE_NOTE, debugger->name, advice, "is not installed");
		free(advice);
		return;
	}
	if (parse_version(line) < debugger->oldest)
		say(list, STATE_NOTE, debugger->name, advice,
		    "%s: older than what Gorgon is tested with (%d)", line, debugger->oldest);
	else
		say(list, STATE_OK, debugger->name, NULL, "%s", line);
	free(advice);
	if (folder)
		check_scripts(list, debugger, folder);
	free(line);
}

static void check_debuggers(struct json_object *list)
{
	char *folder = tool_script_dir();

	if (!folder)
		say(list, STATE_BAD, "scripts", "install Gorgon again",
		    "the debuggers' scripts are not where this program is");
	for (size_t i = 0; i < sizeof(debuggers) / sizeof(*debuggers); i++)
		check_debugger(list, &debuggers[i], folder);
	free(folder);
}

// --- the kernel -------------------------------------------------------------------------

// Documentation/admin-guide/LSM/Yama.rst
static void check_ptrace(struct json_object *list)
{
	char *line = read_file("/proc/sys/kernel/yama/ptrace_scope");
	int scope = line ? atoi(line) : 0;

	free(line);
	if (!scope || !geteuid())
		say(list, scope == 3 ? STATE_NOTE : STATE_OK, "attaching", NULL,
		    scope == 3 ? "nobody may attach to a process (kernel.yama.ptrace_scope is 3)"
			       : "debuggers may attach");
	else if (scope == 1)
		say(list, STATE_NOTE, "attaching",
		    "sysctl kernel.yama.ptrace_scope=0, or attach as root",
		    "debuggers may attach to what they have started only (kernel.yama.ptrace_scope "
		    "is 1)");
	else
		say(list, STATE_NOTE, "attaching",
		    "attach as root, or set kernel.yama.ptrace_scope to 0 (3 lasts until the "
		    "machine is started again)",
		    "you may not attach to processes (kernel.yama.ptrace_scope is %d)", scope);
}

// core(5)
static void check_cores(struct json_object *list)
{
	char *pattern = read_file("/proc/sys/kernel/core_pattern");
	struct rlimit limit = {0};

	getrlimit(RLIMIT_CORE, &limit);
	if (!pattern || !*pattern)
		say(list, STATE_NOTE, "cores", "sysctl kernel.core_pattern=core",
		    "the kernel writes none");
	else if (*pattern == '|')
		say(list, STATE_OK, "cores",
		    strstr(pattern, "systemd-coredump") ? "`coredumpctl debug` opens the last one"
							: NULL,
		    "go to a program: %s", pattern + 1);
	else if (!limit.rlim_cur)
		say(list, STATE_NOTE, "cores",
		    "ulimit -c unlimited, in the shell that starts the program",
		    "none is written: the limit of their size is 0");
	else
		say(list, STATE_OK, "cores", NULL, "are written as %s", pattern);
	free(pattern);
}

static void check_mappings(struct json_object *list)
{
	char *line = read_file("/proc/sys/vm/max_map_count");
	unsigned long limit = line ? strtoul(line, NULL, 10) : 0;

	free(line);
	if (!limit)
		return;
	say(list, STATE_OK, "mappings",
	    limit < 1000 * MAPPINGS_PER_INTERPRETER ? "for more: sysctl vm.max_map_count=1048576"
						    : NULL,
	    "%lu a process: about %lu interpreters with numpy", limit,
	    limit * 3 / 4 / MAPPINGS_PER_INTERPRETER);
}

// Try unshare(2), which filters of system calls in containers forbid. A child tries it, because it
// cannot be undone.
static void check_files(struct json_object *list)
{
	pid_t child = fork();
	int status = 0, err;

	if (!child)
		_exit(unshare(CLONE_FILES | CLONE_FS) ? errno : 0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return;
	err = WIFEXITED(status) ? WEXITSTATUS(status) : ENOSYS;
	if (err)
		say(list, STATE_NOTE, "own descriptors",
		    "let the container's filter of system calls allow unshare(2)",
		    "unshare(CLONE_FILES | CLONE_FS): %s: interpreters have the process's current "
		    "directory",
		    strerror(err));
	else
		say(list, STATE_OK, "own descriptors", NULL,
		    "each interpreter has descriptors and a current directory of its own");
}

// --- the command ------------------------------------------------------------------------

static const char *doctor_colour(struct json_object *row)
{
	const char *state = json_object_get_string(json_object_object_get(row, "state"));

	return *state == 'o' ? "\033[32m" : *state == 'n' ? "\033[33m" : "\033[31m";
}

static void doctor_print(struct json_object *list)
{
	bool coloured = tool_has_colours(STDOUT_FILENO);

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i), *advice;

		printf("%s%-8s%s %-18s %s\n", coloured ? doctor_colour(row) : "",
		       json_object_get_string(json_object_object_get(row, "state")),
		       coloured ? "\033[0m" : "",
		       json_object_get_string(json_object_object_get(row, "what")),
		       json_object_get_string(json_object_object_get(row, "found")));
		if ((advice = json_object_object_get(row, "advice")))
			printf("%-8s %-18s -> %s\n", "", "", json_object_get_string(advice));
	}
}

enum {
	OPT_PYTHON = 256,
	OPT_JSON,
};

struct given {
	const char *python;
	bool json;
};

static int doctor_parse(int key, char *arg, struct argp_state *state)
{
	struct given *given = state->input;

	switch (key) {
	case OPT_PYTHON:
		given->python = arg;
		return 0;
	case OPT_JSON:
		given->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return tool_usage("doctor: %s: unexpected argument", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int tool_doctor(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"python", OPT_PYTHON, "NAME", 0,
		 "The python executable, by its name in PATH or its file, or libpython that is to "
		 "be used",
		 0},
		{"json", OPT_JSON, NULL, 0, "Print it as JSON", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = doctor_parse,
		.doc = "Looks at what running and debugging need of this machine, and says what to "
		       "do where something is missing."
		       "\vExit status: 0; 1 when there is a PROBLEM; 2 wrong usage.",
	};
	struct given given = {0};
	int status = tool_parse(&argp, 0, argc, argv, &given);
	struct json_object *list;

	if (status)
		return status;
	list = json_object_new_array();
	check_python(list, given.python);
	check_cache(list);
	check_debuggers(list);
	check_ptrace(list);
	check_cores(list);
	check_mappings(list);
	check_files(list);
	if (given.json)
		puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	else
		doctor_print(list);
	json_object_put(list);
	return worst == STATE_BAD;
}
