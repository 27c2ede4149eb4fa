// SPDX-License-Identifier: MIT
// gorgon exec: runs Python in interpreters of a running process.
//
// The interpreter makes a thread for it (loader/python/calls/remote.c), which runs exec_python.c
// around the user's code and sends what it prints. Interpreters are asked one after the other.
// When the time is up, or the command ends, the code gets a KeyboardInterrupt.

#define _GNU_SOURCE
#include "exec.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <json.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS     10.0
#define SECONDS_MAX 1e6
#define GRACE_NS    UINT64_C(1000000000) // for code that was interrupted
#define LOOK_MS     200                  // between two looks whether the thread is still there

enum {
	OPT_JSON = 256,
	OPT_TIMEOUT,
	OPT_MEMRAY,
	OPT_DEBUGPY,
	OPT_PDB,
};

struct exec {
	pid_t pid;
	int interp; // -1: all
	const char *code, *file, *memray;
	int port; // of --debugpy, or -1
	double seconds;
	bool json, pdb;
	char *source;
};

// What one interpreter has answered. With --json the texts, without them only the status.
struct answer {
	char *texts[2]; // standard output and standard error
	size_t sizes[2];
	char *error; // why the code did not run or did not end, or its traceback
	int status;
};

// --- the source ---------------------------------------------------------------------------------

static void put_bytes(FILE *out, const char *name, const char *bytes, size_t size, const char *rest)
{
	fprintf(out, "%s = b'", name);
	for (size_t i = 0; i < size; i++)
		fprintf(out,
			bytes[i] >= '0' && bytes[i] != '\\' && bytes[i] < 127 ? "%c" : "\\x%02x",
			(unsigned char)bytes[i]);
	fprintf(out, "'%s\n", rest);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *in = fopen(path, "re"), *out;
	char *ret = NULL, buffer[65536];
	size_t part;

	if (!in)
		return NULL;
	out = open_memstream(&ret, size);
	while ((part = fread(buffer, 1, sizeof(buffer), in)))
		fwrite(buffer, 1, part, out);
	fclose(out);
	if (ferror(in)) {
		free(ret);
		ret = NULL;
	}
	fclose(in);
	return ret;
}

// The code of an option, with what it needs in front of it, malloc()ed; NULL: there is none.
static char *make_code(struct exec *exec)
{
	char *ret = NULL, *folder = NULL, *path = NULL;
	size_t size;
	FILE *out;

	if (exec->code)
		return strdup(exec->code);
	out = open_memstream(&ret, &size);
	if (exec->memray) {
		folder = *exec->memray == '/' ? strdup("") : getcwd(NULL, 0);
		if (asprintf(&path, "%s%s%s", folder ?: "", *exec->memray == '/' ? "" : "/",
			     exec->memray) < 0)
			abort();
		put_bytes(out, "file", path, strlen(path), "");
		fprintf(out, "seconds = %g\n", exec->seconds);
		exec->seconds += exec->seconds > 0 ? SECONDS : 0; // for what comes before and after
	}
	if (exec->port >= 0)
		fprintf(out, "port = %d\n", exec->port);
	fputs(exec->memray ? exec_memray : exec->pdb ? exec_pdb : exec_debugpy, out);
	fclose(out);
	free(path);
	free(folder);
	return ret;
}

static int make_source(struct exec *exec)
{
	const char *name = exec->file ?: "<string>";
	char *code = exec->file ? NULL : make_code(exec), *full = NULL;
	size_t size = code ? strlen(code) : 0, unused;
	FILE *out;

	if (exec->file) {
		code = read_file(exec->file, &size);
		full = realpath(exec->file, NULL);
	}

	if (!code) {
		fprintf(stderr, "gorgon: exec: %s: %s\n", exec->file, strerror(errno));
		free(full);
		return TOOL_FAILED;
	}
	out = open_memstream(&exec->source, &unused);
	put_bytes(out, "code", code, size, "");
	put_bytes(out, "name", full ?: name, strlen(full ?: name),
		  ".decode('utf-8', 'surrogateescape')");
	fprintf(out, "own = %s\n", exec->file || exec->code ? "False" : "True");
	fputs(exec_source, out);
	fclose(out);
	free(full);
	free(code);
	return 0;
}

// --- what comes back ----------------------------------------------------------------------------

static void answer_add(struct answer *answer, int fd, const char *bytes, size_t size)
{
	char **text = &answer->texts[fd - 1];

	*text = realloc(*text, answer->sizes[fd - 1] + size + 1);
	if (!*text)
		abort();
	memcpy(*text + answer->sizes[fd - 1], bytes, size);
	answer->sizes[fd - 1] += size;
	(*text)[answer->sizes[fd - 1]] = 0;
}

