// SPDX-License-Identifier: MIT
// The environment: the process's, or the namespace's own when the host has given it one.
//
// The process's environment: private code reads and changes it under a lock, and changes it so that a program which another
// thread starts meanwhile gets it whole (process_variables.c). Host code that changes the environment while
// interpreters run has the problem that it has with any threads.
//
// An environment of a namespace's own is an array that private code finds under the name `environ`,
// and functions that work on it. As with the C library, code may put another array there, and strings
// that getenv() has returned stay; the memory is freed with the namespace. The C library itself and
// shared libraries (LANG, TMPDIR) read the process's environment.
//
// With either environment, TZ becomes the namespace's own when its code changes it: localtime() of the
// host and of other programs would follow the process's TZ at once. Programs that the code starts get
// the namespace's TZ.

#define _GNU_SOURCE
#include "environment.h"
#include "part.h"
#include "process_variables.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct block {
	struct block *next;
	char *data[];
};

struct variables {
	char **list;   // `environ`; NULL: empty
	char **own;    // the newest array of ours
	size_t room;   // entries that it may have, the final NULL included
	struct block *blocks;
};

// The part of a namespace.
struct gorgon_environment {
	struct variables *own;	     // NULL: the process's
	struct variables *time_zone; // its own TZ, beside the process's; or NULL
	const char *hidden;	     // which getenv() does not find in the process's; or NULL
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // a leaf

static void environment_after_fork(bool child)
{
	if (child)
		gorgon_process_variables_in_child();
}

const struct gorgon_part gorgon_environment_part = {.lock = &lock, .after_fork = environment_after_fork};

void gorgon_environment_tzset(void)
{
	pthread_mutex_lock(&lock);
	tzset();
	pthread_mutex_unlock(&lock);
}

time_t gorgon_environment_mktime(struct tm *tm)
{
	time_t ret;

	pthread_mutex_lock(&lock);
	ret = mktime(tm);
	pthread_mutex_unlock(&lock);
	return ret;
}

static void *variables_allocate(struct variables *variables, size_t size)
{
	struct block *block = malloc(sizeof(*block) + size);

	if (!block)
		return NULL;
	block->next = variables->blocks;
	variables->blocks = block;
	return block->data;
}

static size_t variables_count(char *const *list)
{
	size_t ret = 0;

	while (list && list[ret])
		ret++;
	return ret;
}

static char **variables_find(const struct variables *variables, const char *name, size_t size)
{
	char **entry = variables->list;

	while (entry && *entry && (strncmp(*entry, name, size) || (*entry)[size] != '='))
		entry++;
	return entry && *entry ? entry : NULL;
}

// Make room for one more entry, in an array of our own.
static bool variables_grow(struct variables *variables)
{
	size_t used = variables_count(variables->list) + 1, room = 2 * used + 16;
	char **grown;

	if (variables->list && variables->list == variables->own && used < variables->room)
		return true;
	grown = variables_allocate(variables, room * sizeof(*grown));
	if (!grown)
		return false;
	if (used > 1)
		memcpy(grown, variables->list, (used - 1) * sizeof(*grown));
	grown[used - 1] = NULL;
	variables->list = variables->own = grown;
	variables->room = room;
	return true;
}

// @text is `NAME=value`, NAME of @size bytes.
static bool variables_put(struct variables *variables, char *text, size_t size)
{
	char **entry = variables_find(variables, text, size);
	size_t used;

	if (entry) {
		*entry = text;
		return true;
	}
	if (!variables_grow(variables))
		return false;
	used = variables_count(variables->list);
	variables->list[used + 1] = NULL;
	variables->list[used] = text;
	return true;
}

static bool variables_set(struct variables *variables, const char *name, const char *value)
{
	size_t size = strlen(name), value_size = strlen(value) + 1;
	char *text = variables_allocate(variables, size + 1 + value_size);

	if (!text)
		return false;
	memcpy(text, name, size);
	text[size] = '=';
	memcpy(text + size + 1, value, value_size);
	return variables_put(variables, text, size);
}

static void variables_unset(struct variables *variables, const char *name)
{
	size_t size = strlen(name);
	char **entry;

	while ((entry = variables_find(variables, name, size)))
		do
			entry[0] = entry[1];
		while (*entry++);
}

static void variables_destroy(struct variables *variables)
{
	struct block *next;

	for (struct block *block = variables ? variables->blocks : NULL; block; block = next) {
		next = block->next;
		free(block);
	}
	free(variables);
}

static struct variables *variables_create(const char *const *list)
{
	struct variables *ret = calloc(1, sizeof(*ret));
	bool whole = ret && variables_grow(ret);

