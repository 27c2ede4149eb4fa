// SPDX-License-Identifier: MIT
// Who is logged in: setutxent(), getutxent() and endutxent().
//
// The C library has one position in the file for the process. Here each namespace has its own: the
// first getutxent() reads the whole file, and no descriptor stays open. Other functions of the same
// file (pututxline(), getutxid() ...) are the C library's: no library that comes with a package of
// Python calls them.

#define _GNU_SOURCE
#include "process/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utmpx.h>

struct logins {
	struct utmpx *entries;
	size_t count, next;
	struct utmpx result; // of the last getutxent(), until the next
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all states; a leaf

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
	pthread_mutex_lock(&lock);
	free(logins->entries);
	logins->entries = NULL;
	logins->count = logins->next = 0;
	pthread_mutex_unlock(&lock);
}

static struct utmpx *next_entry(struct logins *logins)
{
	struct utmpx *ret = NULL;

	pthread_mutex_lock(&lock);
	if ((logins->entries || read_entries(logins)) && logins->next < logins->count) {
		logins->result = logins->entries[logins->next++];
		ret = &logins->result;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

static void logins_end(void *state)
{
	struct logins *logins = state;

	free(logins->entries);
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
	.end = logins_end,
	.lock = &lock,
};
