// SPDX-License-Identifier: MIT
// The environment: the process's, or the namespace's own when the host has given it one.
//
// The process's: the C library's setenv() may move the array under a getenv() of another
// thread, so private code takes one lock around both. Host code that changes the environment
// while interpreters run has the problem that it always has with threads.
//
// A namespace's own is an array that private code finds under the name `environ`, and
// functions that work on it. As with the C library code may put another array there, and
// strings that were once returned stay: what was allocated is freed with the namespace. Not
// reached by it is what the C library and shared libraries read themselves (LANG, TMPDIR).
//
// TZ is a namespace's own in either case, from when its code changes it: localtime() of the host
// and of other programs follows the process's at once. Programs that it starts get its own.

#define _GNU_SOURCE
#include "environment.h"
#include "ns/ns.h"

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

struct gorgon_environment {
	char **list;   // `environ`; NULL: empty
	char **own;    // the newest array of ours
	size_t room;   // entries that it may have, the final NULL included
	struct block *blocks;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // a leaf

void gorgon_environment_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void gorgon_environment_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

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

static void *allocate(struct gorgon_environment *environment, size_t size)
{
	struct block *block = malloc(sizeof(*block) + size);

	if (!block)
		return NULL;
	block->next = environment->blocks;
	environment->blocks = block;
	return block->data;
}

static size_t count(char *const *list)
{
	size_t ret = 0;

	while (list && list[ret])
		ret++;
	return ret;
}

static char **find(const struct gorgon_environment *environment, const char *name, size_t size)
{
	char **entry = environment->list;

	while (entry && *entry && (strncmp(*entry, name, size) || (*entry)[size] != '='))
		entry++;
	return entry && *entry ? entry : NULL;
}

// Room for one entry more, in an array of ours.
static bool grow(struct gorgon_environment *environment)
{
	size_t used = count(environment->list) + 1, room = 2 * used + 16;
	char **grown;

	if (environment->list && environment->list == environment->own && used < environment->room)
		return true;
	grown = allocate(environment, room * sizeof(*grown));
	if (!grown)
		return false;
	if (used > 1)
		memcpy(grown, environment->list, (used - 1) * sizeof(*grown));
	grown[used - 1] = NULL;
	environment->list = environment->own = grown;
	environment->room = room;
	return true;
}

// @text is `NAME=value`, NAME of @size bytes.
static bool put(struct gorgon_environment *environment, char *text, size_t size)
{
	char **entry = find(environment, text, size);
	size_t used;

	if (entry) {
		*entry = text;
		return true;
	}
	if (!grow(environment))
		return false;
	used = count(environment->list);
	environment->list[used + 1] = NULL;
	environment->list[used] = text;
	return true;
}

static bool set(struct gorgon_environment *environment, const char *name, const char *value)
{
	size_t size = strlen(name), value_size = strlen(value) + 1;
	char *text = allocate(environment, size + 1 + value_size);

	if (!text)
		return false;
	memcpy(text, name, size);
	text[size] = '=';
	memcpy(text + size + 1, value, value_size);
	return put(environment, text, size);
}

static void unset(struct gorgon_environment *environment, const char *name)
{
	size_t size = strlen(name);
	char **entry;

	while ((entry = find(environment, name, size)))
		do
			entry[0] = entry[1];
		while (*entry++);
}

struct gorgon_environment *gorgon_environment_create(const char *const *list)
{
	struct gorgon_environment *ret = calloc(1, sizeof(*ret));
	bool whole = ret && grow(ret);

