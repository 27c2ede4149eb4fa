// SPDX-License-Identifier: MIT
// exec() and its relatives: the new program gets the environment of the interpreter that starts it,
// is looked for in the interpreter's PATH, and ignores the signals that the interpreter ignores.
//
// The caller may be a child that shares the memory (vfork): nothing here takes a lock or allocates.
//
// execl() and execlp() stay the C library's, because no library in Python's packages imports them.

#define _GNU_SOURCE
#include "exec.h"
#include "signals.h"
#include "ns/ns.h"
#include "process/libc/environment.h"
#include "process/libc/process_variables.h"
#include "process/part.h"

#include <unistd.h>

struct program {
	const char *file;
	char *const *argv;
	int (*run)(const char *file, char *const *argv, char *const *envp);
	int fd; // the program, when @file is NULL
	const struct gorgon_signals *signals;
};

static int run_program(char *const *envp, void *ctx)
{
	const struct program *program = ctx;
	struct gorgon_exec exec;
	int ret;

	gorgon_signals_before_program();
	gorgon_signals_before_exec(program->signals, &exec);
	ret = program->run ? program->run(program->file, program->argv, envp)
			   : fexecve(program->fd, program->argv, envp);
	gorgon_signals_after_exec(&exec);
	return ret;
}

static int exec_path(const char *path, char *const *argv, char *const *envp, struct gorgon_ns *ns)
{
	return gorgon_environment_give(ns->environment, envp, run_program,
				       &(struct program){path, argv, execve, -1, ns->signals});
}

static int exec_file(const char *file, char *const *argv, char *const *envp, struct gorgon_ns *ns)
{
	char room[GORGON_ENVIRONMENT_PROGRAM_SIZE];

	file = gorgon_environment_find_program(ns->environment, file, room);
	return file ? gorgon_environment_give(ns->environment, envp, run_program,
					      &(struct program){file, argv, execvpe, -1,
							       ns->signals})
		    : -1;
}

static int exec_fd(int fd, char *const *argv, char *const *envp, struct gorgon_ns *ns)
{
	return gorgon_environment_give(ns->environment, envp, run_program,
				       &(struct program){NULL, argv, NULL, fd, ns->signals});
}

static int exec_path_here(const char *path, char *const *argv, struct gorgon_ns *ns)
{
	return exec_path(path, argv, gorgon_process_variables_list(), ns);
}

static int exec_file_here(const char *file, char *const *argv, struct gorgon_ns *ns)
{
	return exec_file(file, argv, gorgon_process_variables_list(), ns);
}

#define OWN(name, function, args, reason) {name, function, args, 0, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN("execv", exec_path_here, 2,
	    "the new program gets the environment of the one that starts it"),
	OWN("execvp", exec_file_here, 2, "as execv, and is looked for in the program's PATH"),
	OWN("execve", exec_path, 3,
	    "the environment that a caller passes on is whole, whoever changes it meanwhile"),
	OWN("execvpe", exec_file, 3, "as execve; looked for in the program's PATH"),
	OWN("fexecve", exec_fd, 3, "as execve"),
};

const struct gorgon_part gorgon_exec_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
};
