// SPDX-License-Identifier: MIT
// Python lines of a thread, from a libpython that does not export what writes them.
//
// CPython's function that writes a thread's Python lines, and is made for handlers of signals, is
// exported by 3.11 and 3.12 under a private name and by 3.15 under a public one. 3.13 and 3.14 keep
// it for their faulthandler. Its handler of signals calls it: so the module is asked to register
// its handler for a signal that no program can have (python/calls/traceback.c), the handler is
// remembered instead of installed, and called when lines are wanted. It writes them to the
// descriptor with which it was registered. While it is called, the calls of write() that libpython
// makes on this thread go to the descriptor that is wanted.

#define _GNU_SOURCE
#include "hidden_traceback.h"
#include "part.h"
#include "image/symbol.h"
#include "ns/ns.h"
#include "process/libc/output.h"

#include <unistd.h>

struct gorgon_hidden_traceback {
	struct gorgon_ns *ns;
	void (*handler)(int); // atomic
	int number;
};

// a descriptor plus 1, or 0
static __thread int lines_to __attribute__((tls_model("initial-exec")));

static bool traceback_begin(void *state, struct gorgon_ns *ns)
{
	((struct gorgon_hidden_traceback *)state)->ns = ns;
	return true;
}

static ssize_t write_of_python(int fd, const void *data, size_t size,
			       struct gorgon_hidden_traceback *state)
{
	if (lines_to)
		return write(lines_to - 1, data, size);
	return state->ns->opts.write_output ? gorgon_output_write(fd, data, size, state->ns)
					    : write(fd, data, size);
}

static bool exports(const struct gorgon_image *libpython, const char *name)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, NULL);

	return gorgon_symbol_find(libpython, &query);
}

bool gorgon_hidden_traceback_is(const struct gorgon_image *libpython)
{
	return !exports(libpython, "PyUnstable_DumpTraceback") &&
	       !exports(libpython, "_Py_DumpTraceback");
}

void gorgon_hidden_traceback_set(struct gorgon_hidden_traceback *state, void (*handler)(int),
				 int number)
{
	state->number = number;
	__atomic_store_n(&state->handler, handler, __ATOMIC_RELEASE);
}

void (*gorgon_hidden_traceback_get(const struct gorgon_hidden_traceback *state))(int)
{
	return __atomic_load_n(&state->handler, __ATOMIC_ACQUIRE);
}

bool gorgon_hidden_traceback_write(struct gorgon_hidden_traceback *state, int fd)
{
	void (*handler)(int) = __atomic_load_n(&state->handler, __ATOMIC_ACQUIRE);

	if (!handler)
		return false;
	lines_to = fd + 1;
	handler(state->number);
	lines_to = 0;
	return true;
}

static const struct gorgon_bound bound[] = {
	{"write", write_of_python, 3, 0, GORGON_OWN,
	 "faulthandler of CPython 3.13 and 3.14 writes where a thread is to a report's descriptor"},
};

const struct gorgon_part gorgon_hidden_traceback_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_hidden_traceback),
	.begin = traceback_begin,
	.when = GORGON_WHEN_HIDDEN_TRACEBACK,
	.title = "Python lines of a thread",
	.loader_only = true,
};
