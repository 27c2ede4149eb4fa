/* SPDX-License-Identifier: MIT */
/* Texts that CPython compiles and that are in no file. See lines/strings.c. */
#ifndef GORGON_PYTHON_LINES_STRINGS_H
#define GORGON_PYTHON_LINES_STRINGS_H

#include <stdbool.h>

struct _object; /* PyObject */
struct gorgon_lines;

/* CPython is about to compile a text: @args of its audit event. With the GIL. */
void gorgon_lines_note_string(struct gorgon_lines *lines, struct _object *args);

/*
 * @code, whose file has @name, is about to be executed, or a function to be made of it. @path: the
 * file with that name; NULL: there is none.
 *
 * @return the name of a file for debuggers: malloc()ed. While a debugger is there, it has the text.
 *	   NULL: the text is not known, is that of @path, has one line, or is of no interest.
 */
char *gorgon_lines_file_of_string(struct gorgon_lines *lines, struct _object *code,
				  const char *name, const char *path);

void gorgon_lines_forget_strings(struct gorgon_lines *lines);

#endif