static void deliver(const struct exec *exec, struct answer *answer, struct label *label, int fd,
		    const char *bytes, size_t size)
{
	if (exec->json)
		answer_add(answer, fd, bytes, size);
	else if (exec->pdb) // a prompt is no whole line
		tool_write(fd, bytes, size);
	else
		label_write(label, fd, bytes, size);
}

struct reader {
	char *bytes;
	size_t size, capacity;
};

// Takes whole frames. Returns whether the code has ended.
static bool take_frames(const struct exec *exec, struct reader *reader,
			const struct remote_pipes *pipes, struct answer *answer,
			struct label *label, bool *begun)
{
	size_t at = 0;
	bool ended = false;

	while (!ended && reader->size - at >= 5) {
		char *body = reader->bytes + at + 5;
		uint32_t size;

		memcpy(&size, body - 4, sizeof(size));
		if (reader->size - at - 5 < size)
			break;
		switch (body[-5]) {
		case 'R':
			*begun = pipes->input >= 0 && write(pipes->input, "g", 1) == 1;
			break;
		case 'T':
			free(answer->error);
			answer->error = strndup(body, size);
			if (!exec->json)
				label_write(label, STDERR_FILENO, body, size);
			break;
		case 'X':
			answer->status = (int)strtol(body, NULL, 10);
			ended = true;
			break;
		default:
			deliver(exec, answer, label,
				body[-5] == 'O' ? STDOUT_FILENO : STDERR_FILENO, body, size);
		}
		at += 5 + size;
	}
	reader->size -= at;
	if (at) // otherwise nothing may have been read yet
		memmove(reader->bytes, reader->bytes + at, reader->size);
	return ended;
}

// False: there is no more to read.
static bool read_more(int fd, struct reader *reader)
{
	ssize_t size;

	if (reader->capacity - reader->size < 65536 &&
	    !(reader->bytes =
		      realloc(reader->bytes, reader->capacity = reader->capacity * 2 + 131072)))
		abort();
	size = read(fd, reader->bytes + reader->size, reader->capacity - reader->size - 1);
	if (size > 0) {
		reader->size += (size_t)size;
		reader->bytes[reader->size] = 0;
	}
	return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool is_thread_there(const struct exec *exec, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", exec->pid, tid);
	return !access(path, F_OK);
}

// The thread ends when nobody writes to it any more. What is asked next does not find it.
static void wait_for_end(struct remote_pipes *pipes)
{
	uint64_t until = remote_now() + GRACE_NS;
	char rest[256];

	if (pipes->input >= 0)
		close(pipes->input);
	pipes->input = -1;
	while (remote_now() < until) {
		struct pollfd wait = {.fd = pipes->output, .events = POLLIN};

		if (poll(&wait, 1, LOOK_MS) > 0 && !read(pipes->output, rest, sizeof(rest)))
			return;
	}
}

// What is typed goes to the session, its end as the byte that a terminal has for it.
static void pass_input(struct remote_pipes *pipes, struct pollfd *typed)
{
	char bytes[4096];
	ssize_t size = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (size > 0) {
		tool_write(pipes->input, bytes, (size_t)size);
	} else if (!size || errno != EINTR) {
		tool_write(pipes->input, "\4", 1);
		typed->fd = -1;
	}
}

static char *follow(const struct exec *exec, const struct remote_interp *interp, uint64_t end_ns,
		    struct remote_pipes *pipes, struct answer *answer, struct label *label)
{
	struct reader reader = {0};
	struct pollfd wait[] = {{.fd = pipes->output, .events = POLLIN},
				{.fd = -1, .events = POLLIN}};
	bool begun = false, ended = false, more = true, late = false;

	while (!ended && more) {
		uint64_t now = remote_now();

		if (now >= end_ns && (late || !begun)) {
			late = true;
			break;
		}
		if (now >= end_ns) {
			late = true;
			end_ns = now + GRACE_NS;
			close(pipes->input);
			pipes->input = -1;
		}
		if (poll(wait, 2,
			 (end_ns - now) / 1000000 < LOOK_MS ? (int)((end_ns - now) / 1000000) + 1
							    : LOOK_MS) > 0)
			more = !wait[0].revents || read_more(pipes->output, &reader);
		else
			more = is_thread_there(exec, pipes->tid);
		if (wait[1].revents)
			pass_input(pipes, &wait[1]);
		ended = take_frames(exec, &reader, pipes, answer, label, &begun);
		if (begun && exec->pdb && end_ns != UINT64_MAX / 2) {
			end_ns = UINT64_MAX / 2; // a session takes the time that it takes
			wait[1].fd = STDIN_FILENO;
		}
	}
	free(reader.bytes);
	wait_for_end(pipes);
	if (late && !begun)
		return tool_text("interpreter %u: %s", interp->number, REMOTE_BUSY);
	if (late)
		return tool_text("interpreter %u: the code has not ended within %g s, and %s",
				   interp->number, exec->seconds,
				   ended ? "was interrupted"
					 : "goes on although it was interrupted");
	return ended ? NULL : tool_text("interpreter %u: ended before the code", interp->number);
}

static void run_in(const struct exec *exec, const struct remote *remote,
		   const struct remote_interp *interp, struct label *label, struct answer *answer)
{
	uint64_t end_ns =
		exec->seconds > 0 ? remote_now() + (uint64_t)(exec->seconds * 1e9) : UINT64_MAX / 2;
	uint64_t size = strlen(exec->source);
	struct remote_pipes pipes;
	char *why = remote_ask(remote, interp, end_ns, &pipes);

	answer->status = TOOL_FAILED;
	if (!why) {
		if (tool_write(pipes.input, &size, sizeof(size)) &&
		    tool_write(pipes.input, exec->source, size))
			why = follow(exec, interp, end_ns, &pipes, answer, label);
		else
			why = tool_text("interpreter %u: ended before the code", interp->number);
		if (pipes.input >= 0)
			close(pipes.input);
		close(pipes.output);
	}
	if (!why)
		return;
	answer->status = TOOL_FAILED;
	if (!exec->json) {
		label_flush(label);
		fprintf(stderr, "gorgon: exec: %s\n", why);
	}
	free(answer->error);
	answer->error = why;
}

// --- all of them --------------------------------------------------------------------------------

static void print_answers(const struct remote_interp *list, const struct answer *answers,
			  size_t count)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_new_object();

		json_object_object_add(row, "interpreter", json_object_new_int64(list[i].number));
		tool_add_text(row, "label", *list[i].label ? list[i].label : NULL);
		json_object_object_add(row, "status", json_object_new_int(answers[i].status));
		json_object_object_add(row, "stdout",
				       json_object_new_string_len(answers[i].texts[0] ?: "",
								  (int)answers[i].sizes[0]));
		json_object_object_add(row, "stderr",
				       json_object_new_string_len(answers[i].texts[1] ?: "",
								  (int)answers[i].sizes[1]));
		json_object_object_add(row, "error",
				       answers[i].error ? json_object_new_string(answers[i].error)
							: NULL);
		json_object_array_add(array, row);
	}
	puts(json_object_to_json_string_ext(array, JSON_C_TO_STRING_PRETTY));
	json_object_put(array);
}

