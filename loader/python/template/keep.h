/* SPDX-License-Identifier: MIT */
/* Keeping an interpreter as a template. See template/keep.c. */
#ifndef GORGON_PYTHON_TEMPLATE_KEEP_H
#define GORGON_PYTHON_TEMPLATE_KEEP_H

#include "tables.h"

struct gorgon_template;

/* An interpreter that has stopped where fork() could copy it, its main thread, and what
 * gorgon_tables_collect() has found. */
struct gorgon_template_run {
	struct gorgon_interp *interp;
	struct gorgon_thread *thread;
	uint64_t frame; /* where its stack ends: below is what calls have left that have returned */
	struct gorgon_tables tables;
};

/* Compare three of them, and keep the first one, with its tables. @differs: it is refused because
 * the program has not done the same in all of them. */
struct gorgon_error *gorgon_template_keep(const struct gorgon_template_run runs[3],
					  struct gorgon_template **ret, bool *differs);

#endif
