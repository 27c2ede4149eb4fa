// SPDX-License-Identifier: MIT From what was seen of one thread to a stack in the profile:
// interpreter, thread, what it does, frames.

#define _GNU_SOURCE
#include "record.h"

#include <stdlib.h>

size_t python_frame_of(struct recording *recording, const struct python_frame *frame)
{
	size_t *found =
		map_find(&recording->python_map, (uintptr_t)frame->function, (uint64_t)frame->line);

	if (*found == MAP_NEW)
		*found = profile_frame(&recording->profile, FRAME_PYTHON, frame->function,
				       frame->file, frame->line);
	return *found;
}

static const char *state_name(enum kernel_state state, enum gil gil)
{
	if (gil == GIL_HELD)
		return state == THREAD_SLEEPS ? "[GIL, asleep]" : "[GIL]";
	if (gil == GIL_WAITED_FOR)
		return "[waits for the GIL]";
	return state == THREAD_SLEEPS ? "[idle]" : "[no GIL]";
}

void count_sample(struct recording *recording, struct watched *thread, const struct copy *copy,
		  enum kernel_state state, enum gil gil, const size_t *frames, size_t count)
{
	struct profile *profile = &recording->profile;
	size_t label =
		copy ? copy->label : profile_frame(profile, FRAME_INTERP, "no interpreter", "", 0);

	thread->node = profile_node(profile, 0, label);
	thread->node = profile_node(profile, thread->node, thread->thread_frame);
	thread->node =
		profile_node(profile, thread->node,
			     profile_frame(profile, FRAME_STATE, state_name(state, gil), "", 0));
	for (size_t i = count; i; i--)
		thread->node = profile_node(profile, thread->node, frames[i - 1]);
	if (!thread->has_track) {
		char *name = format("%s, %s", profile->frames[label].name,
				    profile->frames[thread->thread_frame].name);

		thread->track = profile_track(profile, name);
		thread->has_track = true;
		free(name);
	}
	profile_count(profile, thread->track, thread->node);
}
