// SPDX-License-Identifier: MIT Which CPython the command takes: the one that its name or `python3`
// has in PATH, as with any other program.
//
// A program in PATH may stand for a Python that it starts, as pyenv's shims do. Such a program is
// asked. A python3 that has no libpython gives way to the distribution's build of the same version,
// and that is said. Hosts never come here: gorgon_python_find() looks at no variable and runs
// nothing.

#define _GNU_SOURCE
#include "tool.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// The first program of that name in PATH, malloc()ed; NULL if there is none.
static char *find_in_path(const char *name)
{
	const char *path = getenv("PATH") ?: "/usr/bin:/bin", *end;

	for (;; path = end + 1) {
		char *file;
		struct stat st;

		end = strchrnul(path, ':');
		file = tool_text("%.*s/%s", end > path ? (int)(end - path) : 1,
				 end > path ? path : ".", name);
		if (!access(file, X_OK) && !stat(file, &st) && S_ISREG(st.st_mode))
			return file;
		free(file);
		if (!*end)
			return NULL;
	}
}

// What a program says of the Python that it starts: sys.executable, and "3.11", with "d" or "t" for
// other builds.
struct answer {
	char executable[PATH_MAX], version[16];
};

static bool read_answer(int fd, struct answer *ret)
{
	FILE *in = fdopen(fd, "r");
	bool done = in && fgets(ret->executable, sizeof(ret->executable), in) &&
		    fgets(ret->version, sizeof(ret->version), in);

	if (in)
		fclose(in);
	else
		close(fd);
	ret->executable[strcspn(ret->executable, "\n")] = 0;
	ret->version[strcspn(ret->version, "\n")] = 0;
	return done && *ret->executable == '/';
}

static bool ask(const char *program, struct answer *ret)
{
	static const char question[] = "import sys; print(sys.executable); print('%d.%d%s' % "
				       "(*sys.version_info[:2], sys.abiflags))";
	char *argv[] = {(char *)program, "-ISc", (char *)question, NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], status = -1;
	bool done;
	pid_t pid;

	*ret = (struct answer){0};
	if (pipe2(fds, O_CLOEXEC) || posix_spawn_file_actions_init(&actions))
		abort();
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	done = !posix_spawn(&pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (!done) {
		close(fds[0]);
		return false;
	}
	done = read_answer(fds[0], ret);
	waitpid(pid, &status, 0);
	return done && !status;
}

// The distribution's build of a version, for one without a libpython.
static bool find_distributions(const char *version, struct chosen *chosen)
{
	static const char folder[] = "/usr/bin";
	struct gorgon_error *err;

	chosen->path = tool_text("%s/python%s", folder, version);
	if (!(err = gorgon_python_find(chosen->path, &chosen->python)))
		return true;
	gorgon_error_destroy(err);
	free(chosen->path);
	chosen->path = NULL;
	return false;
}

static bool lacks_library(const struct gorgon_error *err)
{
	return gorgon_error_code(err) == GORGON_ERROR_PYTHON ||
	       gorgon_error_code(err) == GORGON_ERROR_MISSING;
}

// Takes what the program at @path stands for. An error is that of the program itself.
static struct gorgon_error *choose_shimmed(const char *path, bool by_name, struct gorgon_error *err,
					   struct chosen *ret)
{
	struct gorgon_error *second = NULL;
	struct answer answer;

	if (gorgon_error_code(err) != GORGON_ERROR_PYTHON &&
	    gorgon_error_code(err) != GORGON_ERROR_FORMAT)
		return err;
	if (!ask(path, &answer))
		return err;
	if (!(second = gorgon_python_find(answer.executable, &ret->python))) {
		ret->path = tool_text("%s", answer.executable);
		ret->why = tool_text("%s stands for it", path);
	} else if (!by_name && lacks_library(second) && find_distributions(answer.version, ret)) {
		ret->why = tool_text("the distribution's build of the same version: "
				     "%s has no libpython",
				     answer.executable);
		ret->gave_way = true;
	} else {
		gorgon_error_destroy(err);
		return second;
	}
	gorgon_error_destroy(second);
	gorgon_error_destroy(err);
	return NULL;
}

bool python_choose(const char *name, struct chosen *ret)
{
	char *path = !name || !strchr(name, '/') ? find_in_path(name ?: "python3") : NULL;
	struct gorgon_error *err;

	*ret = (struct chosen){0};
	if (!path && name)
		// a file of the current folder, or an error that says the name
		path = tool_text("%s", name);
	if (!(err = gorgon_python_find(path, &ret->python)))
		ret->path = path ? tool_text("%s", path) : NULL;
	else if (path)
		err = choose_shimmed(path, name, err, ret);
	if (err)
		ret->problem = name || !path
				       ? tool_text("%s", gorgon_error_message(err))
				       : tool_text("%s (it is python3 in PATH; "
						   "--python takes another)",
						   gorgon_error_message(err));
	else if (!ret->why && name)
		ret->why = tool_text("--python %s", name);
	else if (!ret->why)
		ret->why = tool_text("%s",
				path ? "python3 in PATH"
				     : "the newest libpython of the system: PATH has no python3");
	gorgon_error_destroy(err);
	free(path);
	return !ret->problem;
}

int python_take(const char *name, bool verbose, struct chosen *ret)
{
	if (python_choose(name, ret)) {
		if (ret->gave_way || verbose)
			fprintf(stderr, "gorgon: %s is taken: %s\n", ret->python.libpython,
				ret->why);
		return 0;
	}
	fprintf(stderr, "gorgon: %s\n", ret->problem);
	python_deinit(ret);
	return TOOL_FAILED;
}

char *python_lines_problem(const struct chosen *chosen)
{
	static const char option[] = "python_lines: ";
	const struct gorgon_interp_opts opts = {.size = sizeof(opts),
						.python = chosen->path,
						.python_lines = GORGON_PYTHON_LINES_ON};
	struct gorgon_interp *interp;
	struct gorgon_error *err = gorgon_interp_create(&opts, &interp);
	const char *message, *why;
	char *ret;

	if (!err) {
		gorgon_error_destroy(gorgon_interp_destroy(interp));
		return NULL;
	}
	message = gorgon_error_message(err);
	why = strstr(message, option);
	ret = tool_text("%s", why ? why + strlen(option) : message);
	gorgon_error_destroy(err);
	return ret;
}

void python_deinit(struct chosen *chosen)
{
	if (!chosen->problem)
		gorgon_python_deinit(&chosen->python);
	free(chosen->path);
	free(chosen->why);
	free(chosen->problem);
	*chosen = (struct chosen){0};
}
