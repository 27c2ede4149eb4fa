/* SPDX-License-Identifier: MIT */
/* Names that private code gets from us instead of from the system. See replace.c. */
#ifndef GORGON_ELF_REPLACE_H
#define GORGON_ELF_REPLACE_H

#include "ns.h"
#include "thunk.h"
#include "../process/part.h"

/* Make the namespace's thunks, and @count more behind them. */
struct gorgon_error *gorgon_replace_init(struct gorgon_ns *ns, const struct gorgon_thunk *more,
					 size_t count);

/* The callable address of the @index-th of those more. */
void *gorgon_replace_thunk(const struct gorgon_ns *ns, size_t index);

/* Our address for @name when @object (NULL: dlsym) refers to it in this namespace, or NULL
 * when the system's is wanted. */
void *gorgon_replace_find(const struct gorgon_ns *ns, const struct gorgon_object *object,
			  const char *name);

/* Our address for @name when a part of ../process has it, or NULL. */
void *gorgon_replace_of_part(const struct gorgon_ns *ns, const char *name);

/* Our address for @name although the private @definer defines it, or NULL. */
void *gorgon_replace_defined(const struct gorgon_ns *ns, const struct gorgon_object *definer,
			     const char *name);

/* Why a name of the table is replaced; NULL for others. */
const char *gorgon_replace_reason(const char *name);

/* An entry of the tables, for docs/process.md. */
struct gorgon_replaced {
	const char *name;
	enum gorgon_decision decision;
	const char *reason;
	size_t part;	   /* 0: replace.c's own; n: that of gorgon_parts[n - 1] */
	const char *title; /* of that part; NULL: none */
	bool is_private;   /* bound where private objects define it: no name of the system's */
};

/* The @index-th of all. False: there are fewer. */
bool gorgon_replace_list(size_t index, struct gorgon_replaced *ret);

/* --- process.c: what reaches for the whole process ------------------------------ */

void gorgon_process_exit(int status, struct gorgon_ns *ns);
int gorgon_process_kill(pid_t pid, int number, struct gorgon_ns *ns);
ssize_t gorgon_process_write(int fd, const void *data, size_t size, struct gorgon_ns *ns);
char *gorgon_process_getenv(const char *name, struct gorgon_ns *ns);

#endif
