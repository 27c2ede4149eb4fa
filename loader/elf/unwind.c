// SPDX-License-Identifier: MIT
// Making .eh_frame of private objects known to the unwinder, so that C++ exceptions,
// pthread_cancel and backtrace() pass through private frames.
//
// The unwinder of the process is the shared libgcc_s, which finds frames through
// _dl_find_object or dl_iterate_phdr - neither of which knows private objects - and
// through what was registered by hand. __register_frame walks to the terminating zero
// length, whose existence image.c has checked; an object without one is loaded
// without unwind data.

#include "object.h"

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);

static void *frames(const struct gorgon_object *object)
{
	return (void *)(uintptr_t)(object->bias + object->image->eh_frame_vaddr);
}

void gorgon_unwind_register(struct gorgon_object *object)
{
	if (!object->image->eh_frame_vaddr)
		return;
	__register_frame(frames(object));
	object->frames_registered = true;
}

void gorgon_unwind_unregister(struct gorgon_object *object)
{
	if (!object->frames_registered)
		return;
	__deregister_frame(frames(object));
	object->frames_registered = false;
}
