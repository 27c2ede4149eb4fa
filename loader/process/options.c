// SPDX-License-Identifier: MIT
// getopt() and its family, with optarg, optind, opterr and optopt of the namespace.
//
// Beside these four the C library has variables of its own that say where in the arguments it is, and no
// function that takes such variables from its caller. So the arguments are read here, as getopt(3) and
// the C library define it: options and other arguments in any order, unless the option string or
// POSIXLY_CORRECT says otherwise; long options by the beginning of their name, if only one begins so;
// messages in the C library's words and its translations of them.

#define _GNU_SOURCE
#include "part.h"
#include "environment.h"
#include "ns/ns.h"
#include "process.h"

#include <getopt.h>
#include <libintl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	struct gorgon_ns *ns;
	char *arg; // optarg and so on
	int index, errors, option;

	bool begun;
	enum { ANY_ORDER, STOP_AT_FIRST, AS_OPTION_1 } order; // of arguments that are no options
	char *rest;	 // of an argument with several options
	int first, last; // arguments that are no options and were passed by, end exclusive
};

// The arguments of a call.
struct call {
	struct options *state;
	int argc;
	char **argv;
	const char *letters;
	const struct option *longs; // or NULL
	int *long_index;
	bool long_only;
	bool silent;
};

// --- messages ------------------------------------------------------------------------------------

static const char *options_translate(const char *text)
{
	return dcgettext("libc", text, LC_MESSAGES);
}

static void write_text(const struct call *call, const char *text)
{
	const struct gorgon_ns *ns = call->state->ns;

	if (ns->opts.write_output)
		gorgon_process_write(STDERR_FILENO, text, strlen(text), (struct gorgon_ns *)ns);
	else
		fputs(text, stderr);
}

