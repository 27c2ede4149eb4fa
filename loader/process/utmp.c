// SPDX-License-Identifier: MIT
// Who is logged in: getutent(), pututline(), utmpname() and their kin, by either name (struct
// utmp and struct utmpx are one).
//
// The C library has one file name, one descriptor and one position for the process. Here each
// namespace has a name and a position, and no descriptor is kept: the first function that wants an
// entry reads the whole file, under a lock on it, and pututline() opens it for itself. The locks are
// open file description locks: they conflict with each other and with the record locks that other
// programs' C libraries take. A function gives up when it gets no lock in ten seconds.
//
// login() and logout() are the C library's: each of their steps opens the file again.

#define _GNU_SOURCE
#include "part.h"
#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

struct state {
	char *name;	      // of the file; NULL: the usual one
	struct utmp *entries; // what was read of it
	size_t count;
	bool has_read;
	size_t next; // the position, also of entries that are to be read again
	struct gorgon_kept entry, by_id, by_line;
};

static const struct gorgon_record record = {
	sizeof(struct utmp), (const struct gorgon_field[]){{GORGON_FIELD_END, 0, 0}}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all states; a leaf

// --- the file ---------------------------------------------------------------------------------

#define TRIES	 1000
#define INTERVAL 10000000 // nanoseconds

// False with errno set.
static bool lock_file(int fd, short type)
{
	struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
	struct timespec interval = {0, INTERVAL};

	for (int i = 0; i < TRIES; i++) {
		if (!fcntl(fd, F_OFD_SETLK, &whole))
			return true;
		if (errno != EAGAIN && errno != EACCES)
			return false;
		nanosleep(&interval, NULL);
	}
	errno = EAGAIN;
	return false;
}

// Read all whole entries. Returns false with errno set.
static bool read_entries(int fd, struct utmp **ret, size_t *count)
{
	struct utmp *entries;
	struct stat status;
	size_t size, done = 0;

	if (fstat(fd, &status))
		return false;
	size = (size_t)status.st_size / sizeof(*entries) * sizeof(*entries);
	entries = malloc(size + 1);
	if (!entries)
		return false;
	while (done < size) {
		ssize_t n = pread(fd, (char *)entries + done, size - done, (off_t)done);

		if (n < 0 && errno != EINTR) {
			free(entries);
			return false;
		}
		if (!n)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	*ret = entries;
	*count = done / sizeof(*entries);
	return true;
}

// The file of @state, open and locked; -1 with errno set.
static int open_file(struct state *state, int flags, short type)
{
	char *name;
	int fd;

	pthread_mutex_lock(&lock);
	name = strdup(state->name ?: _PATH_UTMP);
	pthread_mutex_unlock(&lock);
	if (!name)
		return -1;
	fd = open(name, flags | O_CLOEXEC);
	free(name);
	if (fd >= 0 && !lock_file(fd, type)) {
		int errnum = errno;

		close(fd);
		errno = errnum;
		return -1;
	}
	return fd;
}

// --- positions --------------------------------------------------------------------------------

// The lock is held.
static void forget_entries(struct state *state)
{
	free(state->entries);
	state->entries = NULL;
	state->count = 0;
	state->has_read = false;
}

static void utmp_restart(struct state *state)
{
	pthread_mutex_lock(&lock);
	forget_entries(state);
	state->next = 0;
	pthread_mutex_unlock(&lock);
}

// Read the entries and take the lock. False with errno set: the lock is not held.
static bool begin_search(struct state *state)
{
	struct utmp *entries = NULL;
	size_t count = 0;
	bool done;
	int fd, errnum;

	pthread_mutex_lock(&lock);
	if (state->has_read)
		return true;
	pthread_mutex_unlock(&lock);
	fd = open_file(state, O_RDONLY, F_RDLCK);
	if (fd < 0)
		return false;
	done = read_entries(fd, &entries, &count);
	errnum = errno;
	close(fd);
	errno = errnum;
	if (!done)
		return false;
	pthread_mutex_lock(&lock);
	forget_entries(state);
	state->entries = entries;
	state->count = count;
	state->has_read = true;
	return true;
}

typedef bool match_fn(const struct utmp *entry, const struct utmp *wanted);

static bool is_process(const struct utmp *entry)
{
	return entry->ut_type == INIT_PROCESS || entry->ut_type == LOGIN_PROCESS ||
	       entry->ut_type == USER_PROCESS || entry->ut_type == DEAD_PROCESS;
}

static bool is_event(const struct utmp *entry)
{
	return entry->ut_type == RUN_LVL || entry->ut_type == BOOT_TIME ||
	       entry->ut_type == NEW_TIME || entry->ut_type == OLD_TIME;
}

static bool is_any(const struct utmp *entry, const struct utmp *wanted)
{
	(void)entry;
	(void)wanted;
	return true;
}

static bool has_line(const struct utmp *entry, const struct utmp *wanted)
{
	return (entry->ut_type == USER_PROCESS || entry->ut_type == LOGIN_PROCESS) &&
	       !strncmp(entry->ut_line, wanted->ut_line, sizeof(entry->ut_line));
}

// Entries are compared by identifier, or by line where an entry has no identifier.
static bool has_id(const struct utmp *entry, const struct utmp *wanted)
{
	if (is_event(wanted))
		return entry->ut_type == wanted->ut_type;
	if (!is_process(entry) || !is_process(wanted))
		return false;
	if (*entry->ut_id && *wanted->ut_id)
		return !strncmp(entry->ut_id, wanted->ut_id, sizeof(entry->ut_id));
	return !strncmp(entry->ut_line, wanted->ut_line, sizeof(entry->ut_line));
}

// Search from the position on, which moves behind the entry found. Returns with the lock held, or NULL.
static const struct utmp *utmp_search(struct state *state, match_fn *matches,
				      const struct utmp *wanted)
{
	if (!begin_search(state))
		return NULL;
	while (state->next < state->count) {
		const struct utmp *entry = &state->entries[state->next++];

		if (matches(entry, wanted))
			return entry;
	}
	pthread_mutex_unlock(&lock);
	if (wanted)
		errno = ESRCH;
	return NULL;
}

static struct utmp *utmp_find(struct state *state, match_fn *matches, const struct utmp *wanted,
			 struct gorgon_kept *kept)
{
	const struct utmp *entry = utmp_search(state, matches, wanted);
	struct utmp *ret;

	if (!entry)
		return NULL;
	ret = gorgon_kept_set(kept, &record, entry);
	pthread_mutex_unlock(&lock);
	return ret;
}

static int find_r(struct state *state, match_fn *matches, const struct utmp *wanted,
		  struct utmp *buffer, struct utmp **result)
{
	const struct utmp *entry = utmp_search(state, matches, wanted);

	*result = NULL;
	if (!entry)
		return -1;
	*buffer = *entry;
	pthread_mutex_unlock(&lock);
	*result = buffer;
	return 0;
}

static bool is_searchable(const struct utmp *id)
{
	if (is_event(id) || is_process(id))
		return true;
	errno = EINVAL;
	return false;
}

// --- the functions ----------------------------------------------------------------------------

static struct utmp *own_getutent(struct state *state)
{
	return utmp_find(state, is_any, NULL, &state->entry);
}

static int own_getutent_r(struct utmp *buffer, struct utmp **result, struct state *state)
{
	return find_r(state, is_any, NULL, buffer, result);
}

static struct utmp *own_getutid(const struct utmp *id, struct state *state)
{
	return is_searchable(id) ? utmp_find(state, has_id, id, &state->by_id) : NULL;
}

static int own_getutid_r(const struct utmp *id, struct utmp *buffer, struct utmp **result,
			 struct state *state)
{
	if (is_searchable(id))
		return find_r(state, has_id, id, buffer, result);
	*result = NULL;
	return -1;
}

static struct utmp *own_getutline(const struct utmp *line, struct state *state)
{
	return utmp_find(state, has_line, line, &state->by_line);
}

static int own_getutline_r(const struct utmp *line, struct utmp *buffer, struct utmp **result,
			   struct state *state)
{
	return find_r(state, has_line, line, buffer, result);
}

static size_t index_of(const struct utmp *entries, size_t count, const struct utmp *id)
{
	size_t i = 0;

	while (i < count && !has_id(&entries[i], id))
		i++;
	return i;
}

// Half an entry at the end of the file would shift every entry that is appended later.
static bool write_entry(int fd, size_t index, const struct utmp *entry)
{
	off_t at = (off_t)(index * sizeof(*entry));
	ssize_t n = pwrite(fd, entry, sizeof(*entry), at);
	struct stat status;
	int errnum = n < 0 ? errno : ENOSPC;

	if (n == sizeof(*entry))
		return true;
	if (!fstat(fd, &status) && status.st_size < at + (off_t)sizeof(*entry) &&
	    ftruncate(fd, at))
		errnum = errno;
	errno = errnum;
	return false;
}

// Write over the entry with @entry's identifier or, if there is none, behind the last entry.
static struct utmp *own_pututline(const struct utmp *entry, struct state *state)
{
	struct utmp copy = *entry; // @entry may be an earlier result, which is freed below
	struct utmp *entries = NULL;
	size_t count, index = 0;
	bool done;
	int errnum, fd = open_file(state, O_RDWR, F_WRLCK);

	if (fd < 0)
		return NULL;
	done = read_entries(fd, &entries, &count);
	if (done) {
		index = index_of(entries, count, &copy);
		done = write_entry(fd, index, &copy);
	}
	errnum = errno;
	close(fd);
	free(entries);
	errno = errnum;
	if (!done)
		return NULL;
	pthread_mutex_lock(&lock);
	forget_entries(state);
	state->next = index + 1;
	pthread_mutex_unlock(&lock);
	return (struct utmp *)entry;
}

static int own_utmpname(const char *name, struct state *state)
{
	char *copy = strdup(name), *before;

	if (!copy)
		return -1;
	pthread_mutex_lock(&lock);
	before = state->name;
	state->name = copy;
	forget_entries(state);
	state->next = 0;
	pthread_mutex_unlock(&lock);
	free(before);
	return 0;
}

// --- the part ---------------------------------------------------------------------------------

static void utmp_end(void *of)
{
	struct state *state = of;

	free(state->name);
	free(state->entries);
	gorgon_kept_free(&state->entry);
	gorgon_kept_free(&state->by_id);
	gorgon_kept_free(&state->by_line);
}

#define WHY                                                                                        \
	"the C library has one file, name and position for the process; each program has its own, " \
	"and what it writes is seen by all"
#define BOUND(name, target, args) {name, target, args, 0, GORGON_OWN, WHY}

static const struct gorgon_bound bound[] = {
	BOUND("setutent", utmp_restart, 0),       BOUND("setutxent", utmp_restart, 0),
	BOUND("endutent", utmp_restart, 0),       BOUND("endutxent", utmp_restart, 0),
	BOUND("getutent", own_getutent, 0),       BOUND("getutxent", own_getutent, 0),
	BOUND("getutent_r", own_getutent_r, 2),   BOUND("getutid", own_getutid, 1),
	BOUND("getutxid", own_getutid, 1),        BOUND("getutid_r", own_getutid_r, 3),
	BOUND("getutline", own_getutline, 1),     BOUND("getutxline", own_getutline, 1),
	BOUND("getutline_r", own_getutline_r, 3), BOUND("pututline", own_pututline, 1),
	BOUND("pututxline", own_pututline, 1),    BOUND("utmpname", own_utmpname, 1),
	BOUND("utmpxname", own_utmpname, 1),
};

const struct gorgon_part gorgon_utmp_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct state),
	.end = utmp_end,
	.lock = &lock,
};