	for (; whole && *list; list++) {
		char *text = allocate(ret, strlen(*list) + 1);

		whole = text && put(ret, strcpy(text, *list), strcspn(*list, "="));
	}
	if (whole)
		return ret;
	gorgon_environment_destroy(ret);
	return NULL;
}

void gorgon_environment_destroy(struct gorgon_environment *environment)
{
	struct block *next;

	for (struct block *block = environment ? environment->blocks : NULL; block; block = next) {
		next = block->next;
		free(block);
	}
	free(environment);
}

char ***gorgon_environment_list(struct gorgon_environment *environment)
{
	return &environment->list;
}

// --- functions of the C library's names --------------------------------------------------------

// The value of a call that is made under the lock.
#define LOCKED(call)                                                                               \
	({                                                                                         \
		pthread_mutex_lock(&lock);                                                         \
		__auto_type value_of_call = (call);                                                \
		pthread_mutex_unlock(&lock);                                                       \
		value_of_call;                                                                     \
	})

static char *get(struct gorgon_environment *environment, const char *name)
{
	size_t size = strlen(name);
	char **entry = find(environment, name, size);

	return entry ? *entry + size + 1 : NULL;
}

static bool is_name(const char *name)
{
	return name && *name && !strchr(name, '=');
}

static int failure(int number)
{
	errno = number;
	return -1;
}

// --- TZ ------------------------------------------------------------------------------------------

static bool is_time_zone(const char *name, size_t size)
{
	return size == 2 && !memcmp(name, "TZ", 2);
}

bool gorgon_environment_has_time_zone(const struct gorgon_ns *ns)
{
	return ns->environment || __atomic_load_n(&ns->time_zone, __ATOMIC_ACQUIRE);
}

// Where TZ of the namespace is, or NULL: in the process's environment.
static struct gorgon_environment *time_zone_of(const struct gorgon_ns *ns)
{
	return ns ? ns->environment ?: __atomic_load_n(&ns->time_zone, __ATOMIC_ACQUIRE) : NULL;
}

char *gorgon_environment_time_zone(struct gorgon_ns *ns)
{
	struct gorgon_environment *environment = time_zone_of(ns);

	return environment ? LOCKED(get(environment, "TZ")) : NULL;
}

// From now on the namespace's own. NULL: no memory. The lock is held.
static struct gorgon_environment *own_time_zone(struct gorgon_ns *ns)
{
	struct gorgon_environment *environment = ns->time_zone;
	const char *value = getenv("TZ");

