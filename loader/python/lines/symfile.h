/* SPDX-License-Identifier: MIT */
/* The parts of a symfile of Python lines. See lines/symfile.c. */
#ifndef GORGON_PYTHON_LINES_SYMFILE_H
#define GORGON_PYTHON_LINES_SYMFILE_H

#include "code.h"

/* gdb lets the frame of a function of this name be anywhere: gcc's split stacks have it. */
#define GORGON_LINES_ANYWHERE "__morestack"

/* A CIE, whose rules are those of a stub. @generic: the address in python_code that is the line of
 * a frame without one. */
void gorgon_lines_put_cie(struct gorgon_lines_bytes *to, const struct gorgon_lines_layout *layout,
			  uint64_t generic);

/* The rules of an interpreter's code (lines/arch.h), and of a function's stubs. */
void gorgon_lines_put_code_rules(struct gorgon_lines_bytes *to, uint64_t code,
				 const struct gorgon_lines_layout *layout);
void gorgon_lines_put_stub_rules(struct gorgon_lines_bytes *to,
				 const struct gorgon_lines_function *function,
				 const struct gorgon_lines_layout *layout);

/* An expression that makes the frame's address out of the CFA on the stack. */
void gorgon_lines_frame_of_cfa(struct gorgon_lines_bytes *x,
			       const struct gorgon_lines_layout *layout);

void gorgon_lines_put_abbrevs(struct gorgon_lines_bytes *to);

/* The unit of an interpreter's code, and that of a file. @lines: where its lines are in their
 * section. */
void gorgon_lines_put_info_of_code(struct gorgon_lines_bytes *to, uint64_t code);
void gorgon_lines_put_info(struct gorgon_lines_bytes *to, const struct gorgon_lines_file *file,
			   uint64_t lines, uint64_t code, const struct gorgon_lines_layout *layout);

void gorgon_lines_put_lines(struct gorgon_lines_bytes *to, const struct gorgon_lines_file *file);

#endif
