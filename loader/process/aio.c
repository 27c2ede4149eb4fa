// SPDX-License-Identifier: MIT
// Asynchronous input and output (aio(7)) for programs with descriptors of their own: there is none.
//
// The C library does it on threads of its own, which have the descriptors of whoever was the first
// to ask for something. For another program the number that it names means another file there,
// which would be read or overwritten. So a request of a program with descriptors of its own fails
// with ENOSYS, as where the system does not support it. Interpreters that share the host's
// descriptors share its threads, too.

#define _GNU_SOURCE
#include "files.h"
#include "ns/ns.h"

#include <aio.h>
#include <errno.h>

struct state {
	const struct gorgon_own_files *files;
};

static bool aio_begin(void *state, struct gorgon_ns *ns)
{
	((struct state *)state)->files = gorgon_parts_state(ns->parts, &gorgon_files_part);
	return true;
}

static bool is_refused(const struct state *state)
{
	if (!__atomic_load_n(&state->files->own, __ATOMIC_ACQUIRE))
		return false;
	errno = ENOSYS;
	return true;
}

static int own_aio_read(struct aiocb *request, const struct state *state)
{
	return is_refused(state) ? -1 : aio_read(request);
}

static int own_aio_write(struct aiocb *request, const struct state *state)
{
	return is_refused(state) ? -1 : aio_write(request);
}

static int own_aio_fsync(int operation, struct aiocb *request, const struct state *state)
{
	return is_refused(state) ? -1 : aio_fsync(operation, request);
}

static int own_lio_listio(int mode, struct aiocb *const *list, int count, struct sigevent *event,
			  const struct state *state)
{
	return is_refused(state) ? -1 : lio_listio(mode, list, count, event);
}

#define BOUND(name, target, args)                                                                  \
	{                                                                                          \
		#name, target, args, 0, GORGON_OWN,                                                \
			"a program with descriptors of its own gets ENOSYS: the C library's threads " \
			"would use another's"                                                          \
	}

// off_t has 64 bits here, so names with 64 are the same functions.
static const struct gorgon_bound bound[] = {
	BOUND(aio_read, own_aio_read, 1),
	BOUND(aio_read64, own_aio_read, 1),
	BOUND(aio_write, own_aio_write, 1),
	BOUND(aio_write64, own_aio_write, 1),
	BOUND(aio_fsync, own_aio_fsync, 2),
	BOUND(aio_fsync64, own_aio_fsync, 2),
	BOUND(lio_listio, own_lio_listio, 4),
	BOUND(lio_listio64, own_lio_listio, 4),
};

const struct gorgon_part gorgon_aio_part = {
	.title = "Files and directories",
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct state),
	.begin = aio_begin,
};
