// SPDX-License-Identifier: MIT
// Unwind data that private code has registered, so that it goes with the namespace.
//
// A compiler (LLVM, under numba) tells the unwinder of the process about code that it has
// made, and does not take it back when Python just ends. Its memory goes with the namespace
// (memory.c); the unwinder would go on to read it in whatever throws or ends a thread next.
//
// Not handled: __register_frame_info and its like, which only the start-up code of systems
// without .eh_frame_hdr calls.
//
// The lists are under the loader's lock.
//
// Specification: none; libgcc, unwind-dw2-fde.c.

#include "frames.h"
#include "base/lock.h"

#include <stdlib.h>

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);

struct gorgon_frames {
	void **list;
	size_t count;
};

static void register_frame(void *begin, struct gorgon_frames *frames)
{
	void **grown;

	gorgon_lock();
	grown = reallocarray(frames->list, frames->count + 1, sizeof(*grown));
	// Without memory it is not registered: an exception then ends at such code. To register
	// what nobody takes back would be worse: it would crash the process.
	if (grown) {
		frames->list = grown;
		grown[frames->count++] = begin;
		__register_frame(begin);
	}
	gorgon_unlock();
}

static void deregister_frame(void *begin, struct gorgon_frames *frames)
{
	gorgon_lock();
	for (size_t i = frames->count; i--;) {
		if (frames->list[i] != begin)
			continue;
		frames->list[i] = frames->list[--frames->count];
		__deregister_frame(begin);
		break;
	}
	gorgon_unlock();
}

void gorgon_frames_drop(struct gorgon_frames *frames)
{
	while (frames->count)
		__deregister_frame(frames->list[--frames->count]);
	free(frames->list);
	frames->list = NULL;
}

static const struct gorgon_bound bound[] = {
	{"__register_frame", register_frame, 1, 0, GORGON_OWN,
	 "a compiler that does not take it back leaves the unwinder with unmapped memory"},
	{"__deregister_frame", deregister_frame, 1, 0, GORGON_OWN, "as __register_frame"},
};

const struct gorgon_part gorgon_frames_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_frames),
	.loader_only = true,
};