	for (; whole && *list; list++) {
		char *text = variables_allocate(ret, strlen(*list) + 1);

		whole = text && variables_put(ret, strcpy(text, *list), strcspn(*list, "="));
	}
	if (whole)
		return ret;
	variables_destroy(ret);
	return NULL;
}

struct gorgon_environment *gorgon_environment_create(const char *const *list)
{
	struct gorgon_environment *ret = calloc(1, sizeof(*ret));

	if (ret && list && !(ret->own = variables_create(list))) {
		free(ret);
		return NULL;
	}
	return ret;
}

void gorgon_environment_destroy(struct gorgon_environment *environment)
{
	if (!environment)
		return;
	variables_destroy(environment->own);
	variables_destroy(environment->time_zone);
	free(environment);
}

char ***gorgon_environment_list(struct gorgon_environment *environment)
{
	return environment->own ? &environment->own->list : NULL;
}

void gorgon_environment_hide(struct gorgon_environment *environment, const char *name)
{
	environment->hidden = name;
}

// --- functions of the C library's names --------------------------------------------------------

// Evaluate a call under the lock.
#define LOCKED(call)                                                                               \
	({                                                                                         \
		pthread_mutex_lock(&lock);                                                         \
		__auto_type value_of_call = (call);                                                \
		pthread_mutex_unlock(&lock);                                                       \
		value_of_call;                                                                     \
	})

static char *variables_get(struct variables *variables, const char *name)
{
	size_t size = strlen(name);
	char **entry = variables_find(variables, name, size);

	return entry ? *entry + size + 1 : NULL;
}

static bool is_name(const char *name)
{
	return name && *name && !strchr(name, '=');
}

static int environment_failure(int number)
{
	errno = number;
	return -1;
}

// --- TZ ------------------------------------------------------------------------------------------

static bool is_time_zone(const char *name, size_t size)
{
	return size == 2 && !memcmp(name, "TZ", 2);
}

bool gorgon_environment_has_time_zone(const struct gorgon_environment *environment)
{
	return environment->own || __atomic_load_n(&environment->time_zone, __ATOMIC_ACQUIRE);
}

// The entry of the namespace's own TZ; NULL: its TZ is in the process's environment.
static struct variables *time_zone_of(const struct gorgon_environment *environment)
{
	return environment ? environment->own ?: __atomic_load_n(&environment->time_zone, __ATOMIC_ACQUIRE)
			   : NULL;
}

char *gorgon_environment_time_zone(struct gorgon_environment *environment)
{
	struct variables *variables = time_zone_of(environment);

	return variables ? LOCKED(variables_get(variables, "TZ")) : NULL;
}

// Give the namespace a TZ of its own. NULL: no memory. The lock is held.
static struct variables *own_time_zone(struct gorgon_environment *environment)
{
	struct variables *variables = environment->time_zone;
	const char *value = getenv("TZ");

