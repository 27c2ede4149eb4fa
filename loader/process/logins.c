// SPDX-License-Identifier: MIT
// Who is logged in: setutxent(), getutxent() and endutxent().
//
// The C library has one position in the file for the process. Here each namespace has its own: the
// first getutxent() reads the whole file, and no descriptor stays open. Other functions of the same
// file (pututxline(), getutxid() ...) are the C library's: no library that comes with a package of
// Python calls them.

#define _GNU_SOURCE
#include "part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utmpx.h>

struct logins {
	pthread_mutex_t lock; // a leaf; calls of a namespace's threads do not mix
	struct utmpx *entries;
	size_t count, next;
	struct utmpx result; // of the last getutxent(), until the next
};

// All whole entries of the file. False with errno set.
static bool read_entries(struct logins *logins)
{
	int fd = open(_PATH_UTMPX, O_RDONLY | O_CLOEXEC), errnum;
	struct stat status;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &status)) {
		logins->entries = malloc((size_t)status.st_size + 1);
		if (logins->entries)
			n = pread(fd, logins->entries, (size_t)status.st_size, 0);
	}
	errnum = errno;
	close(fd);
	errno = errnum;
	if (n < 0) {
		free(logins->entries);
		logins->entries = NULL;
		return false;
	}
	logins->count = (size_t)n / sizeof(struct utmpx);
	return true;
}

static void restart(struct logins *logins)
{
	pthread_mutex_lock(&logins->lock);
	free(logins->entries);
	logins->entries = NULL;
	logins->count = logins->next = 0;
	pthread_mutex_unlock(&logins->lock);
}

static struct utmpx *next_entry(struct logins *logins)
{
	struct utmpx *ret = NULL;

	pthread_mutex_lock(&logins->lock);
	if ((logins->entries || read_entries(logins)) && logins->next < logins->count) {
		logins->result = logins->entries[logins->next++];
		ret = &logins->result;
	}
	pthread_mutex_unlock(&logins->lock);
	return ret;
}

static bool logins_begin(void *state, struct gorgon_ns *ns)
{
	struct logins *logins = state;

	(void)ns;
	pthread_mutex_init(&logins->lock, NULL);
	return true;
}

static void logins_end(void *state)
{
	struct logins *logins = state;

	free(logins->entries);
}

static void logins_in_child(void *state)
{
	struct logins *logins = state;

	if (!pthread_mutex_trylock(&logins->lock)) {
		pthread_mutex_unlock(&logins->lock);
		return;
	}
	// Another thread was at work when the process forked: what it had is lost.
	pthread_mutex_init(&logins->lock, NULL);
	logins->entries = NULL;
	logins->count = logins->next = 0;
}

#define BOUND(name, target) \
	{name, target, 0, 0, GORGON_OWN, "the position in the file is the program's"}

static const struct gorgon_bound bound[] = {
	BOUND("setutxent", restart),
	BOUND("getutxent", next_entry),
	BOUND("endutxent", restart),
};

const struct gorgon_part gorgon_logins = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct logins),
	.begin = logins_begin,
	.end = logins_end,
	.in_child = logins_in_child,
};
