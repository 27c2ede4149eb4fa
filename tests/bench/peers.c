// SPDX-License-Identifier: MIT
// What somebody would have instead of lives.c: processes with the same libpython, and CPython's own
// subinterpreters.
//
//	peers WAY AT_ONCE TIMES PYTHON CODE
//
// WAY is spawn (this program, started anew), fork (a child that starts Python; nothing of it has been started here)
// or sub (a subinterpreter, one after the other, with the GIL that all have). PYTHON is the executable whose modules
// are used. Prints the lines of lives.c; with TIMES 0 only the line about memory, of a process after CODE.

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "measure.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *python, *code;

static int run_python(void)
{
	char option[] = "-c";
	char *arguments[] = {python, option, code, NULL};

	return Py_BytesMain(3, arguments);
}

static pid_t start(const char *way)
{
	char self[] = "peers", run[] = "run", none[] = "0";
	char *arguments[] = {self, run, none, none, python, code, NULL};
	pid_t pid;

	if (!strcmp(way, "spawn"))
		return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) ? -1 : pid;
	pid = fork();
	if (!pid)
		exit(run_python());
	return pid;
}

static void processes(const char *way, long count)
{
	int status;

	for (long i = 0; i < count; i++)
		if (start(way) < 0)
			exit(3);
	for (long i = 0; i < count; i++)
		if (wait(&status) < 0 || status)
			exit(4);
}

static void subinterpreters(long count)
{
	PyThreadState *own = PyThreadState_Get();

	for (long i = 0; i < count; i++) {
		PyThreadState *other = Py_NewInterpreter();

		if (!other || PyRun_SimpleString(code))
			exit(4);
		Py_EndInterpreter(other);
		PyThreadState_Swap(own);
	}
}

static void initialise(void)
{
	PyConfig config;
	PyStatus status;

	PyConfig_InitPythonConfig(&config);
	status = PyConfig_SetBytesString(&config, &config.program_name, python);
	if (!PyStatus_Exception(status))
		status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	if (PyStatus_Exception(status))
		Py_ExitStatusException(status);
}

int main(int argc, char **argv)
{
	long count = argc == 6 ? atol(argv[2]) : -1;
	const char *way = argv[1];

	if (count < 0) {
		fputs("usage: peers WAY AT_ONCE TIMES PYTHON CODE\n", stderr);
		return 2;
	}
	python = argv[4];
	code = argv[5];
	if (!strcmp(way, "run"))
		return run_python();
	if (!strcmp(way, "sub") || !atol(argv[3]))
		initialise();
	for (long i = atol(argv[3]); i > 0; i--) {
		struct used used = bench_used();

		if (!strcmp(way, "sub"))
			subinterpreters(count);
		else
			processes(way, count);
		used = bench_since(&used, (double)count);
		printf("%.0f %.0f %.0f\n", used.cpu, used.wall, used.faults);
		fflush(stdout); // otherwise each child would write it, too
	}
	if (!atol(argv[3])) {
		if (PyRun_SimpleString(code))
			exit(4);
		printf("%.0f\n", bench_private_dirty());
	}
	fflush(stdout);
	_Exit(0);
}
