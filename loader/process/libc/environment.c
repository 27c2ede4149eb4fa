// SPDX-License-Identifier: MIT
// The environment of a namespace: its own, or the process's where the host wants it so.
//
// An environment of a namespace's own begins as a copy of the process's, or as what the host has
// given. It is an array that private code finds under the name `environ`, and functions that work
// on it. As with the C library, code may put another array there, and strings that getenv() has
// returned stay; the memory is freed with the namespace. The time zone (time_zone.c), the locale
// (locales.c) and the search for a program in PATH follow it. What else the C library asks for
// itself (TMPDIR, LANGUAGE), and shared libraries, read the process's environment.
//
// The process's environment: private code reads and changes it under a lock, and changes it so that
// a program which another thread starts meanwhile gets it whole (process_variables.c). Host code
// that changes the environment while such interpreters run, or while an interpreter is made, has
// the problem that it has with any threads.

#define _GNU_SOURCE
#include "environment.h"
#include "process_variables.h"
#include "ns/ns.h"
#include "process/part.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
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
	// NAME=value that was set, as tsearch() keeps them: what is set again is used again
	void *texts;
};

struct gorgon_environment {
	struct variables *own; // NULL: the process's
	const char *hidden;    // which getenv() does not find, or NULL
};

// A leaf. A debug build of CPython asks for a variable at each call of a Python function: who only
// reads waits for nobody, so that a debugger can call a function in one interpreter while it keeps
// the others' threads stopped.
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void gorgon_environment_tzset(void)
{
	pthread_rwlock_rdlock(&lock);
	tzset();
	pthread_rwlock_unlock(&lock);
}

