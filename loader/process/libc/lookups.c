// SPDX-License-Identifier: MIT
// Look-ups in the C library's databases that answer in one place of the process: getpwnam(),
// getservbyname(), gethostbyname() and the like, and those that read one entry of a file.
//
// The C library's reentrant function does the work, without a lock of ours, because it may ask a
// server and take half a minute. Its result is kept in a place of the namespace, one for each
// function as in the C library, where it stays until the next call.
//
// Not handled: lckpwdf(), one lock of the process by design.

#define _GNU_SOURCE
#include "buffer.h"
#include "process/part.h"

#include <errno.h>
#include <grp.h>
#include <mntent.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <shadow.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// Each function has a place for its result. @F(function, type, parameters, arguments) is a function
// without an h_errno, @H with an h_errno. A result is a `struct type`.
#define LOOKUPS(F, H)                                                                              \
	F(getpwnam, passwd, (const char *name, struct lookups *state), name)                       \
	F(getpwuid, passwd, (uid_t uid, struct lookups * state), uid)                              \
	F(getgrnam, group, (const char *name, struct lookups *state), name)                        \
	F(getgrgid, group, (gid_t gid, struct lookups * state), gid)                               \
	F(getspnam, spwd, (const char *name, struct lookups *state), name)                         \
	F(getservbyname, servent, (const char *name, const char *protocol, struct lookups *state), \
	  name, protocol)                                                                          \
	F(getservbyport, servent, (int port, const char *protocol, struct lookups *state), port,   \
	  protocol)                                                                                \
	F(getprotobyname, protoent, (const char *name, struct lookups *state), name)               \
	H(gethostbyname, hostent, (const char *name, struct lookups *state), name)                 \
	H(gethostbyaddr, hostent,                                                                  \
	  (const void *addr, socklen_t size, int family, struct lookups *state), addr, size,       \
	  family)

#define PLACE(function, type, parameters, ...) \
	struct type function;                  \
	struct gorgon_buffer function##_buffer;

struct lookups {
	LOOKUPS(PLACE, PLACE)
	PLACE(getmntent, mntent, )
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the results; a leaf

// The program keeps the last result of each function: this copies @found to @place, and puts the
// buffer with the result's strings in place of the buffer of the result before.
static void *lookups_keep(void *place, const void *found, size_t size, struct gorgon_buffer *its,
			  struct gorgon_buffer *buffer)
{
	pthread_mutex_lock(&lock);
	gorgon_buffer_free(its);
	*its = *buffer;
	memcpy(place, found, size);
	pthread_mutex_unlock(&lock);
	return place;
}

#define KEEP(function) \
	lookups_keep(&state->function, &entry, sizeof(entry), &state->function##_buffer, &buffer)

#define LOOKUP(function, type, parameters, ...)                                            \
	static struct type *own_##function parameters                                      \
	{                                                                                  \
		struct gorgon_buffer buffer = {0};                                         \
		struct type entry, *found;                                                 \
		int code;                                                                  \
                                                                                           \
		do {                                                                       \
			found = NULL;                                                      \
			if (!gorgon_buffer_grow(&buffer))                                  \
				return NULL;                                               \
			code = function##_r(__VA_ARGS__, &entry, buffer.data, buffer.size, \
					    &found);                                       \
		} while (code == ERANGE);                                                  \
		if (found)                                                                 \
			return KEEP(function);                                             \
		gorgon_buffer_free(&buffer);                                               \
		return NULL;                                                               \
	}

#define LOOKUP_WITH_HOST_ERROR(function, type, parameters, ...)                                    \
	static struct type *own_##function parameters                                              \
	{                                                                                          \
		struct gorgon_buffer buffer = {0};                                                 \
		struct type entry, *found;                                                         \
		int code, host_error;                                                              \
                                                                                                   \
		do {                                                                               \
			found = NULL;                                                              \
			host_error = 0;                                                            \
			if (!gorgon_buffer_grow(&buffer)) {                                        \
				h_errno = NETDB_INTERNAL;                                          \
				return NULL;                                                       \
			}                                                                          \
			code = function##_r(__VA_ARGS__, &entry, buffer.data, buffer.size, &found, \
					    &host_error);                                          \
		} while (code == ERANGE && host_error == NETDB_INTERNAL);                          \
		if (host_error)                                                                    \
			h_errno = host_error;                                                      \
		if (found)                                                                         \
			return KEEP(function);                                                     \
		gorgon_buffer_free(&buffer);                                                       \
		return NULL;                                                                       \
	}

LOOKUPS(LOOKUP, LOOKUP_WITH_HOST_ERROR)

#define MOUNT_LINE 4096 // the rest of a longer line is lost, as in the C library

static struct mntent *own_getmntent(FILE *file, struct lookups *state)
{
	struct gorgon_buffer buffer = {malloc(MOUNT_LINE), MOUNT_LINE};
	struct mntent entry;

	if (buffer.data && getmntent_r(file, &entry, buffer.data, MOUNT_LINE))
		return KEEP(getmntent);
	gorgon_buffer_free(&buffer);
	return NULL;
}

// --- the part ---------------------------------------------------------------------------------

static void lookups_end(void *of)
{
	struct lookups *state = of;

#define FREE(function, type, parameters, ...) gorgon_buffer_free(&state->function##_buffer);
	LOOKUPS(FREE, FREE)
	gorgon_buffer_free(&state->getmntent_buffer);
}

#define WHY                                                                                       \
	"the C library answers in one place of the process; each program has its own, until its " \
	"next call"

// Count a function's arguments by the arguments of its call.
#define COUNT_(a, b, c, count, ...) count
#define COUNT(...)                  COUNT_(__VA_ARGS__, 3, 2, 1, 0)
// One row of the table of bound functions.
#define BOUND(function, type, parameters, ...) \
	{#function, own_##function, COUNT(__VA_ARGS__), 0, GORGON_OWN, WHY},

static const struct gorgon_bound bound[] = {
	LOOKUPS(BOUND, BOUND)
	{"getmntent", own_getmntent, 1, 0, GORGON_OWN, WHY},
};

const struct gorgon_part gorgon_lookups_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct lookups),
	.end = lookups_end,
	.lock = &lock,
};
