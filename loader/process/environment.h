/* SPDX-License-Identifier: MIT */
/* The environment that private code sees. See environment.c. */
#ifndef GORGON_PROCESS_ENVIRONMENT_H
#define GORGON_PROCESS_ENVIRONMENT_H

#include <stdbool.h>
#include <time.h>

struct gorgon_environment;
struct gorgon_ns;

/* A copy of @list, which ends with NULL. NULL: no memory. */
struct gorgon_environment *gorgon_environment_create(const char *const *list);
void gorgon_environment_destroy(struct gorgon_environment *environment);

/* What its code knows as `environ`. */
char ***gorgon_environment_list(struct gorgon_environment *environment);

/* @ns may be NULL. */
bool gorgon_environment_hides(const struct gorgon_ns *ns, const char *name);

/* Whether TZ is the namespace's own, and its value, or NULL. */
bool gorgon_environment_has_time_zone(const struct gorgon_ns *ns);
char *gorgon_environment_time_zone(struct gorgon_ns *ns);

/* The C library's, which read the process's environment: no variable of it changes meanwhile. */
void gorgon_environment_tzset(void);
time_t gorgon_environment_mktime(struct tm *tm);

void gorgon_environment_before_fork(void);
void gorgon_environment_after_fork(void);

/* --- replacements (see replacements.c) -------------------------------------------- */

char *gorgon_getenv(const char *name, struct gorgon_ns *ns);
/* @ns may be NULL: the environment of the process. */
char *gorgon_secure_getenv(const char *name, struct gorgon_ns *ns);
int gorgon_setenv(const char *name, const char *value, int overwrite, struct gorgon_ns *ns);
int gorgon_unsetenv(const char *name, struct gorgon_ns *ns);
int gorgon_putenv(char *text, struct gorgon_ns *ns);
int gorgon_clearenv(struct gorgon_ns *ns);

/* A new program gets the namespace's environment, and its TZ, where it is given `environ`. */
int gorgon_execve(const char *path, char *const *argv, char *const *envp, struct gorgon_ns *ns);
int gorgon_execvpe(const char *file, char *const *argv, char *const *envp, struct gorgon_ns *ns);
int gorgon_fexecve(int fd, char *const *argv, char *const *envp, struct gorgon_ns *ns);
int gorgon_execv(const char *path, char *const *argv, struct gorgon_ns *ns);
int gorgon_execvp(const char *file, char *const *argv, struct gorgon_ns *ns);

/* Call @fn with what a new program gets that private code gives @envp; returns what @fn does. Where
 * @envp is the C library's `environ`, it is the namespace's environment, or has the namespace's TZ,
 * and lives as long as the call. @ns may be NULL: the host. */
int gorgon_environment_give(struct gorgon_ns *ns, char *const *envp,
			    int (*fn)(char *const *envp, void *ctx), void *ctx);

#endif