// Leaves those that are meant: the one with the number, or all in which code can run, now or
// soon. Returns how many.
static size_t choose(const struct exec *exec, const struct remote *remote,
		     struct remote_interp *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct gorgon_debug_activity activity = {.state = GORGON_DEBUG_ENDED};
		bool meant = exec->interp >= 0 ? list[i].number == (uint32_t)exec->interp
					       : remote_read(remote, list[i].activity, &activity,
							     sizeof(activity)) &&
							 activity.state != GORGON_DEBUG_CREATED &&
							 activity.state != GORGON_DEBUG_ENDED &&
							 activity.state != GORGON_DEBUG_ABANDONED;

		if (meant)
			list[kept++] = list[i];
	}
	return kept;
}

static int run_in_all(const struct exec *exec, struct remote *remote)
{
	size_t found = 0, count;
	struct remote_interp *all = remote_list(remote, &found),
			     *list = calloc(found + 1, sizeof(*list));
	struct answer *answers;
	int status = 0;

	if (!list)
		abort();
	if (all)
		memcpy(list, all, found * sizeof(*list));
	remote->interps = all;
	remote->interp_count = found;
	count = choose(exec, remote, list, found);
	if (!count) {
		free(all);
		free(list);
		if (exec->interp >= 0)
			fprintf(stderr, "gorgon: exec: process %d: has no interpreter %d\n",
				exec->pid, exec->interp);
		else
			fprintf(stderr, "gorgon: exec: process %d: has no interpreter that runs\n",
				exec->pid);
		return TOOL_FAILED;
	}
	if (count > 1 && (exec->memray || exec->pdb || exec->port > 0)) {
		free(all);
		free(list);
		return tool_usage("exec: %s: -i N expected: process %d has %zu interpreters",
				  exec->memray ? "--memray"
				  : exec->pdb  ? "--pdb"
					       : "--debugpy",
				  exec->pid, count);
	}
	answers = calloc(count, sizeof(*answers));
	for (size_t i = 0; answers && i < count; i++) {
		struct label *label = label_create(count > 1);

		label_set_number(label, list[i].number);
		run_in(exec, remote, &list[i], label, &answers[i]);
		label_destroy(label);
		status = status ?: answers[i].status;
	}
	if (exec->json)
		print_answers(list, answers, count);
	for (size_t i = 0; i < count; i++) {
		free(answers[i].texts[0]);
		free(answers[i].texts[1]);
		free(answers[i].error);
	}
	free(answers);
	free(all);
	free(list);
	return status;
}

