/* SPDX-License-Identifier: MIT */
/* What LMDB takes for the number of its process. See lmdb.c. */
#ifndef GORGON_PROCESS_LMDB_H
#define GORGON_PROCESS_LMDB_H

#include <stdbool.h>
#include <sys/types.h>

struct gorgon_image;
struct gorgon_ns;

/* Whether the library is LMDB or contains it. */
bool gorgon_lmdb_is(const struct gorgon_image *image);

/* getpid() for such a library. */
pid_t gorgon_lmdb_getpid(const struct gorgon_ns *ns);

#endif
