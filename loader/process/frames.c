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
#include "ns/ns.h"

#include <stdlib.h>

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);

void gorgon_frames_register(void *begin, struct gorgon_ns *ns)
{
	void **grown;

	gorgon_lock();
	grown = reallocarray(ns->frames, ns->frames_count + 1, sizeof(*grown));
	// Without memory an exception ends at such code. What nobody takes back ends the process.
	if (grown) {
		ns->frames = grown;
		grown[ns->frames_count++] = begin;
		__register_frame(begin);
	}
	gorgon_unlock();
}

void gorgon_frames_deregister(void *begin, struct gorgon_ns *ns)
{
	gorgon_lock();
	for (size_t i = ns->frames_count; i--;) {
		if (ns->frames[i] != begin)
			continue;
		ns->frames[i] = ns->frames[--ns->frames_count];
		__deregister_frame(begin);
		break;
	}
	gorgon_unlock();
}

void gorgon_frames_drop(struct gorgon_ns *ns)
{
	while (ns->frames_count)
		__deregister_frame(ns->frames[--ns->frames_count]);
	free(ns->frames);
	ns->frames = NULL;
}
