/* SPDX-License-Identifier: MIT */
/* Whether a library may be shared: its whole closure decides. See closure.c. */
#ifndef GORGON_NS_CLOSURE_H
#define GORGON_NS_CLOSURE_H

#include "policy.h"

#include <sys/types.h>

struct gorgon_ns;
struct gorgon_requester;

struct gorgon_closure_need {
	char *name; /* as DT_NEEDED has it */
	struct gorgon_closure_file *file; /* NULL: not found, or not readable */
	bool searched;
};

/* A file that the system's linker would load; kept for the life of the process. */
struct gorgon_closure_file {
	struct gorgon_closure_file *next;
	char *path, *rpath, *runpath; /* the last two may be NULL */
	char *python; /* a name of CPython's that it leaves undefined, or NULL */
	bool threads; /* it may start some */
	dev_t dev; /* device and inode say which file it is, whatever its name */
	ino_t ino;
	struct gorgon_closure_need *needs;
	size_t need_count;
	bool fits; /* nothing in its closure is private by the built-in list */
	bool mark; /* scratch of walks */
};

/* How a library is to be loaded. */
struct gorgon_verdict {
	bool shared;
	struct gorgon_policy_rule rule; /* what the name says, or the SONAME of a path */
	char *obstacle; /* why it is private although the rule shares it, or NULL */
	struct gorgon_closure_file *file; /* of a shared library; NULL when it was not found */
};

/*
 * Decide whether the library called @name, which @requester needs (NULL: the host asks), is private
 * or shared. It is an error when the host's own option shares it against the rule. The loader's
 * lock is held.
 * @ret is to be released with gorgon_verdict_deinit(); what it points to besides
 * lives as long as @ns.
 */
struct gorgon_error *gorgon_closure_judge(const struct gorgon_ns *ns, const char *name,
					  const struct gorgon_requester *requester,
					  struct gorgon_verdict *ret);
void gorgon_verdict_deinit(struct gorgon_verdict *verdict);

/*
 * Only whether the library is shared; quick for a library that @ns has opened already. A file
 * which is a shared library of @ns, or which such a library needs, is shared by whatever path
 * it is opened.
 */
struct gorgon_error *gorgon_closure_shares(const struct gorgon_ns *ns, const char *name,
					   const struct gorgon_requester *requester, bool *ret);

#endif
