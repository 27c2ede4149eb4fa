/* SPDX-License-Identifier: MIT */
/* The environment that private code sees. See environment.c. */
#ifndef GORGON_ELF_ENVIRONMENT_H
#define GORGON_ELF_ENVIRONMENT_H

#include <stdbool.h>

struct gorgon_environment;
struct gorgon_ns;

/* A copy of @list, which ends with NULL. NULL: no memory. */
struct gorgon_environment *gorgon_environment_create(const char *const *list);
void gorgon_environment_destroy(struct gorgon_environment *environment);

/* What its code knows as `environ`. */
char ***gorgon_environment_list(struct gorgon_environment *environment);

/* @ns may be NULL. */
bool gorgon_environment_hides(const struct gorgon_ns *ns, const char *name);

void gorgon_environment_before_fork(void);
void gorgon_environment_after_fork(void);

/* --- replacements (see replace.c) -------------------------------------------- */

char *gorgon_getenv(const char *name, struct gorgon_ns *ns);
/* @ns may be NULL: the environment of the process. */
char *gorgon_secure_getenv(const char *name, struct gorgon_ns *ns);
int gorgon_setenv(const char *name, const char *value, int overwrite, struct gorgon_ns *ns);
int gorgon_unsetenv(const char *name, struct gorgon_ns *ns);
int gorgon_putenv(char *text, struct gorgon_ns *ns);
int gorgon_clearenv(struct gorgon_ns *ns);

/* Of namespaces with an environment of their own: a new program gets it. */
int gorgon_execv(const char *path, char *const *argv, struct gorgon_ns *ns);
int gorgon_execvp(const char *file, char *const *argv, struct gorgon_ns *ns);

/* What a new program gets: the namespace's own, or the process's. */
char *const *gorgon_environment_for_program(struct gorgon_ns *ns);

#endif
