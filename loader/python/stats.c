// SPDX-License-Identifier: MIT
// Resident memory of a namespace's objects, from /proc/self/smaps (proc(5)).
//
// A page that was written (relocations, data) is anonymous from then on and belongs
// to this copy alone; all other resident pages are the file's and shared with every
// copy and process. Heap memory is the process's and not counted here.

#define _GNU_SOURCE
#include "../elf/error.h"
#include "interp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct ranges {
	struct {
		uint64_t start, end;
	} *list;
	size_t count;
	bool failed;
};

static bool add_range(void *ctx, struct gorgon_object *object)
{
	struct ranges *ranges = ctx;
	struct gorgon_object_info info;
	void *grown = reallocarray(ranges->list, ranges->count + 1, sizeof(*ranges->list));

	if (!grown) {
		ranges->failed = true;
		return false;
	}
	ranges->list = grown;
	gorgon_object_get_info(object, &info);
	ranges->list[ranges->count].start = info.start;
	ranges->list[ranges->count++].end = info.end;
	return true;
}

static bool contains(const struct ranges *ranges, uint64_t addr)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (addr >= ranges->list[i].start && addr < ranges->list[i].end)
			return true;
	return false;
}

static void add_up(FILE *in, const struct ranges *ranges, uint64_t *rss, uint64_t *anonymous)
{
	char *line = NULL;
	size_t size = 0;
	bool ours = false;

	while (getline(&line, &size, in) > 0) {
		unsigned long start, end, kilobytes;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			ours = contains(ranges, start);
		else if (ours && sscanf(line, "Rss: %lu", &kilobytes) == 1)
			*rss += kilobytes * 1024;
		else if (ours && sscanf(line, "Anonymous: %lu", &kilobytes) == 1)
			*anonymous += kilobytes * 1024;
	}
	free(line);
}

struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, uint64_t *private_bytes,
					 uint64_t *shared_bytes)
{
	uint64_t rss = 0, anonymous = 0;
	struct ranges ranges = {0};
	FILE *in;

	gorgon_ns_for_each_object(ns, add_range, &ranges);
	if (ranges.failed) {
		free(ranges.list);
		return &gorgon_error_nomem;
	}
	in = fopen("/proc/self/smaps", "re");
	if (!in) {
		free(ranges.list);
		return gorgon_error_create_os(errno, "/proc/self/smaps");
	}
	add_up(in, &ranges, &rss, &anonymous);
	fclose(in);
	free(ranges.list);
	*private_bytes = anonymous;
	*shared_bytes = rss - anonymous;
	return NULL;
}
