// SPDX-License-Identifier: MIT
// What the subcommands of `gorgon` share.

#define _GNU_SOURCE
#include "tool.h"
#include "file/grow.h"

#include <argp.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tool_fail(struct gorgon_error *err, int status)
{
	fprintf(stderr, "gorgon: %s\n", gorgon_error_message(err));
	gorgon_error_destroy(err);
	return status;
}

int tool_usage(const char *format, ...)
{
	va_list args;

	fputs("gorgon: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (gorgon --help)\n", stderr);
	return TOOL_USAGE;
}

char *tool_text(const char *format, ...)
{
	va_list args;
	char *ret;

	va_start(args, format);
	if (vasprintf(&ret, format, args) < 0)
		abort();
	va_end(args);
	return ret;
}

bool tool_write(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t done = write(fd, at, size);

		if (done < 0 && errno != EINTR)
			return false;
		at += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

void words_add(struct words *words, const char *word)
{
	if (!jitreg_add(&words->list, &words->count, sizeof(*words->list)) ||
	    !jitreg_grow(&words->list, words->count, sizeof(*words->list)))
		abort();
	words->list[words->count - 1] = word;
	words->list[words->count] = NULL;
}

// Where the command line was left, and where the last option that is known has left it.
static int failed_at, known_at;
static argp_parser_t parse_own;

static error_t parse_and_note(int key, char *arg, struct argp_state *state)
{
	error_t ret = parse_own(key, arg, state);

	if (key == ARGP_KEY_INIT)
		known_at = 1;
	else if (key == ARGP_KEY_ERROR)
		failed_at = state->next;
	else if (!ret)
		known_at = state->next;
	return ret;
}

// argp leaves a word with several letters, such as -VV, behind its last letter. If the letter that
// is not known is not the last, nothing of the command line was left since the last known option.
// (A word that is no option was set aside, and is in front of the options that follow.)
static const char *failed_word(char **argv)
{
	bool has_more = failed_at == known_at || *argv[failed_at - 1] != '-';

	return argv[has_more ? failed_at : failed_at - 1];
}

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != 'h')
		return ARGP_ERR_UNKNOWN;
	argp_help(state->root_argp, stdout,
		  ARGP_HELP_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC,
		  state->name);
	exit(0);
}

int tool_parse(const struct argp *argp, unsigned flags, int argc, char **argv, void *input)
{
	static const struct argp_option help_options[] = {
		{"help", 'h', NULL, 0, "Print this help and end", -1},
		{0},
	};
	static const struct argp help = {.options = help_options, .parser = parse_help};
	const struct argp_child children[] = {{&help, 0, NULL, -1}, {0}};
	struct argp all = *argp;
	const char *command = argv[0];
	char name[64];
	int status;

	all.children = children;
	all.parser = parse_and_note;
	parse_own = argp->parser;
	snprintf(name, sizeof(name), "gorgon %s", command);
	argv[0] = name;
	// argp's own error messages take two lines. Without them its own --help prints nothing,
	// hence parse_help().
	status = argp_parse(&all, argc, argv, flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
	argv[0] = (char *)command;
	if (status && status != TOOL_USAGE)
		tool_usage("%s: %s: no such option, or its value is missing", command,
			   failed_word(argv));
	return status ? TOOL_USAGE : 0;
}

bool tool_has_colours(int fd)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fd) && !(no && *no) && terminal && strcmp(terminal, "dumb");
}

// The real path of the folder that @format makes of @dir, if it has our gdb scripts; otherwise
// NULL.
static char *script_dir_at(const char *format, const char *dir)
{
	char *path, *real, *package, *ret;

	if (asprintf(&path, format, dir) < 0)
		return NULL;
	real = realpath(path, NULL);
	package = tool_text("%s/gdb/gorgon_gdb", real ?: "");
	ret = real && !access(package, R_OK) ? real : NULL;
	if (!ret)
		free(real);
	free(package);
	free(path);
	return ret;
}

char *tool_script_dir(void)
{
	char exe[PATH_MAX], *ret = NULL;
	ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (size <= 0)
		return NULL;
	exe[size] = 0;
	// Installed: PREFIX/bin/gorgon and PREFIX/share/gorgon. In a checkout: somewhere
	// above build/gorgon. Else where this program was configured for.
	dirname(exe);
	ret = script_dir_at("%s/../share/gorgon", exe);
	for (char *dir = exe; !ret && strcmp(dir, "/"); dir = dirname(dir))
		ret = script_dir_at("%s", dir);
	return ret ?: script_dir_at("%s", GORGON_DATADIR);
}