// --- the command line ---------------------------------------------------------------------------

static int parse_number(const char *what, const char *arg, int *ret)
{
	char *end;
	long value = strtol(arg, &end, 10);

	if (end == arg || *end || value < 0 || value > INT32_MAX)
		return tool_usage("exec: %s: %s expected", arg, what);
	*ret = (int)value;
	return 0;
}

static int exec_parse(int key, char *arg, struct argp_state *argp)
{
	struct exec *exec = argp->input;
	char *end;

	switch (key) {
	case 'c':
		exec->code = arg;
		return 0;
	case 'i':
		return parse_number("an interpreter's number", arg, &exec->interp);
	case OPT_JSON:
		exec->json = true;
		return 0;
	case OPT_MEMRAY:
		exec->memray = arg;
		return 0;
	case OPT_DEBUGPY:
		exec->port = (int)strtol(arg, &end, 10);
		if (end == arg || *end || exec->port < 0 || exec->port > 65535)
			return tool_usage("exec: --debugpy: %s: a port expected, 0 to 65535", arg);
		return 0;
	case OPT_PDB:
		exec->pdb = true;
		return 0;
	case OPT_TIMEOUT:
		exec->seconds = strtod(arg, &end);
		if (end == arg || *end || !(exec->seconds >= 0 && exec->seconds <= SECONDS_MAX))
			return tool_usage("exec: --timeout: %s: seconds expected, 0 to 1000000",
					  arg);
		return 0;
	case ARGP_KEY_ARG:
		if (!exec->pid)
			return parse_number("a process's number", arg, &exec->pid);
		if (exec->file)
			return tool_usage("exec: %s: unexpected argument", arg);
		exec->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int tool_exec(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{NULL, 'c', "CODE", 0, "Run CODE in place of a file", 0},
		{"interpreter", 'i', "N", 0,
		 "Only in interpreter N; otherwise in all, one after the other", 0},
		{"timeout", OPT_TIMEOUT, "SECONDS", 0,
		 "How long an interpreter may take for it (10). What has not begun then never "
		 "will; what runs gets a "
		 "KeyboardInterrupt. 0: for ever",
		 0},
		{"memray", OPT_MEMRAY, "FILE", 0,
		 "Have memray record what the interpreter allocates, until the time of --timeout "
		 "is "
		 "up or the command is interrupted",
		 0},
		{"debugpy", OPT_DEBUGPY, "PORT", 0,
		 "Have debugpy listen on 127.0.0.1:PORT for an editor (0: on a free port)", 0},
		{"pdb", OPT_PDB, NULL, 0,
		 "A session of pdb, here, with the program where it is; q and Ctrl-C leave it to "
		 "go on",
		 0},
		{"json", OPT_JSON, NULL, 0,
		 "Print a JSON array: for each interpreter its output, errors, status", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = exec_parse,
		.args_doc = "PID -c CODE\nPID FILE\nPID --memray FILE\nPID --debugpy PORT\n"
			    "PID --pdb",
		.doc = "Run Python in interpreters of a running process, on a thread of its own in "
		       "each, in a namespace of its own. "
		       "Whoever may trace the process may do this.\v"
		       "Exit status: that of the code: 0, 1 if it raised an exception, what it "
		       "gave sys.exit(); of several "
		       "interpreters the first that is not 0. 2: the command line is wrong. 3: the "
		       "code did not run, or did not "
		       "end in time.\n\n"
		       "Example: gorgon exec 4711 -i 2 -c 'import sys, traceback\n"
		       "for frame in sys._current_frames().values(): traceback.print_stack(frame)'",
	};
	struct exec exec = {.interp = -1, .port = -1, .seconds = SECONDS};
	struct remote remote;
	char *why;
	int given, status = tool_parse(&argp, 0, argc, argv, &exec);

	if (status)
		return status;
	if (!exec.pid)
		return tool_usage("exec: a process's number expected");
	given = !!exec.code + !!exec.file + !!exec.memray + (exec.port >= 0) + exec.pdb;
	if (given != 1)
		return tool_usage("exec: %s", given ? "either -c CODE or FILE expected, not both"
						    : "-c CODE or FILE expected");
	if (exec.pdb && exec.json)
		return tool_usage("exec: --pdb: a session has no --json");
	if ((status = make_source(&exec)))
		return status;
	signal(SIGPIPE, SIG_IGN); // the process may end
	why = remote_open(exec.pid, &remote);
	if (why) {
		fprintf(stderr, "gorgon: exec: %s\n", why);
		free(why);
		status = TOOL_FAILED;
	} else {
		status = run_in_all(&exec, &remote);
		remote_close(&remote);
	}
	free(exec.source);
	return status;
}
