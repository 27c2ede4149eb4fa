/* SPDX-License-Identifier: MIT */
/* Supplementary files: what several debug files have in common. See supplement.c. Internal to
 * jitreg. */
#ifndef JITREG_SUPPLEMENT_H
#define JITREG_SUPPLEMENT_H

#include "object.h"

/** Open the supplementary file that @p object names. -ENOENT: @p object names none, or the file is
 * missing; -ENOMEM. */
int jitreg_supplement_open(const struct jitreg_object *object, struct jitreg_object **ret);

#endif
