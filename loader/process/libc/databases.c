// SPDX-License-Identifier: MIT
// The C library's databases, walked from the first entry to the last: getpwent() and its kin.
//
// The C library has one position in each database for the whole process, behind getpwent_r(),
// too. Here the first get...ent() of a walk reads all of the database with those functions, under
// a lock, and the namespace walks a copy of its own. set...ent() and end...ent() drop the copy, so
// the walk after them sees what has changed in between; they never close anything, because nothing
// is left open: descriptors belong to the table of whichever thread has opened them.
//
// The copy is a text in the format of the database's own file (/etc/passwd): the C library's
// putpwent() writes it, and its fgetpwent_r() reads it. A result stays until the namespace's next
// result of that database, also after end...ent(), as the C library keeps them. Not handled: fields
// that such a text cannot have (a colon in a real name is a space then).
//
// The host's own calls are not bound to us. A walk of the host's that is under way while we read
// is rewound, and one that goes on meanwhile takes entries from our copy. While nothing walks but
// private code, or the host between its walks, all lists are whole. A thread whose descriptors
// are not the host's reads on another one, whose table is empty. Not handled: a child that it
// has forked, where it is the first thread and takes a walk that the host had open for its own.
//
// Locks: one for each database while it is read, then `lock` for copies and results; leaves
// both, although the former is held while modules of the name service switch work. fork() waits
// for them, and so finds the C library's own locks of these databases free in the child.

#define _GNU_SOURCE
#include "buffer.h"
#include "process/part.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <shadow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// --- the databases ------------------------------------------------------------------------------

enum {
	PASSWD,
	GROUP,
	SECRETS,
	DATABASES,
};

// The memory that an entry is read into.
union entry {
	struct passwd pw;
	struct group gr;
	struct spwd sp;
};

struct database {
	// read() and read_text() put the next entry into *@found, and use @ret and @buffer for its
	// contents. Otherwise they return an error: ENOENT at the end, ERANGE when the buffer is
	// too small. The caller of read(), open() and close() holds the lock; close() may be called
	// when nothing is open.
	int (*read)(union entry *ret, struct gorgon_buffer *buffer, void **found);
	int (*read_text)(FILE *text, union entry *ret, struct gorgon_buffer *buffer, void **found);
	int (*write_text)(const union entry *entry, FILE *text);
	void (*open)(void);
	void (*close)(void);
	pthread_mutex_t lock;
};

#define FUNCTIONS(name, type)                                                                     \
	static int read_##name(union entry *ret, struct gorgon_buffer *buffer, void **found)      \
	{                                                                                         \
		return get##name##ent_r(&ret->name, buffer->data, buffer->size,                   \
					(struct type **)found);                                   \
	}                                                                                         \
	static int read_##name##_text(FILE *text, union entry *ret, struct gorgon_buffer *buffer, \
				      void **found)                                               \
	{                                                                                         \
		return fget##name##ent_r(text, &ret->name, buffer->data, buffer->size,            \
					 (struct type **)found);                                  \
	}                                                                                         \
	static int write_##name##_text(const union entry *entry, FILE *text)                      \
	{                                                                                         \
		return put##name##ent(&entry->name, text);                                        \
	}

FUNCTIONS(pw, passwd)
FUNCTIONS(gr, group)
FUNCTIONS(sp, spwd)

