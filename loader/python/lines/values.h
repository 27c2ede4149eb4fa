/* SPDX-License-Identifier: MIT */
/* These functions write the values of frames as texts, for debuggers. See lines/values.c. */
#ifndef GORGON_PYTHON_LINES_VALUES_H
#define GORGON_PYTHON_LINES_VALUES_H

#include "code.h"

/* What CPython has for it. */
struct gorgon_lines_values_api;

/* Look it up. NULL: it is not complete, or there is no memory. free() releases it. */
struct gorgon_lines_values_api *gorgon_lines_values_api_create(struct gorgon_interp *interp);

/* What debuggers are told of the values of a CPython frame, in the order of the function's names:
 * first pointers to texts, then numbers, and the numbers once more, which debuggers do not see. A
 * value that is no int, float or bool is NaN. Behind them are the texts. */
union gorgon_lines_value {
	const char *text;
	double number;
};

/* The object of a value as CPython keeps it, or of its cell, as a new reference; NULL: there is
 * none. */
struct _object *gorgon_lines_value_get(struct gorgon_interp *interp,
				       const struct gorgon_lines_values_api *api, uintptr_t value);

/* Give a value of a frame, or its cell, another object. The old one is not released: the evaluator
 * may still have it, without a reference of its own (CPython 3.14). */
void gorgon_lines_value_set(struct gorgon_interp *interp, const struct gorgon_lines_values_api *api,
			    uintptr_t *value, struct _object *object);

/* An array for those of a function's frame; free() releases it. NULL: no memory. */
union gorgon_lines_value *
gorgon_lines_values_create(const struct gorgon_lines_function *function);

/* Those of a frame whose values, as CPython keeps them, are @values. With the GIL and without a
 * Python error. No code of the program runs. */
void gorgon_lines_values_fill(struct gorgon_interp *interp,
			      const struct gorgon_lines_values_api *api,
			      const struct gorgon_lines_function *function,
			      const uintptr_t *values, union gorgon_lines_value *ret);

/* Whether a debugger has written another text, or another number, into such an array. */
bool gorgon_lines_values_has_text(const struct gorgon_lines_function *function,
				  const union gorgon_lines_value *values, unsigned i);
bool gorgon_lines_values_has_number(const struct gorgon_lines_function *function,
				    const union gorgon_lines_value *values, unsigned i);

/* The name of a type, without a Python error. */
void gorgon_lines_values_name(struct gorgon_interp *interp,
			      const struct gorgon_lines_values_api *api, struct _object *type,
			      char *to, size_t size);

/* What debuggers are told where nobody has read a frame's values. */
extern union gorgon_lines_value gorgon_lines_no_texts[], gorgon_lines_no_numbers[];

#endif
