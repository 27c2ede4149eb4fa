/* SPDX-License-Identifier: MIT */
/* One object for all interpreters. See replica.c. */
#ifndef GORGON_PYTHON_REPLICA_H
#define GORGON_PYTHON_REPLICA_H

#include "python/api.h"

/* The interpreter's copy, as a new reference. With the GIL. */
struct gorgon_error *gorgon_replica_to_python(struct gorgon_interp *interp,
					      struct gorgon_replica *replica, PyObject **ret);

#endif