time_t gorgon_environment_mktime(struct tm *tm)
{
	time_t ret;

	pthread_rwlock_rdlock(&lock);
	ret = mktime(tm);
	pthread_rwlock_unlock(&lock);
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

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool variables_set(struct variables *variables, const char *name, const char *value)
{
	size_t size = strlen(name), value_size = strlen(value) + 1;
	char *text = malloc(size + 1 + value_size), **found;

	if (!text)
		return false;
	memcpy(text, name, size);
	text[size] = '=';
	memcpy(text + size + 1, value, value_size);
	found = tsearch(text, &variables->texts, compare_texts);
	if (!found || *found != text)
		free(text);
	return found && variables_put(variables, *found, size);
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

	if (!variables)
		return;
	for (struct block *block = variables->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	tdestroy(variables->texts, free);
	free(variables);
}

// The copy has the entries of @list as they are, those that are no variables and those that are
// there twice, too.
static bool variables_copy(struct variables *variables, char *const *list)
{
	size_t count = variables_count(list), size = 1;
	char *text;

	for (size_t i = 0; i < count; i++)
		size += strlen(list[i]) + 1;
	variables->room = 2 * count + 16;
	variables->list = variables->own =
		variables_allocate(variables, variables->room * sizeof(*list));
	text = variables_allocate(variables, size);
	if (!variables->list || !text)
		return false;
	for (size_t i = 0; i < count; i++) {
		variables->list[i] = text;
		text = stpcpy(text, list[i]) + 1;
	}
	variables->list[count] = NULL;
	return true;
}

static struct variables *variables_create(const char *const *list)
{
	struct variables *ret = calloc(1, sizeof(*ret));

	if (ret &&
	    variables_copy(ret, list ? (char *const *)list : gorgon_process_variables_list()))
		return ret;
	variables_destroy(ret);
	return NULL;
}

struct gorgon_environment *gorgon_environment_create(const char *const *list, bool share)
{
	struct gorgon_environment *ret = calloc(1, sizeof(*ret));

	if (!ret || share)
		return ret;
	pthread_rwlock_rdlock(&lock);
	ret->own = variables_create(list);
	pthread_rwlock_unlock(&lock);
	if (ret->own)
		return ret;
	free(ret);
	return NULL;
}

void gorgon_environment_destroy(struct gorgon_environment *environment)
{
	if (!environment)
		return;
	variables_destroy(environment->own);
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

// Evaluate a call that changes something under the lock.
#define LOCKED(call)                                                                               \
	({                                                                                         \
		pthread_rwlock_wrlock(&lock);                                                      \
		__auto_type value_of_call = (call);                                                \
		pthread_rwlock_unlock(&lock);                                                      \
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

// --- others --------------------------------------------------------------------------------------

// `environ` has the variable: programs that are started from here get it as they would from
// anywhere else in the process.
bool gorgon_environment_hides(const struct gorgon_environment *environment, const char *name)
{
	const char *hidden =
		environment ? __atomic_load_n(&environment->hidden, __ATOMIC_RELAXED) : NULL;

	return hidden && !strcmp(name, hidden);
}

// What its own code sets it finds.
static void show(struct gorgon_environment *environment, const char *text, size_t size)
{
	const char *hidden = environment->hidden;

	if (hidden && strlen(hidden) == size && !memcmp(text, hidden, size))
		__atomic_store_n(&environment->hidden, NULL, __ATOMIC_RELAXED);
}

char *gorgon_getenv(const char *name, struct gorgon_environment *environment)
{
	char *ret;

	if (gorgon_environment_hides(environment, name))
		return NULL;
	pthread_rwlock_rdlock(&lock);
	ret = environment && environment->own ? variables_get(environment->own, name)
					      : getenv(name);
	pthread_rwlock_unlock(&lock);
	return ret;
}

char *gorgon_secure_getenv(const char *name, struct gorgon_environment *environment)
{
	return getauxval(AT_SECURE) ? NULL : gorgon_getenv(name, environment);
}

int gorgon_setenv(const char *name, const char *value, int overwrite,
		  struct gorgon_environment *environment)
{
	if (!is_name(name))
		return environment_failure(EINVAL);
	show(environment, name, strlen(name));
	if (!environment->own)
		return LOCKED(gorgon_process_variables_set(name, value, overwrite));
	return LOCKED((!overwrite && variables_get(environment->own, name)) ||
		      variables_set(environment->own, name, value))
		       ? 0
		       : environment_failure(ENOMEM);
}

int gorgon_unsetenv(const char *name, struct gorgon_environment *environment)
{
	if (!is_name(name))
		return environment_failure(EINVAL);
	if (!environment->own)
		return LOCKED(gorgon_process_variables_unset(name));
	pthread_rwlock_wrlock(&lock);
	variables_unset(environment->own, name);
	pthread_rwlock_unlock(&lock);
	return 0;
}

int gorgon_putenv(char *text, struct gorgon_environment *environment)
{
	size_t size = strcspn(text, "=");

	if (!text[size])
		return gorgon_unsetenv(text, environment);
	show(environment, text, size);
	if (!environment->own)
		return LOCKED(gorgon_process_variables_put(text));
	return LOCKED(variables_put(environment->own, text, size)) ? 0
								   : environment_failure(ENOMEM);
}

int gorgon_clearenv(struct gorgon_environment *environment)
{
	if (!environment->own)
		return LOCKED(gorgon_process_variables_clear());
	pthread_rwlock_wrlock(&lock);
	environment->own->list = NULL;
	pthread_rwlock_unlock(&lock);
	return 0;
}

// --- programs that it starts ---------------------------------------------------------------------

static char *const *own_list(const struct variables *own)
{
	static char *const none[] = {NULL};

	return own->list ?: (char **)none;
}

// Without the lock, and without malloc(): the caller may be a child that shares the memory
// (vfork).
int gorgon_environment_give(struct gorgon_environment *environment, char *const *envp,
			    int (*fn)(char *const *envp, void *ctx), void *ctx)
{
	bool held = gorgon_process_variables_hold();
	bool own = environment && environment->own && envp == gorgon_process_variables_list();
	int r = fn(own ? own_list(environment->own) : envp, ctx);

	gorgon_process_variables_let_go(held);
	return r;
}

static bool is_program(const char *path, bool *denied)
{
	struct stat status;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return false;
	if (!faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return true;
	*denied = true;
	return false;
}

// Without the lock, and without malloc(), as above. The C library would look into the process's
// PATH.
const char *gorgon_environment_find_program(struct gorgon_environment *environment,
					    const char *file,
					    char room[GORGON_ENVIRONMENT_PROGRAM_SIZE])
{
	const char *path, *end;
	bool denied = false;

	if (!environment || !environment->own || !*file || strchr(file, '/'))
		return file;
	path = variables_get(environment->own, "PATH") ?: "/bin:/usr/bin";
	for (;; path = end + 1) {
		int size;

		end = strchrnul(path, ':');
		// An empty entry is the current directory.
		size = snprintf(room, GORGON_ENVIRONMENT_PROGRAM_SIZE, "%.*s/%s",
				end == path ? 1 : (int)(end - path), end == path ? "." : path,
				file);
		if (size < GORGON_ENVIRONMENT_PROGRAM_SIZE && is_program(room, &denied))
			return room;
		if (!*end)
			break;
	}
	errno = denied ? EACCES : ENOENT;
	return NULL;
}

// --- the parts -----------------------------------------------------------------------------------

#define OF_ENVIRONMENT (offsetof(struct gorgon_ns, environment) | GORGON_BOUND_POINTER)
#define OWN(name, function, args, reason) {name, function, args, OF_ENVIRONMENT, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN("setenv", gorgon_setenv, 3,
	    "changes the program's own environment, under no getenv() of its other threads"),
	OWN("unsetenv", gorgon_unsetenv, 1, "as setenv"),
	OWN("putenv", gorgon_putenv, 1, "as setenv"),
	OWN("clearenv", gorgon_clearenv, 0, "as setenv"),
};

static const struct gorgon_bound own_bound[] = {
	{"environ", NULL, GORGON_BOUND_DATA, 0, GORGON_OWN, "the program's own list"},
	{"__environ", NULL, GORGON_BOUND_DATA, 0, GORGON_OWN, "as environ"},
	{"_environ", NULL, GORGON_BOUND_DATA, 0, GORGON_OWN, "as environ"},
};

#ifdef __SANITIZE_THREAD__
// The thread sanitizer is told by this function that nobody holds the lock any more. It takes a
// lock that is made anew for the held one otherwise.
void AnnotateRWLockReleased(const char *file, int line, const volatile void *at, long is_writer);
#define TELL_RELEASED(at) AnnotateRWLockReleased(__FILE__, __LINE__, at, 1)
#else
#define TELL_RELEASED(at) (void)0
#endif

static void environment_before_fork(void)
{
	pthread_rwlock_wrlock(&lock);
}

static void environment_after_fork(bool child)
{
	if (child) {
		gorgon_process_variables_in_child();
		// Threads that wait for it in the parent have left their numbers in it.
		lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
		TELL_RELEASED(&lock);
	} else {
		pthread_rwlock_unlock(&lock);
	}
}

const struct gorgon_part gorgon_environment_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.before_fork = environment_before_fork,
	.after_fork = environment_after_fork,
};

const struct gorgon_part gorgon_own_environment_part = {
	.bound = own_bound,
	.bound_count = sizeof(own_bound) / sizeof(*own_bound),
	.when = GORGON_WHEN_WITH_ENVIRONMENT,
};
