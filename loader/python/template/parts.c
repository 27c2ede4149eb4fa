// SPDX-License-Identifier: MIT
// What an interpreter has of the process beside its memory: the states of parts (../process). A
// copy has those that are registered again (template/copy.c), and those that their parts copy;
// every other must be as it is in a namespace in which no code has run. So a part that is added
// later refuses, until somebody makes it copy.

#include "parts.h"
#include "state.h"
#include "base/error.h"
#include "ns/ns.h"
#include "process/hidden_traceback.h"
#include "process/interruption.h"
#include "process/kernel/files.h"
#include "process/libc/atexit.h"
#include "process/libc/streams.h"
#include "process/memory/heap.h"
#include "process/memory/memory.h"
#include "process/memory/zone_heap.h"
#include "process/part.h"

#include <stdlib.h>
#include <string.h>

// Their states differ, and a copy has what belongs there: functions for the end, memory, CPython's
// mutexes, which are made anew after a fork(), how the main thread is interrupted, what writes its
// Python lines, the time zone, and the files of a program. A stream that is open has a descriptor,
// which is seen elsewhere.
static bool is_copied(const struct gorgon_part *part)
{
	const struct gorgon_part *const copied[] = {
		&gorgon_atexit_part, &gorgon_memory_part,  &gorgon_zone_heap_part,
		&gorgon_heap_part,   &gorgon_parking_part, &gorgon_interruption_part,
		&gorgon_files_part,  &gorgon_streams_part, &gorgon_time_zone,
		&gorgon_hidden_traceback_part};

	for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++)
		if (copied[i] == part)
			return true;
	return false;
}

// An address in the namespace, or in one of its states or at its end, is another one in the other.
static uint64_t in_other(const struct gorgon_ns *from, const struct gorgon_ns *to, uint64_t word)
{
	if (word - (uintptr_t)from < sizeof(*from))
		return word - (uintptr_t)from + (uintptr_t)to;
	for (size_t i = 0; gorgon_parts[i]; i++)
		if (gorgon_parts[i]->state_size &&
		    word - (uintptr_t)from->parts[i].state <= gorgon_parts[i]->state_size)
			return word - (uintptr_t)from->parts[i].state +
			       (uintptr_t)to->parts[i].state;
	return word;
}

// Where code has changed it, or its size.
static size_t find_change(const struct gorgon_ns *ns, const struct gorgon_ns *fresh, size_t part)
{
	size_t at;

	for (at = 0; at + sizeof(uint64_t) <= gorgon_parts[part]->state_size;
	     at += sizeof(uint64_t)) {
		uint64_t word, other;

		memcpy(&word, (const char *)ns->parts[part].state + at, sizeof(word));
		memcpy(&other, (const char *)fresh->parts[part].state + at, sizeof(other));
		if (word != other && in_other(ns, fresh, word) != other)
			return at;
	}
	return gorgon_parts[part]->state_size;
}

// The first of the functions that get this place of the state.
static const char *name_function(const struct gorgon_part *part, size_t at)
{
	const struct gorgon_bound *found = NULL;

	for (size_t i = 0; i < part->bound_count; i++)
		if (part->bound[i].offset <= at &&
		    (!found || part->bound[i].offset > found->offset))
			found = &part->bound[i];
	return found ? found->name : "a part";
}

struct gorgon_error *gorgon_template_check_parts(const struct gorgon_ns *ns,
						 const struct gorgon_ns *fresh)
{
	for (size_t i = 0; gorgon_parts[i]; i++) {
		const struct gorgon_part *part = gorgon_parts[i];

		size_t at = find_change(ns, fresh, i);

		if (part->copy || is_copied(part) || at == part->state_size)
			continue;
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"template: it has used %s(), or another function with the same state, "
			"which copies do not have",
			name_function(part, at));
	}
	return NULL;
}

static void *stays(void *ctx, void *addr)
{
	(void)ctx;
	return addr;
}

bool gorgon_template_keep_parts(struct gorgon_template *template, const struct gorgon_ns *ns)
{
	size_t count = 0;

	while (gorgon_parts[count])
		count++;
	template->states = calloc(count, sizeof(*template->states));
	for (size_t i = 0; template->states && i < count; i++) {
		const struct gorgon_part *part = gorgon_parts[i];

		if (!part->copy)
			continue;
		template->states[i] = calloc(1, part->state_size);
		if (!template->states[i] ||
		    !part->copy(template->states[i], ns->parts[i].state, stays, NULL))
			return false;
	}
	return template->states;
}

bool gorgon_template_copy_parts(const struct gorgon_template *template, const struct gorgon_ns *ns,
				gorgon_moved_fn *moved, void *ctx)
{
	for (size_t i = 0; gorgon_parts[i]; i++)
		if (gorgon_parts[i]->copy &&
		    !gorgon_parts[i]->copy(ns->parts[i].state, template->states[i], moved, ctx))
			return false;
	return true;
}

void gorgon_template_free_parts(struct gorgon_template *template)
{
	for (size_t i = 0; template->states && gorgon_parts[i]; i++) {
		if (template->states[i] && gorgon_parts[i]->end)
			gorgon_parts[i]->end(template->states[i]);
		free(template->states[i]);
	}
	free(template->states);
}
