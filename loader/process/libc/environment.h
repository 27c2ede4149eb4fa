/* SPDX-License-Identifier: MIT */
/* The environment that private code sees. See environment.c. */
#ifndef GORGON_PROCESS_ENVIRONMENT_H
#define GORGON_PROCESS_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

struct gorgon_environment;
struct gorgon_part;

/* Create an environment with a copy of @list, which ends with NULL, or of the process's
 * environment. With @share it is the process's. NULL: no memory. */
struct gorgon_environment *gorgon_environment_create(const char *const *list, bool share);
void gorgon_environment_destroy(struct gorgon_environment *environment);

/* The namespace's `environ`; NULL: the process's. */
char ***gorgon_environment_list(struct gorgon_environment *environment);

/* From now on private code does not find this variable, until it sets it. @name must live as long.
 */
void gorgon_environment_hide(struct gorgon_environment *environment, const char *name);
bool gorgon_environment_hides(const struct gorgon_environment *environment, const char *name);

/* Call functions of the C library that read the process's environment, while no variable changes.
 */
void gorgon_environment_tzset(void);
time_t gorgon_environment_mktime(struct tm *tm);

/* The names that private code gets whosever the environment is, with the lock; and those for an own
 * one. */
extern const struct gorgon_part gorgon_environment_part, gorgon_own_environment_part;

/* Call @fn with what a new program gets that private code gives @envp; returns what @fn does. Where
 * @envp is the C library's `environ`, it is the namespace's environment, and lives as long as the
 * call.
 * @environment may be NULL: the host. */
int gorgon_environment_give(struct gorgon_environment *environment, char *const *envp,
			    int (*fn)(char *const *envp, void *ctx), void *ctx);

#define GORGON_ENVIRONMENT_PROGRAM_SIZE (PATH_MAX + NAME_MAX + 2)

/* The path of a program that is looked for in the namespace's PATH, in @room; @file itself where
 * the C library does as well. NULL: there is none, and errno is set. @environment may be NULL: the
 * host. */
const char *gorgon_environment_find_program(struct gorgon_environment *environment,
					    const char *file,
					    char room[GORGON_ENVIRONMENT_PROGRAM_SIZE]);

/* --- functions of the C library's names --------------------------------------------- */

/* @environment may be NULL: the process's. */
char *gorgon_getenv(const char *name, struct gorgon_environment *environment);
char *gorgon_secure_getenv(const char *name, struct gorgon_environment *environment);
int gorgon_setenv(const char *name, const char *value, int overwrite,
		  struct gorgon_environment *environment);
int gorgon_unsetenv(const char *name, struct gorgon_environment *environment);
int gorgon_putenv(char *text, struct gorgon_environment *environment);
int gorgon_clearenv(struct gorgon_environment *environment);

#endif