// @format has the program's name first.
#define complain(call, format, ...)                                                     \
	do {                                                                            \
		char *complaint;                                                        \
		if (!(call)->silent && asprintf(&complaint, options_translate(format),  \
						(call)->argv[0], ##__VA_ARGS__) >= 0) { \
			write_text(call, complaint);                                    \
			free(complaint);                                                \
		}                                                                       \
	} while (0)

// --- arguments that are no options -----------------------------------------------------------------

static bool is_other(const char *text)
{
	return text[0] != '-' || !text[1];
}

static void options_reverse(char **from, char **to)
{
	while (from < to) {
		char *text = *from;

		*from++ = *--to;
		*to = text;
	}
}

// Move options in front of the other arguments that were passed by.
static void options_exchange(const struct call *call)
{
	struct options *state = call->state;
	char **first = call->argv + state->first, **last = call->argv + state->last;
	char **end = call->argv + state->index;

	options_reverse(first, last);
	options_reverse(last, end);
	options_reverse(first, end);
	state->first += state->index - state->last;
	state->last = state->index;
}

static void pass_others(const struct call *call)
{
	struct options *state = call->state;

	if (state->first != state->last && state->last != state->index)
		options_exchange(call);
	else if (state->last != state->index)
		state->first = state->index;
	while (state->index < call->argc && is_other(call->argv[state->index]))
		state->index++;
	state->last = state->index;
}

// Pass `--`, behind which there are no options.
static void pass_end(const struct call *call)
{
	struct options *state = call->state;

	state->index++;
	if (state->first != state->last && state->last != state->index)
		options_exchange(call);
	else if (state->first == state->last)
		state->first = state->index;
	state->last = state->index = call->argc;
}

// --- long options ----------------------------------------------------------------------------------

static const struct option *find_exact(const struct call *call, const char *name, size_t size)
{
	const struct option *found = call->longs;

	while (found->name && (strncmp(found->name, name, size) || found->name[size]))
		found++;
	return found->name ? found : NULL;
}

static bool is_alike(const struct call *call, const struct option *a, const struct option *b)
{
	return !call->long_only && a->has_arg == b->has_arg && a->flag == b->flag &&
	       a->val == b->val;
}

static void complain_ambiguous(const struct call *call, const char *prefix,
			       const struct option *found, size_t size)
{
	const char *name = call->state->rest;

	complain(call, "%s: option '%s%s' is ambiguous; possibilities:", prefix, name);
	for (const struct option *other = call->longs; other->name && !call->silent; other++) {
		char *text;

		if (strncmp(other->name, name, size) ||
		    (other != found && is_alike(call, found, other)) ||
		    asprintf(&text, " '%s%s'", prefix, other->name) < 0)
			continue;
		write_text(call, text);
		free(text);
	}
	if (!call->silent)
		write_text(call, "\n");
}

// Find an option by the beginning of its name. *@clear: no other option begins so, or all that do mean the same.
static const struct option *find_begun(const struct call *call, size_t size, bool *clear)
{
	const struct option *found = NULL;

	*clear = true;
	for (const struct option *option = call->longs; option->name; option++) {
		if (strncmp(option->name, call->state->rest, size))
			continue;
		if (!found)
			found = option;
		else if (!is_alike(call, found, option))
			*clear = false;
	}
	return found;
}

static int options_refuse(struct options *state, int option)
{
	state->rest = NULL;
	state->index++;
	state->option = option;
	return '?';
}

static int options_missing(const struct call *call)
{
	return call->letters[0] == ':' ? ':' : '?';
}

// Take the argument of the option that was found: behind `=` at @end, or the next argument.
static int take_long(const struct call *call, const struct option *found, char *end,
		     const char *prefix)
{
	struct options *state = call->state;

	state->rest = NULL;
	state->index++;
	if (*end && !found->has_arg) {
		complain(call, "%s: option '%s%s' doesn't allow an argument\n", prefix, found->name);
		state->option = found->val;
		return '?';
	}
	if (*end) {
		state->arg = end + 1;
	} else if (found->has_arg == required_argument) {
		if (state->index >= call->argc) {
			complain(call, "%s: option '%s%s' requires an argument\n", prefix,
				 found->name);
			state->option = found->val;
			return options_missing(call);
		}
		state->arg = call->argv[state->index++];
	}
	if (call->long_index)
		*call->long_index = (int)(found - call->longs);
	if (!found->flag)
		return found->val;
	*found->flag = found->val;
	return 0;
}

// Read the long option at `rest`. -1: it may be short options.
static int read_long(const struct call *call, const char *prefix)
{
	struct options *state = call->state;
	char *end = state->rest + strcspn(state->rest, "=");
	size_t size = (size_t)(end - state->rest);
	const struct option *found = find_exact(call, state->rest, size);
	bool clear = true;

	if (!found)
		found = find_begun(call, size, &clear);
	if (!clear) {
		complain_ambiguous(call, prefix, found, size);
		return options_refuse(state, 0);
	}
	if (found)
		return take_long(call, found, end, prefix);
	if (call->long_only && call->argv[state->index][1] != '-' &&
	    strchr(call->letters, *state->rest))
		return -1;
	complain(call, "%s: unrecognized option '%s%s'\n", prefix, state->rest);
	return options_refuse(state, 0);
}

// --- short options -----------------------------------------------------------------------------------

static int read_w(const struct call *call)
{
	struct options *state = call->state;
	struct call w = *call;

	if (!*state->rest && state->index == call->argc) {
		complain(call, "%s: option requires an argument -- '%c'\n", 'W');
		state->option = 'W';
		return options_missing(call);
	}
	if (!*state->rest)
		state->rest = call->argv[state->index];
	w.long_only = false;
	return read_long(&w, "-W ");
}

static int take_argument(const struct call *call, int letter, bool optional)
{
	struct options *state = call->state;

	if (*state->rest) {
		state->arg = state->rest;
		state->index++;
	} else if (!optional && state->index == call->argc) {
		complain(call, "%s: option requires an argument -- '%c'\n", letter);
		state->option = letter;
		letter = options_missing(call);
	} else if (!optional) {
		state->arg = call->argv[state->index++];
	}
	state->rest = NULL;
	return letter;
}

static int read_short(const struct call *call)
{
	struct options *state = call->state;
	char letter = *state->rest++;
	const char *found = strchr(call->letters, letter);

	if (!*state->rest)
		state->index++;
	if (!found || letter == ':' || letter == ';') {
		complain(call, "%s: invalid option -- '%c'\n", letter);
		state->option = letter;
		return '?';
	}
	if (found[0] == 'W' && found[1] == ';' && call->longs)
		return read_w(call);
	if (found[1] == ':')
		return take_argument(call, letter, found[2] == ':');
	return letter;
}

// --- the next option -----------------------------------------------------------------------------

static void options_start(const struct call *call, bool posix)
{
	struct options *state = call->state;

	if (!state->index)
		state->index = 1;
	state->first = state->last = state->index;
	state->rest = NULL;
	if (*call->letters == '-')
		state->order = AS_OPTION_1;
	else if (*call->letters == '+' || posix || gorgon_getenv("POSIXLY_CORRECT", state->ns->environment))
		state->order = STOP_AT_FIRST;
	else
		state->order = ANY_ORDER;
	state->begun = true;
}

static int options_least(int a, int b)
{
	return a < b ? a : b;
}

// The next argument with options is at `index`: true. Or the result of the call is *@ret.
static bool find_next(const struct call *call, int *ret)
{
	struct options *state = call->state;

	// The program may have gone back.
	state->last = options_least(state->last, state->index);
	state->first = options_least(state->first, state->index);
	if (state->order == ANY_ORDER)
		pass_others(call);
	if (state->index != call->argc && !strcmp(call->argv[state->index], "--"))
		pass_end(call);
	*ret = -1;
	if (state->index == call->argc) {
		if (state->first != state->last)
			state->index = state->first;
		return false;
	}
	if (!is_other(call->argv[state->index]))
		return true;
	if (state->order == AS_OPTION_1) {
		state->arg = call->argv[state->index++];
		*ret = 1;
	}
	return false;
}

// The argument at `index` as a long option, if it may be one; otherwise -1.
static int try_long(const struct call *call)
{
	char *text = call->argv[call->state->index];

	if (!call->longs)
		return -1;
	if (text[1] == '-') {
		call->state->rest = text + 2;
		return read_long(call, "--");
	}
	if (!call->long_only || (!text[2] && strchr(call->letters, text[1])))
		return -1;
	call->state->rest = text + 1;
	return read_long(call, "-");
}

static int read_next(struct call *call, bool posix)
{
	struct options *state = call->state;
	int ret;

	if (call->argc < 1)
		return -1;
	state->arg = NULL;
	if (!state->index || !state->begun)
		options_start(call, posix);
	call->letters += *call->letters == '-' || *call->letters == '+';
	call->silent = !state->errors || *call->letters == ':';
	if (!state->rest || !*state->rest) {
		if (!find_next(call, &ret))
			return ret;
		ret = try_long(call);
		if (ret != -1)
			return ret;
		state->rest = call->argv[state->index] + 1;
	}
	return read_short(call);
}

static int options_get(int argc, char **argv, const char *letters, struct options *state)
{
	struct call call = {.state = state, .argc = argc, .argv = argv, .letters = letters};

	return read_next(&call, false);
}

static int get_posix(int argc, char **argv, const char *letters, struct options *state)
{
	struct call call = {.state = state, .argc = argc, .argv = argv, .letters = letters};

	return read_next(&call, true);
}

static int get_long(int argc, char **argv, const char *letters, const struct option *longs,
		    int *index, struct options *state)
{
	struct call call = {state, argc, argv, letters, longs, index, false, false};

	return read_next(&call, false);
}

static int get_long_only(int argc, char **argv, const char *letters, const struct option *longs,
			 int *index, struct options *state)
{
	struct call call = {state, argc, argv, letters, longs, index, true, false};

	return read_next(&call, false);
}

// --- the part ------------------------------------------------------------------------------------

static bool options_begin(void *arg, struct gorgon_ns *ns)
{
	*(struct options *)arg =
		(struct options){.ns = ns, .index = 1, .errors = 1, .option = '?'};
	return true;
}

#define OWN(name, target, args, reason) {name, target, args, 0, GORGON_OWN, reason}
#define VARIABLE(name, member)                                                                     \
	{name, NULL, GORGON_BOUND_DATA, offsetof(struct options, member), GORGON_OWN, "as getopt"}

static const struct gorgon_bound bound[] = {
	OWN("getopt", options_get, 3, "goes on in the program's own arguments"),
	OWN("__posix_getopt", get_posix, 3, "as getopt"),
	OWN("getopt_long", get_long, 5, "as getopt"),
	OWN("getopt_long_only", get_long_only, 5, "as getopt"),
	VARIABLE("optarg", arg),
	VARIABLE("optind", index),
	VARIABLE("opterr", errors),
	VARIABLE("optopt", option),
};

const struct gorgon_part gorgon_options = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct options),
	.begin = options_begin,
};
