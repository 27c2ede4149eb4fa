/* SPDX-License-Identifier: MIT */
/* What an interpreter has of the process beside its memory. See template/parts.c. */
#ifndef GORGON_PYTHON_TEMPLATE_PARTS_H
#define GORGON_PYTHON_TEMPLATE_PARTS_H

#include "process/part.h"
#include "python/calls/interp.h"

/* Refuse a namespace whose code has changed a part of the process that copies would not have.
 * @fresh is one in which no code has run. The lock is held. */
struct gorgon_error *gorgon_template_check_parts(const struct gorgon_ns *ns,
						 const struct gorgon_ns *fresh);

/* States that their parts copy: of an interpreter into a template, and from there into another one,
 * whose constructors have run. False: no memory. */
bool gorgon_template_keep_parts(struct gorgon_template *template, const struct gorgon_ns *ns);
bool gorgon_template_copy_parts(const struct gorgon_template *template, const struct gorgon_ns *ns,
				gorgon_moved_fn *moved, void *ctx);
void gorgon_template_free_parts(struct gorgon_template *template);

#endif
