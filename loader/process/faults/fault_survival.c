// SPDX-License-Identifier: MIT
// Whether a process may go on after a fault of private code.
//
// A thread that leaves the code for good keeps its locks. Locks of the interpreter's own libraries
// do not matter: the interpreter is abandoned. Locks of the process do: of malloc(), of the
// system's linker, of this library, of the host. The frames between the fault and the private code
// that has called there tell: if there are none, no such lock is held, as if private code had
// returned to its caller. Functions that the C library has for memory and strings take none, and
// call no other function: one frame of the C library that is no allocator's passes, too. abort() is
// called on top of more frames (assert(), uncaught exceptions of C++); it passes unless one of
// these is an allocator's or ours.

#define _GNU_SOURCE
#include "fault_survival.h"
#include "fault_symbol.h"
#include "ns/ns.h"

#include <string.h>

// Exported names; functions inside of them have none.
static bool is_locking(const char *function)
{
	static const char *const names[] = {
		"malloc",       "free",     "calloc",         "realloc",
		"reallocarray", "memalign", "posix_memalign", "aligned_alloc",
		"valloc",       "pvalloc",  "malloc_trim",    "malloc_usable_size",
		"mallinfo2",    "cfree",    "free_sized",     "free_aligned_sized",
		"dlopen",       "dlclose",  "dlsym",          "dl_iterate_phdr",
		"fork",         "exit"};

	for (size_t i = 0; function && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(function, names[i]) ||
		    (!strncmp(function, "__libc_", 7) && !strcmp(function + 7, names[i])))
			return true;
	return false;
}

static bool is_libc(const struct gorgon_fault_symbol *place)
{
	return gorgon_fault_symbol_is_in(place, "libc.so") ||
	       gorgon_fault_symbol_is_in(place, "libm.so");
}

// The frame that the first signal has interrupted: a handler may have handed the fault on by
// raising it again.
static size_t first_frame(const struct gorgon_frame *frames, size_t count)
{
	size_t ret = 0;

	for (size_t i = 0; i < count; i++)
		if (frames[i].interrupted)
			ret = i;
	return ret;
}

bool gorgon_fault_may_go_on(const struct gorgon_frame *frames, size_t count, bool own,
			    const struct gorgon_ns *ns)
{
	size_t first = first_frame(frames, count);
	struct gorgon_fault_symbol here, place;

	gorgon_fault_symbol_find((uintptr_t)gorgon_fault_may_go_on, &here);
	for (size_t i = first; i < count; i++) {
		gorgon_fault_symbol_find(frames[i].pc - !frames[i].interrupted, &place);
		if (place.ns)
			return place.ns == ns;
		// Code that was compiled while the program runs is the program's.
		if (!place.object)
			continue;
		if (is_locking(place.function) ||
		    (here.object && !strcmp(place.object, here.object)))
			return false;
		if (!own && (i > first || !is_libc(&place)))
			return false;
	}
	return false;
}