	if (variables)
		return variables;
	variables = variables_create((const char *const[]){NULL});
	if (variables && value && !variables_set(variables, "TZ", value)) {
		variables_destroy(variables);
		return NULL;
	}
	__atomic_store_n(&environment->time_zone, variables, __ATOMIC_RELEASE);
	return variables;
}

// Strings stay until the namespace ends. A string that is set a second time is used again.
static bool set_time_zone(struct variables *variables, const char *value)
{
	for (struct block *block = variables->blocks; block; block = block->next) {
		char *text = (char *)block->data;

		if (block->data != variables->own && !strncmp(text, "TZ=", 3) &&
		    !strcmp(text + 3, value))
			return variables_put(variables, text, 2);
	}
	return variables_set(variables, "TZ", value);
}

// These return 0, or -1 with errno.
static int setenv_time_zone(const char *value, int overwrite, struct gorgon_environment *environment)
{
	struct variables *own;
	bool done;

	pthread_mutex_lock(&lock);
	own = own_time_zone(environment);
	done = own && ((!overwrite && variables_get(own, "TZ")) || set_time_zone(own, value));
	pthread_mutex_unlock(&lock);
	return done ? 0 : environment_failure(ENOMEM);
}

static int unsetenv_time_zone(struct gorgon_environment *environment)
{
	struct variables *own;

	pthread_mutex_lock(&lock);
	own = own_time_zone(environment);
	if (own)
		variables_unset(own, "TZ");
	pthread_mutex_unlock(&lock);
	return own ? 0 : environment_failure(ENOMEM);
}

static int putenv_time_zone(char *text, struct gorgon_environment *environment)
{
	struct variables *own;
	bool done;

	pthread_mutex_lock(&lock);
	own = own_time_zone(environment);
	done = own && variables_put(own, text, 2);
	pthread_mutex_unlock(&lock);
	return done ? 0 : environment_failure(ENOMEM);
}

// --- others --------------------------------------------------------------------------------------

// Whether a variable of the process's is not for this namespace. `environ` has it: programs that
// are started from here get it as they would from anywhere else in the process.
bool gorgon_environment_hides(const struct gorgon_environment *environment, const char *name)
{
	return environment && !environment->own && environment->hidden && !strcmp(name, environment->hidden);
}

char *gorgon_getenv(const char *name, struct gorgon_environment *environment)
{
	if (gorgon_environment_hides(environment, name))
		return NULL;
	if (is_time_zone(name, strlen(name)) && time_zone_of(environment))
		return gorgon_environment_time_zone(environment);
	return LOCKED(environment && environment->own ? variables_get(environment->own, name) : getenv(name));
}

char *gorgon_secure_getenv(const char *name, struct gorgon_environment *environment)
{
	if (gorgon_environment_hides(environment, name))
		return NULL;
	if (is_time_zone(name, strlen(name)) && time_zone_of(environment) && !getauxval(AT_SECURE))
		return gorgon_environment_time_zone(environment);
	return LOCKED(environment && environment->own ? variables_get(environment->own, name) : secure_getenv(name));
}

int gorgon_setenv(const char *name, const char *value, int overwrite, struct gorgon_environment *environment)
{
	if (!environment->own && name && is_time_zone(name, strlen(name)))
		return setenv_time_zone(value, overwrite, environment);
	if (!environment->own)
		return LOCKED(gorgon_process_variables_set(name, value, overwrite));
	if (!is_name(name))
		return environment_failure(EINVAL);
	return LOCKED((!overwrite && variables_get(environment->own, name)) ||
		      variables_set(environment->own, name, value))
		       ? 0
		       : environment_failure(ENOMEM);
}

int gorgon_unsetenv(const char *name, struct gorgon_environment *environment)
{
	if (!environment->own && name && is_time_zone(name, strlen(name)))
		return unsetenv_time_zone(environment);
	if (!environment->own)
		return LOCKED(gorgon_process_variables_unset(name));
	if (!is_name(name))
		return environment_failure(EINVAL);
	pthread_mutex_lock(&lock);
	variables_unset(environment->own, name);
	pthread_mutex_unlock(&lock);
	return 0;
}

int gorgon_putenv(char *text, struct gorgon_environment *environment)
{
	size_t size = strcspn(text, "=");

	if (!environment->own && is_time_zone(text, size))
		return text[size] ? putenv_time_zone(text, environment) : unsetenv_time_zone(environment);
	if (!environment->own)
		return LOCKED(gorgon_process_variables_put(text));
	if (!text[size])
		return gorgon_unsetenv(text, environment);
	return LOCKED(variables_put(environment->own, text, size)) ? 0
								   : environment_failure(ENOMEM);
}

int gorgon_clearenv(struct gorgon_environment *environment)
{
	if (!environment->own)
		return unsetenv_time_zone(environment) ? -1 : LOCKED(gorgon_process_variables_clear());
	pthread_mutex_lock(&lock);
	environment->own->list = NULL;
	pthread_mutex_unlock(&lock);
	return 0;
}

// Copy the environment @list into @room, and give the copy the namespace's TZ. @room has place for two entries more than @list has.
static char *const *with_time_zone(const struct variables *own, char *const *list, char **room)
{
	char **entry = variables_find(own, "TZ", 2), **next = room;

	for (char *const *from = list; from && *from; from++)
		if (strncmp(*from, "TZ=", 3))
			*next++ = *from;
	if (entry)
		*next++ = *entry;
	*next = NULL;
	return room;
}

static char *const *own_list(const struct variables *own)
{
	static char *const none[] = {NULL};

	return own->list ?: (char **)none;
}

static int give(struct gorgon_environment *environment, char *const *envp,
		int (*fn)(char *const *envp, void *ctx), void *ctx)
{
	if (!environment || envp != gorgon_process_variables_list())
		return fn(envp, ctx);
	if (environment->own)
		return fn(own_list(environment->own), ctx);
	if (!environment->time_zone)
		return fn(envp, ctx);
	return fn(with_time_zone(environment->time_zone, envp, alloca((variables_count(envp) + 2) * sizeof(char *))), ctx);
}

// Without the lock, and without malloc(): the caller may be a child that shares the memory
// (vfork).
int gorgon_environment_give(struct gorgon_environment *environment, char *const *envp,
			    int (*fn)(char *const *envp, void *ctx), void *ctx)
{
	bool held = gorgon_process_variables_hold();
	int r = give(environment, envp, fn, ctx);

	gorgon_process_variables_let_go(held);
	return r;
}

struct program {
	const char *file;
	char *const *argv;
	int (*run)(const char *file, char *const *argv, char *const *envp);
	int fd; // the program, when @file is NULL
};

static int run_program(char *const *envp, void *ctx)
{
	const struct program *program = ctx;

	return program->run ? program->run(program->file, program->argv, envp)
			    : fexecve(program->fd, program->argv, envp);
}

int gorgon_execve(const char *path, char *const *argv, char *const *envp, struct gorgon_environment *environment)
{
	return gorgon_environment_give(environment, envp, run_program,
				       &(struct program){path, argv, execve, -1});
}

int gorgon_execvpe(const char *file, char *const *argv, char *const *envp, struct gorgon_environment *environment)
{
	return gorgon_environment_give(environment, envp, run_program,
				       &(struct program){file, argv, execvpe, -1});
}

int gorgon_fexecve(int fd, char *const *argv, char *const *envp, struct gorgon_environment *environment)
{
	return gorgon_environment_give(environment, envp, run_program,
				       &(struct program){NULL, argv, NULL, fd});
}

int gorgon_execv(const char *path, char *const *argv, struct gorgon_environment *environment)
{
	return gorgon_execve(path, argv, gorgon_process_variables_list(), environment);
}

int gorgon_execvp(const char *file, char *const *argv, struct gorgon_environment *environment)
{
	return gorgon_execvpe(file, argv, gorgon_process_variables_list(), environment);
}