	if (environment)
		return environment;
	environment = gorgon_environment_create((const char *const[]){NULL});
	if (environment && value && !set(environment, "TZ", value)) {
		gorgon_environment_destroy(environment);
		return NULL;
	}
	__atomic_store_n(&ns->time_zone, environment, __ATOMIC_RELEASE);
	return environment;
}

// Strings stay until the namespace ends, so that one which comes again is taken again.
static bool set_time_zone(struct gorgon_environment *environment, const char *value)
{
	for (struct block *block = environment->blocks; block; block = block->next) {
		char *text = (char *)block->data;

		if (block->data != environment->own && !strncmp(text, "TZ=", 3) &&
		    !strcmp(text + 3, value))
			return put(environment, text, 2);
	}
	return set(environment, "TZ", value);
}

// These return 0, or -1 with errno.
static int setenv_time_zone(const char *value, int overwrite, struct gorgon_ns *ns)
{
	struct gorgon_environment *own;
	bool done;

	pthread_mutex_lock(&lock);
	own = own_time_zone(ns);
	done = own && ((!overwrite && get(own, "TZ")) || set_time_zone(own, value));
	pthread_mutex_unlock(&lock);
	return done ? 0 : failure(ENOMEM);
}

static int unsetenv_time_zone(struct gorgon_ns *ns)
{
	struct gorgon_environment *own;

	pthread_mutex_lock(&lock);
	own = own_time_zone(ns);
	if (own)
		unset(own, "TZ");
	pthread_mutex_unlock(&lock);
	return own ? 0 : failure(ENOMEM);
}

static int putenv_time_zone(char *text, struct gorgon_ns *ns)
{
	struct gorgon_environment *own;
	bool done;

	pthread_mutex_lock(&lock);
	own = own_time_zone(ns);
	done = own && put(own, text, 2);
	pthread_mutex_unlock(&lock);
	return done ? 0 : failure(ENOMEM);
}

// --- others --------------------------------------------------------------------------------------

// Whether a variable of the process's is not for this namespace. `environ` has it: programs that
// are started from here get it as they would from anywhere else in the process.
bool gorgon_environment_hides(const struct gorgon_ns *ns, const char *name)
{
	return ns && !ns->environment && ns->hidden_variable && !strcmp(name, ns->hidden_variable);
}

char *gorgon_getenv(const char *name, struct gorgon_ns *ns)
{
	if (gorgon_environment_hides(ns, name))
		return NULL;
	if (is_time_zone(name, strlen(name)) && time_zone_of(ns))
		return gorgon_environment_time_zone(ns);
	return LOCKED(ns->environment ? get(ns->environment, name) : getenv(name));
}

char *gorgon_secure_getenv(const char *name, struct gorgon_ns *ns)
{
	if (gorgon_environment_hides(ns, name))
		return NULL;
	if (is_time_zone(name, strlen(name)) && time_zone_of(ns) && !getauxval(AT_SECURE))
		return gorgon_environment_time_zone(ns);
	return LOCKED(ns && ns->environment ? get(ns->environment, name) : secure_getenv(name));
}

int gorgon_setenv(const char *name, const char *value, int overwrite, struct gorgon_ns *ns)
{
	if (!ns->environment && name && is_time_zone(name, strlen(name)))
		return setenv_time_zone(value, overwrite, ns);
	if (!ns->environment)
		return LOCKED(setenv(name, value, overwrite));
	if (!is_name(name))
		return failure(EINVAL);
	return LOCKED((!overwrite && get(ns->environment, name)) || set(ns->environment, name, value))
		       ? 0
		       : failure(ENOMEM);
}

int gorgon_unsetenv(const char *name, struct gorgon_ns *ns)
{
	if (!ns->environment && name && is_time_zone(name, strlen(name)))
		return unsetenv_time_zone(ns);
	if (!ns->environment)
		return LOCKED(unsetenv(name));
	if (!is_name(name))
		return failure(EINVAL);
	pthread_mutex_lock(&lock);
	unset(ns->environment, name);
	pthread_mutex_unlock(&lock);
	return 0;
}

int gorgon_putenv(char *text, struct gorgon_ns *ns)
{
	size_t size = strcspn(text, "=");

	if (!ns->environment && is_time_zone(text, size))
		return text[size] ? putenv_time_zone(text, ns) : unsetenv_time_zone(ns);
	if (!ns->environment)
		return LOCKED(putenv(text));
	if (!text[size])
		return gorgon_unsetenv(text, ns);
	return LOCKED(put(ns->environment, text, size)) ? 0 : failure(ENOMEM);
}

int gorgon_clearenv(struct gorgon_ns *ns)
{
	if (!ns->environment)
		return unsetenv_time_zone(ns) ? -1 : LOCKED(clearenv());
	pthread_mutex_lock(&lock);
	ns->environment->list = NULL;
	pthread_mutex_unlock(&lock);
	return 0;
}

// The process's with the namespace's TZ. @room has two entries more than the process's.
static char *const *with_time_zone(const struct gorgon_environment *own, char **room)
{
	char **entry = find(own, "TZ", 2), **next = room;

	for (char **from = environ; from && *from; from++)
		if (strncmp(*from, "TZ=", 3))
			*next++ = *from;
	if (entry)
		*next++ = *entry;
	*next = NULL;
	return room;
}

static char *const *own_list(const struct gorgon_environment *own)
{
	static char *const none[] = {NULL};

	return own->list ?: (char **)none;
}

// Without the lock, and without malloc(): the caller may be a child that shares the memory
// (vfork).
int gorgon_environment_give(struct gorgon_ns *ns, char *const *envp,
			    int (*fn)(char *const *envp, void *ctx), void *ctx)
{
	if (!ns || envp != environ)
		return fn(envp, ctx);
	if (ns->environment)
		return fn(own_list(ns->environment), ctx);
	if (!ns->time_zone)
		return fn(environ, ctx);
	return fn(with_time_zone(ns->time_zone, alloca((count(environ) + 2) * sizeof(char *))), ctx);
}

struct program {
	const char *file;
	char *const *argv;
	int (*run)(const char *file, char *const *argv, char *const *envp);
	int fd; // instead of @file
};

static int run_program(char *const *envp, void *ctx)
{
	const struct program *program = ctx;

	return program->run ? program->run(program->file, program->argv, envp)
			    : fexecve(program->fd, program->argv, envp);
}

int gorgon_execve(const char *path, char *const *argv, char *const *envp, struct gorgon_ns *ns)
{
	return gorgon_environment_give(ns, envp, run_program,
				       &(struct program){path, argv, execve, -1});
}

int gorgon_execvpe(const char *file, char *const *argv, char *const *envp, struct gorgon_ns *ns)
{
	return gorgon_environment_give(ns, envp, run_program,
				       &(struct program){file, argv, execvpe, -1});
}

int gorgon_fexecve(int fd, char *const *argv, char *const *envp, struct gorgon_ns *ns)
{
	return gorgon_environment_give(ns, envp, run_program,
				       &(struct program){NULL, argv, NULL, fd});
}

int gorgon_execv(const char *path, char *const *argv, struct gorgon_ns *ns)
{
	return gorgon_execve(path, argv, environ, ns);
}

int gorgon_execvp(const char *file, char *const *argv, struct gorgon_ns *ns)
{
	return gorgon_execvpe(file, argv, environ, ns);
}
