/* SPDX-License-Identifier: MIT */
/* What the host denies the code of a namespace. See permissions.c. */
#ifndef GORGON_PROCESS_PERMISSIONS_H
#define GORGON_PROCESS_PERMISSIONS_H

#include "ns/ns.h"

/* An error if the options deny something unknown. */
struct gorgon_error *gorgon_permissions_check(const struct gorgon_ns_opts *opts);

/* Whether code of @requester, or of nobody known if NULL, may dlopen() @path; an error says why
 * not. */
struct gorgon_error *gorgon_permissions_check_open(const struct gorgon_ns *ns,
						   const struct gorgon_object *requester,
						   const char *path);

#endif
