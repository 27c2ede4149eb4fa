/* SPDX-License-Identifier: MIT */
/* The environment that private code sees. See environment.c. */
#ifndef GORGON_PROCESS_ENVIRONMENT_H
#define GORGON_PROCESS_ENVIRONMENT_H

#include <stdbool.h>
#include <time.h>

struct gorgon_environment;
struct gorgon_part;

/* Create an environment with a copy of @list, which ends with NULL. Without a list it is the process's.
 * NULL: no memory. */
struct gorgon_environment *gorgon_environment_create(const char *const *list);
void gorgon_environment_destroy(struct gorgon_environment *environment);

/* The namespace's `environ`; NULL: the process's. */
char ***gorgon_environment_list(struct gorgon_environment *environment);

/* From now on private code does not find this variable in the process's environment. @name must
 * live as long. */
void gorgon_environment_hide(struct gorgon_environment *environment, const char *name);
bool gorgon_environment_hides(const struct gorgon_environment *environment, const char *name);

/* Whether TZ is the namespace's own, and its value, or NULL. */
bool gorgon_environment_has_time_zone(const struct gorgon_environment *environment);
char *gorgon_environment_time_zone(struct gorgon_environment *environment);

/* Call functions of the C library that read the process's environment, while no variable changes. */
void gorgon_environment_tzset(void);
time_t gorgon_environment_mktime(struct tm *tm);

extern const struct gorgon_part gorgon_environment_part; /* its lock, for fork() */

/* --- replacements (see replacements.c) -------------------------------------------- */

/* @environment may be NULL: the process's. */
char *gorgon_getenv(const char *name, struct gorgon_environment *environment);
char *gorgon_secure_getenv(const char *name, struct gorgon_environment *environment);
int gorgon_setenv(const char *name, const char *value, int overwrite, struct gorgon_environment *environment);
int gorgon_unsetenv(const char *name, struct gorgon_environment *environment);
int gorgon_putenv(char *text, struct gorgon_environment *environment);
int gorgon_clearenv(struct gorgon_environment *environment);

/* A new program gets the namespace's environment, and its TZ, where it is given `environ`. */
int gorgon_execve(const char *path, char *const *argv, char *const *envp, struct gorgon_environment *environment);
int gorgon_execvpe(const char *file, char *const *argv, char *const *envp, struct gorgon_environment *environment);
int gorgon_fexecve(int fd, char *const *argv, char *const *envp, struct gorgon_environment *environment);
int gorgon_execv(const char *path, char *const *argv, struct gorgon_environment *environment);
int gorgon_execvp(const char *file, char *const *argv, struct gorgon_environment *environment);

/* Call @fn with what a new program gets that private code gives @envp; returns what @fn does. Where
 * @envp is the C library's `environ`, it is the namespace's environment, or has the namespace's TZ,
 * and lives as long as the call. @environment may be NULL: the host. */
int gorgon_environment_give(struct gorgon_environment *environment, char *const *envp,
			    int (*fn)(char *const *envp, void *ctx), void *ctx);

#endif
