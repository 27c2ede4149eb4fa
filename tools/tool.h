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

/* A subcommand gets its own name as argv[0] and returns an exit status. */
int tool_run(int argc, char **argv);
int tool_demo(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_doctor(int argc, char **argv);
int tool_cache(int argc, char **argv);
int tool_exec(int argc, char **argv);

/* cache.c: the folder of the files that are kept for debuggers, malloc()ed; NULL when there is no
 * home. */
char *cache_folder(void);
/* cache.c: why no files can be kept there and what debuggers do without, malloc()ed; NULL when
 * files can be kept. */
char *cache_problem(void);

/* text.c: add a text to a JSON object; NULL becomes null. Names in files may have any
 * bytes: bytes that are no printable UTF-8 become \xNN. */
struct json_object;
void tool_add_text(struct json_object *to, const char *name, const char *value);

/* Print "gorgon: " and the message on one line of stderr; takes @err. Returns @status. */
int tool_fail(struct gorgon_error *err, int status);

/* Print a line on stderr that says what is wrong with the command line. Returns TOOL_USAGE. */
int tool_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* argp_parse() for a subcommand, whose name is @argv[0]; @flags are argp's. --help prints the
 * subcommand's options and ends the process. A parser that has printed what is wrong returns
 * TOOL_USAGE; for other errors tool_parse() prints it. Returns 0 or TOOL_USAGE. */
int tool_parse(const struct argp *argp, unsigned flags, int argc, char **argv, void *input);

/* A text as printf() makes it, malloc()ed. */
char *tool_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write all of it. False, with errno: not all was written. */
bool tool_write(int fd, const void *bytes, size_t size);

/* A list of words that ends with NULL, which is not counted; empty, it is NULL. */
struct words {
	const char **list;
	size_t count;
};

void words_add(struct words *words, const char *word);

/* Whether to use colours: @fd is a terminal that has colours, and NO_COLOR is not set. */
bool tool_has_colours(int fd);

/* Directory of the debugger scripts: beside the build, or installed. malloc()ed or NULL. */
char *tool_script_dir(void);

/* python.c: the CPython that the command takes. */
struct chosen {
	/* for gorgon_python_find() and struct gorgon_interp_opts; NULL: the system's newest */
	char *path;
	char *why;
	char *problem; /* why there is none; then the rest is undefined */
	bool gave_way; /* PATH's python3 has no libpython, and another one is taken */
	struct gorgon_python python;
};

/* @name: of --python, or NULL: python3. Returns false if there is a problem. Release it with
 * python_deinit(). */
bool python_choose(const char *name, struct chosen *ret);
void python_deinit(struct chosen *chosen);
/* The same, but print on stderr what is taken if the user's python3 gave way to another one or with
 * @verbose, or that there is none: then nothing is to be released, and the status is TOOL_FAILED.
 */
int python_take(const char *name, bool verbose, struct chosen *ret);
/* Why an interpreter of it cannot have Python lines (docs/mixed.md), malloc()ed; NULL: it can. */
char *python_lines_problem(const struct chosen *chosen);

/* deps.c: a question what loading a file would bring. */
struct deps {
	const char *file;
	const char *libpython;
	struct gorgon_ns_opts ns;
	bool names, json;
};

/* Print the answer. Returns the exit status: 1 when a library was not found. */
int deps_show(const struct deps *deps);

/* What "run" and "demo" have in common: one program in many interpreters at once. */
struct program {
	unsigned count;
	const char *python; /* or NULL */
	struct gorgon_ns_opts ns;
	bool timing, label, progress, verbose;
	enum gorgon_python_lines python_lines;
	uint64_t memory_limit; /* bytes; 0: none */
	uint64_t cpu_limit_ms; /* 0: none */
	bool quiet_faults; /* faults are not reported */
	enum gorgon_isolate isolate;
	enum gorgon_end end;
	enum gorgon_files files; /* of its threads, each of which runs nothing else */
	bool last; /* do not destroy the interpreters: the process is about to end */
	int argc;
	const char *const *argv; /* for gorgon_interp_main() */
};

/* Result of one interpreter's program. */
struct result {
	unsigned number;
	int status;
	struct gorgon_interp_stats stats;
};

/* Run a program; @results has program->count entries. An error means that nothing was run. */
struct gorgon_error *program_run(const struct program *program, struct result *results);

/* loaded.c: a text with a line for each file that an interpreter has loaded, malloc()ed; NULL
 * without memory. */
char *loaded_list(struct gorgon_interp *interp, const struct program *program);
/* Print such a text on stderr, or which interpreter has an equal text. Any thread may call. */
void loaded_print(unsigned number, const char *text);

/* label.c: prints an interpreter's output in whole lines, with "[i] " before each line if @prefix.
 */
struct label;
struct label *label_create(bool prefix);
void label_set_number(struct label *label, unsigned number);
ssize_t label_write(void *label, int fd, const void *data, size_t size);
/* Print what is left of unfinished lines. Accepts NULL. */
void label_flush(struct label *label);
/* label_flush(), then free. */
void label_destroy(struct label *label);

#endif
