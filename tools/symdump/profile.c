// SPDX-License-Identifier: MIT Counting stacks. Frames with one text are one frame, whichever
// interpreter they are of; what is kept is limited, because the target may make up a new name for
// each sample.

#define _GNU_SOURCE
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#define NODE_MAX 2000000
#define RUN_MAX  20000000

void profile_init(struct profile *profile, const char *target, double period)
{
	*profile = (struct profile){.target = target, .period = period};
	profile->nodes = grow(profile->nodes, 0, sizeof(*profile->nodes));
	profile->nodes[profile->node_count++] = (struct profile_node){0};
}

void profile_deinit(struct profile *profile)
{
	for (size_t i = 0; i < profile->frame_count; i++) {
		free(profile->frames[i].name);
		free(profile->frames[i].file);
	}
	for (size_t i = 0; i < profile->track_count; i++) {
		free(profile->tracks[i].name);
		free(profile->tracks[i].runs);
	}
	free(profile->frames);
	free(profile->nodes);
	free(profile->tracks);
	map_deinit(&profile->frame_map);
	map_deinit(&profile->node_map);
	*profile = (struct profile){0};
}

// Fowler, Noll and Vo's, of 64 bits.
static uint64_t profile_hash(uint64_t value, const char *text)
{
	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (value ^ 0xff) * UINT64_C(0x100000001b3);
}

size_t profile_frame(struct profile *profile, enum frame_kind kind, const char *name,
		     const char *file, int line)
{
	uint64_t key = profile_hash(profile_hash(UINT64_C(0xcbf29ce484222325), name), file) ^
		       (uint64_t)line << 8 ^ kind;

	// Names that differ may have one key.
	for (uint64_t probe = 0;; probe++) {
		size_t *found = map_find(&profile->frame_map, key, probe);
		const struct profile_frame *frame =
			*found == MAP_NEW ? NULL : &profile->frames[*found];

		if (!frame) {
			*found = profile->frame_count;
			profile->frames = grow(profile->frames, profile->frame_count,
					       sizeof(*profile->frames));
			profile->frames[profile->frame_count++] = (struct profile_frame){
				kind, format("%s", name), format("%s", file), line};
			return *found;
		}
		if (frame->kind == kind && frame->line == line && !strcmp(frame->name, name) &&
		    !strcmp(frame->file, file))
			return *found;
	}
}

size_t profile_node(struct profile *profile, size_t parent, size_t frame)
{
	size_t *found;

	if (profile->node_count == NODE_MAX) {
		profile->is_full = true;
		return parent;
	}
	found = map_find(&profile->node_map, parent, frame);
	if (*found == MAP_NEW) {
		*found = profile->node_count;
		profile->nodes = grow(profile->nodes, profile->node_count, sizeof(*profile->nodes));
		profile->nodes[profile->node_count++] = (struct profile_node){parent, frame, 0};
	}
	return *found;
}

size_t profile_track(struct profile *profile, const char *name)
{
	profile->tracks = grow(profile->tracks, profile->track_count, sizeof(*profile->tracks));
	profile->tracks[profile->track_count] = (struct profile_track){.name = format("%s", name)};
	return profile->track_count++;
}

void profile_count(struct profile *profile, size_t track, size_t node)
{
	struct profile_track *to = &profile->tracks[track];

	profile->nodes[node].count++;
	if (to->run_count && to->runs[to->run_count - 1].node == node) {
		to->runs[to->run_count - 1].count++;
		return;
	}
	if (profile->run_count == RUN_MAX) {
		profile->is_full = true;
		return;
	}
	to->runs = grow(to->runs, to->run_count, sizeof(*to->runs));
	to->runs[to->run_count++] = (struct profile_run){node, 1};
	profile->run_count++;
}