#define DATABASE(name)                                            \
	{read_##name,    read_##name##_text, write_##name##_text, \
	 set##name##ent, end##name##ent,     PTHREAD_MUTEX_INITIALIZER}

static struct database databases[DATABASES] = {
	[PASSWD] = DATABASE(pw),
	[GROUP] = DATABASE(gr),
	[SECRETS] = DATABASE(sp),
};

// --- a namespace's walks ----------------------------------------------------------------------

// A copy of a whole database, and the error of the C library at its end.
struct copy {
	char *data;
	size_t size;
	FILE *text; // of @data; NULL: there is no copy
	int errnum;
};

struct database_walk {
	struct database *database;
	struct copy copy;
	union entry kept; // the last result
	struct gorgon_buffer kept_buffer;
};

struct databases {
	struct database_walk walks[DATABASES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards walks, copies and results

static void free_copy(struct copy *copy)
{
	if (copy->text)
		fclose(copy->text);
	free(copy->data);
}

// False with errno set: no memory.
static bool read_entries(const struct database *database, struct gorgon_buffer *buffer,
			 struct copy *copy)
{
	union entry entry;
	void *found;
	int code;

	if (!gorgon_buffer_grow(buffer))
		return false;
	for (;;) {
		errno = 0; // the end of each walk repeats the errno of this call alone
		found = NULL;
		code = database->read(&entry, buffer, &found);
		copy->errnum = errno;
		if (code == ERANGE) {
			if (!gorgon_buffer_grow(buffer))
				return false;
			continue;
		}
		if (code || !found)
			return true;
		database->write_text(&entry, copy->text);
		if (ferror(copy->text))
			return false;
	}
}

// Read into a stream that writes the text, and begin to read the text. False with errno set: no
// memory.
static bool make_copy(const struct database *database, struct gorgon_buffer *buffer,
		      struct copy *copy)
{
	bool done;

	copy->text = open_memstream(&copy->data, &copy->size);
	done = copy->text && read_entries(database, buffer, copy);
	done = copy->text && !fclose(copy->text) && done;
	copy->text = done ? fmemopen(copy->data, copy->size, "r") : NULL;
	return copy->text;
}

struct reading {
	struct database *database;
	struct copy *copy;
	bool done; // false: there is no such database, or no memory
	int errnum;
};

static void do_reading(struct reading *reading)
{
	struct gorgon_buffer buffer = {0};

	errno = 0;
	reading->database->open();
	reading->done = make_copy(reading->database, &buffer, reading->copy);
	reading->errnum = errno;
	reading->database->close();
	gorgon_buffer_free(&buffer);
}

// Whether descriptors of this thread are those of the process's first one, the host's. What
// /proc/self/fd shows is that one's table.
static bool has_hosts_descriptors(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[sizeof("/proc/self/fd/") + 11];
	struct stat mine, hosts;
	bool ret;

	if (fd < 0)
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ret = !fstat(fd, &mine) && !stat(name, &hosts) && mine.st_dev == hosts.st_dev &&
	      mine.st_ino == hosts.st_ino;
	close(fd);
	return ret;
}

// A walk that the host has left open has a descriptor of the host's table. On a thread with a table
// of its own the C library would read from that number, and close it. In an empty table that fails
// without harm.
static void *do_reading_apart(void *of)
{
	struct reading *reading = of;

	if (close_range(0, ~0U, CLOSE_RANGE_UNSHARE)) {
		reading->errnum = errno;
		return NULL;
	}
	reading->database->close();
	do_reading(reading);
	return NULL;
}

static void read_on_thread(struct reading *reading)
{
	sigset_t all, before;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, NULL, do_reading_apart, reading);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		reading->errnum = r;
	else
		pthread_join(thread, NULL);
}

// Read a whole database. Between set...ent() and end...ent() no other thread may call, and the
// thread must not be cancelled. False with errno set: there is no such database, or no memory.
static bool read_database(struct database *database, struct copy *copy)
{
	struct reading reading = {database, copy, false, 0};
	int before;

	*copy = (struct copy){0};
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&database->lock);
	if (has_hosts_descriptors())
		do_reading(&reading);
	else
		read_on_thread(&reading);
	pthread_mutex_unlock(&database->lock);
	pthread_setcancelstate(before, NULL);
	if (!reading.done)
		free_copy(copy);
	errno = reading.errnum;
	return reading.done;
}

// Drop the copy. The last result stays.
static void databases_restart(struct database_walk *walk)
{
	struct copy copy;

	pthread_mutex_lock(&lock);
	copy = walk->copy;
	walk->copy = (struct copy){0};
	pthread_mutex_unlock(&lock);
	free_copy(&copy);
}

// Make a copy and take the lock. False with errno set: there is no copy, and the lock is not held.
static bool begin_step(struct database_walk *walk)
{
	struct copy copy;

	pthread_mutex_lock(&lock);
	if (walk->copy.text)
		return true;
	pthread_mutex_unlock(&lock);
	if (!read_database(walk->database, &copy))
		return false;
	pthread_mutex_lock(&lock);
	// Another thread of the namespace may have made a copy meanwhile.
	if (walk->copy.text)
		free_copy(&copy);
	else
		walk->copy = copy;
	return true;
}

// The next entry of the copy becomes the result.
static void *read_copy(struct database_walk *walk)
{
	struct gorgon_buffer buffer = {0};
	union entry entry;
	void *found;
	int saved = errno;

	do {
		found = NULL;
		if (!gorgon_buffer_grow(&buffer))
			return NULL;
	} while (walk->database->read_text(walk->copy.text, &entry, &buffer, &found) == ERANGE);
	errno = saved;
	if (!found) {
		gorgon_buffer_free(&buffer);
		if (walk->copy.errnum)
			errno = walk->copy.errnum;
		return NULL;
	}
	gorgon_buffer_free(&walk->kept_buffer);
	walk->kept_buffer = buffer;
	walk->kept = entry;
	return &walk->kept;
}

static void *databases_next(struct database_walk *walk)
{
	void *ret;

	if (!begin_step(walk))
		return NULL;
	ret = read_copy(walk);
	pthread_mutex_unlock(&lock);
	return ret;
}

// --- the part ---------------------------------------------------------------------------------

static bool databases_begin(void *of, struct gorgon_ns *ns)
{
	struct databases *state = of;

	(void)ns;
	for (size_t i = 0; i < DATABASES; i++)
		state->walks[i].database = &databases[i];
	return true;
}

static void databases_end(void *of)
{
	struct databases *state = of;

	for (size_t i = 0; i < DATABASES; i++) {
		free_copy(&state->walks[i].copy);
		gorgon_buffer_free(&state->walks[i].kept_buffer);
	}
}

static void before_fork(void)
{
	for (size_t i = 0; i < DATABASES; i++)
		pthread_mutex_lock(&databases[i].lock);
	pthread_mutex_lock(&lock);
}

static void after_fork(bool child)
{
	(void)child;
	pthread_mutex_unlock(&lock);
	for (size_t i = DATABASES; i-- > 0;)
		pthread_mutex_unlock(&databases[i].lock);
}

#define WHY                                                                                     \
	"the C library has one position for the process; a program walks a copy that is whole " \
	"unless the host walks the same database just then, and the host's walk is rewound"
#define BOUND(name, target, args, index, reason) \
	{name, target, args, offsetof(struct databases, walks[index]), GORGON_OWN, reason}
#define WALKED(name, index)                                          \
	BOUND("set" name, databases_restart, 0, index, WHY),         \
		BOUND("end" name, databases_restart, 0, index, WHY), \
		BOUND("get" name, databases_next, 0, index, WHY)

static const struct gorgon_bound bound[] = {
	WALKED("pwent", PASSWD),
	WALKED("grent", GROUP),
	WALKED("spent", SECRETS),
};

const struct gorgon_part gorgon_databases_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct databases),
	.begin = databases_begin,
	.end = databases_end,
	.before_fork = before_fork,
	.after_fork = after_fork,
};
