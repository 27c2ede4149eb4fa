// SPDX-License-Identifier: MIT Changes of the process's environment that do not harm a program
// which another thread starts just then.
//
// execve() reads `environ` with no lock, and so does the kernel: it counts the entries first and
// copies them afterwards. The C library's setenv() moves the array and frees the old one, its
// unsetenv() moves entries within the array. If another thread starts a program at that moment, the
// kernel finds an entry that is gone, and execve() fails with EFAULT. In a Python process that
// never happens, because one GIL covers os.environ and subprocess; here each interpreter has a GIL
// of its own, and importing numpy alone sets and removes two variables.
//
// So these functions never change an array, except that they replace the value of a variable in its
// entry. A function that adds or removes a variable makes a new array, which becomes `environ`. The
// old array is freed when no thread is about to start a program (hold, let_go), and not before KEPT
// more changes: a caller of posix_spawn() has read `environ` before its call, CPython copies it
// when it starts, and host code may read it at any time. KEPT arrays are 100 KB or so in a process
// that has changed its environment that often. Strings stay for good, as the C library's do; a
// string that is set a second time is used again.
//
// The host's own setenv() works on such an array as on any that a program has put into `environ`.

#define _GNU_SOURCE
#include "process_variables.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many arrays are left as they are after they have been replaced. */
#define KEPT 256

struct array {
	struct array *next; // the array that this array has replaced
	char *list[];
};

// the newest first; `environ` is its list unless host code has changed it since
static struct array *arrays;
static void *texts;	     // NAME=value, as tsearch() keeps them
static unsigned holders;     // threads that are about to start a program; atomic
// Whether this thread counts. A child that shares the memory of its parent finds that the parent
// does, and never returns.
static __thread bool holds;

bool gorgon_process_variables_hold(void)
{
	if (holds)
		return false;
	holds = true;
	__atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST);
	return true;
}

void gorgon_process_variables_let_go(bool held)
{
	if (!held)
		return;
	holds = false;
	__atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

void gorgon_process_variables_in_child(void)
{
	holders = holds;
}

// A thread that begins to hold the environment from here on finds the newest array.
static void free_old_arrays(void)
{
	struct array **link = &arrays, *old, *next;

	for (unsigned i = 0; *link && i <= KEPT; i++)
		link = &(*link)->next;
	if (!*link || __atomic_load_n(&holders, __ATOMIC_SEQ_CST))
		return;
	old = *link;
	*link = NULL;
	for (; old; old = next) {
		next = old->next;
		free(old);
	}
}

static bool is_of(const char *entry, const char *name, size_t size)
{
	return !strncmp(entry, name, size) && entry[size] == '=';
}

// Make an array of the entries that have another name (none without @name), and of @text, unless
// that is NULL.
static int make_array(const char *name, size_t size, char *text)
{
	size_t count = 0, used = 0;
	struct array *array;

	while (environ && environ[count])
		count++;
	array = malloc(sizeof(*array) + (count + 2) * sizeof(*array->list));
	if (!array)
		return -1; // errno is ENOMEM
	for (size_t i = 0; i < count; i++)
		if (name && !is_of(environ[i], name, size))
			array->list[used++] = environ[i];
	if (text)
		array->list[used++] = text;
	array->list[used] = NULL;
	array->next = arrays;
	arrays = array;
	__atomic_store_n(&environ, array->list, __ATOMIC_SEQ_CST);
	free_old_arrays();
	return 0;
}

static char **find_entry(const char *name, size_t size)
{
	char **entry = environ;

	while (entry && *entry && !is_of(*entry, name, size))
		entry++;
	return entry && *entry ? entry : NULL;
}

static int put(char *text, size_t size)
{
	char **entry = find_entry(text, size);

	if (!entry)
		return make_array(text, size, text);
	__atomic_store_n(entry, text, __ATOMIC_RELEASE);
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

// The text NAME=value that stays; NULL: no memory (errno).
static char *find_text(const char *name, size_t size, const char *value)
{
	char *text = malloc(size + 1 + strlen(value) + 1), **found;

	if (!text)
		return NULL;
	memcpy(text, name, size);
	text[size] = '=';
	strcpy(text + size + 1, value);
	found = tsearch(text, &texts, compare_texts);
	if (!found || *found != text)
		free(text);
	return found ? *found : NULL;
}

static bool is_name(const char *name)
{
	return name && *name && !strchr(name, '=');
}

int gorgon_process_variables_set(const char *name, const char *value, int overwrite)
{
	size_t size;
	char *text;

	if (!is_name(name)) {
		errno = EINVAL;
		return -1;
	}
	size = strlen(name);
	if (!overwrite && find_entry(name, size))
		return 0;
	text = find_text(name, size, value);
	return text ? put(text, size) : -1;
}

int gorgon_process_variables_unset(const char *name)
{
	if (!is_name(name)) {
		errno = EINVAL;
		return -1;
	}
	return find_entry(name, strlen(name)) ? make_array(name, strlen(name), NULL) : 0;
}

// The string is copied, where the C library would keep the caller's: the string may be in a private
// library, which is unloaded at the end of its interpreter, and the host would read what is not
// there any more.
int gorgon_process_variables_put(const char *text)
{
	size_t size = strcspn(text, "=");
	char *copy;

	if (!text[size])
		return gorgon_process_variables_unset(text);
	copy = find_text(text, size, text + size + 1);
	return copy ? put(copy, size) : -1;
}

int gorgon_process_variables_clear(void)
{
	return make_array(NULL, 0, NULL);
}
