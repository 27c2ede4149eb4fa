/* SPDX-License-Identifier: MIT */
/* The `gorgon` command: its subcommands and what they share. */
#ifndef GORGON_TOOL_H
#define GORGON_TOOL_H

#include <gorgon.h>

#include <argp.h>
#include <stdbool.h>

/* Exit statuses of the command itself (docs: gorgon --help). */
enum {
	TOOL_USAGE = 2,	 /* the command line is wrong */
	TOOL_FAILED = 3, /* an interpreter could not be created */
};

/* Each gets its own name as argv[0] and returns an exit status. */
int tool_run(int argc, char **argv);
int tool_demo(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_doctor(int argc, char **argv);
int tool_cache(int argc, char **argv);

/* text.c: a member of a JSON object, or a row to print; NULL: null. Names in files may have any
 * bytes: bytes that are no printable UTF-8 become \xNN. */
struct json_object;
void tool_add_text(struct json_object *to, const char *name, const char *value);

/* Print "gorgon: " and the message on one line of stderr; takes @err. Returns @status. */
int tool_fail(struct gorgon_error *err, int status);

/* One usage line and TOOL_USAGE. */
int tool_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* argp_parse() for a subcommand, whose name is @argv[0]; @flags are argp's. --help prints all of its
 * options and ends the process. A parser that has said what is wrong returns TOOL_USAGE, as this does
 * then; for other errors this says it. */
int tool_parse(const struct argp *argp, unsigned flags, int argc, char **argv, void *input);

/* Whether to use colours there: a terminal that has some, and no NO_COLOR. */
bool tool_has_colours(int fd);

/* Directory of the debugger scripts: beside the build, or installed. malloc()ed or NULL. */
char *tool_script_dir(void);

/* deps.c: what loading a file would bring. */
struct deps {
	const char *file;
	const char *python; /* or NULL */
	struct gorgon_ns_opts ns;
	bool names, json;
};

/* Print it; returns the exit status, 1 when something is missing. */
int deps_show(const struct deps *deps);

/* What "run" and "demo" have in common: one program in many interpreters at once. */
struct program {
	unsigned count;
	const char *python; /* or NULL */
	struct gorgon_ns_opts ns;
	bool timing, label, progress, verbose;
	uint64_t memory_limit; /* bytes; 0: none */
	uint64_t cpu_limit_ms; /* 0: none */
	bool quiet_faults; /* they are not reported */
	enum gorgon_isolate isolate;
	enum gorgon_end end;
	enum gorgon_files files; /* of its threads, each of which runs nothing else */
	bool last; /* leave the interpreters to the end of the process */
	int argc;
	const char *const *argv; /* for gorgon_interp_main() */
};

/* Result of one interpreter's program. */
struct result {
	unsigned number;
	int status;
	struct gorgon_interp_stats stats;
};

/* Run it; @results has count entries. An error means that nothing was run. */
struct gorgon_error *program_run(const struct program *program, struct result *results);

/* loaded.c: what an interpreter has loaded, a line for each file, malloc()ed; NULL without memory. */
char *loaded_list(struct gorgon_interp *interp, const struct program *program);
/* Print it on stderr, or which interpreter has the same; from any thread. */
void loaded_print(unsigned number, const char *text);

/* label.c: whole lines of one interpreter's output, with "[i] " before them if @prefix. */
struct label;
struct label *label_create(bool prefix);
void label_set_number(struct label *label, unsigned number);
ssize_t label_write(void *label, int fd, const void *data, size_t size);
/* Print what is left of unfinished lines. Accepts NULL. */
void label_flush(struct label *label);
/* label_flush(), then free. */
void label_destroy(struct label *label);

#endif
