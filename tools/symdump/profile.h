/* SPDX-License-Identifier: MIT */
/*
 * Stacks that were seen, counted: a tree with a node for each different stack, and for each thread
 * the order in which it was seen in them.
 */
#ifndef GORGON_SYMDUMP_PROFILE_H
#define GORGON_SYMDUMP_PROFILE_H

#include "symdump.h"

enum frame_kind {
	FRAME_INTERP,
	FRAME_THREAD,
	FRAME_STATE, /* "[GIL]" and the like */
	FRAME_PYTHON,
	FRAME_NATIVE,
};

struct profile_frame {
	enum frame_kind kind;
	char *name; /* clean */
	char *file; /* clean; of a native frame its library; or "" */
	int line;   /* 0: unknown */
};

struct profile_node {
	size_t parent, frame; /* both are 0 in the root, which is node 0 */
	size_t count;         /* samples that ended here */
};

/* How many samples in a row had this stack. */
struct profile_run {
	size_t node, count;
};

struct profile_track {
	char *name;
	struct profile_run *runs;
	size_t run_count;
};

struct profile {
	const char *target; /* its name, which must outlive the profile */
	double period;      /* seconds between two samples */
	struct profile_frame *frames;
	size_t frame_count;
	struct profile_node *nodes;
	size_t node_count;
	struct profile_track *tracks;
	size_t track_count;
	size_t run_count; /* of all tracks */
	bool is_full;     /* there were more stacks than are kept: recording is to end */
	struct map frame_map, node_map;
};

void profile_init(struct profile *profile, const char *target, double period);
void profile_deinit(struct profile *profile);
/* Each returns the number of an equal item, or of a new item. @name and @file are copied. */
size_t profile_frame(struct profile *profile, enum frame_kind kind, const char *name,
		     const char *file, int line);
size_t profile_node(struct profile *profile, size_t parent, size_t frame);
/* Adds a track. */
size_t profile_track(struct profile *profile, const char *name);
/* A sample of the thread whose track it is. */
void profile_count(struct profile *profile, size_t track, size_t node);

/* profile_print.c, flame.c: to standard output. */
void print_collapsed(const struct profile *profile);
void print_speedscope(const struct profile *profile);
void print_flame_graph(const struct profile *profile);

#endif
