/* SPDX-License-Identifier: MIT */
/* What several debug files have in common, in a file of its own. Internal to jitreg. */
#ifndef JITREG_SUPPLEMENT_H
#define JITREG_SUPPLEMENT_H

#include "object.h"

/** Open the supplementary file that @p object names. -ENOENT: it names none, or that is not there; -ENOMEM. */
int jitreg_supplement_open(const struct jitreg_object *object, struct jitreg_object **ret);

#endif
