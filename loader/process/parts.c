// SPDX-License-Identifier: MIT
// The list of parts, and their states in a namespace.

#include "children.h"
#include "exchange.h"
#include "files.h"
#include "part.h"
#include "patch.h"
#include "record_locks.h"
#include "streams.h"
#include "timers.h"
#include "../elf/ns.h"

#include <stdlib.h>

// In the order in which their locks are taken around fork(). At a program's end the last one
// stops first, and its descriptors are closed last.
const struct gorgon_part *const gorgon_parts[] = {
	&gorgon_files_part,
	&gorgon_streams_part,
	&gorgon_proc_paths_part,
	&gorgon_aio_part,
	&gorgon_exchange_part,
	&gorgon_record_locks,
	&gorgon_databases_part,
	&gorgon_lookups_part,
	&gorgon_utmp_part,
	&gorgon_answers_part,
	&gorgon_hash_table_part,
	&gorgon_time_zone,
	&gorgon_syslog,
	&gorgon_text_domains,
	&gorgon_random_numbers,
	&gorgon_multibyte,
	&gorgon_small_state,
	&gorgon_options,
	&gorgon_children_part,
	&gorgon_timers_part,
	&gorgon_patch_part,
	NULL,
};
const size_t gorgon_part_count = sizeof(gorgon_parts) / sizeof(*gorgon_parts) - 1;

// Of the first @count parts, the last one first.
static void end(void **states, size_t count)
{
	while (count--) {
		if (gorgon_parts[count]->end)
			gorgon_parts[count]->end(states[count]);
		if (gorgon_parts[count]->state_size)
			free(states[count]);
	}
	free(states);
}

void **gorgon_parts_begin(struct gorgon_ns *ns)
{
	void **states = calloc(gorgon_part_count + 1, sizeof(*states));

	ns->parts = states; // where a part finds those before it
	for (size_t i = 0; states && i < gorgon_part_count; i++) {
		const struct gorgon_part *part = gorgon_parts[i];

		states[i] = part->state_size ? calloc(1, part->state_size) : ns;
		if (states[i] && (!part->begin || part->begin(states[i], ns)))
			continue;
		if (part->state_size)
			free(states[i]);
		end(states, i);
		ns->parts = NULL;
		return NULL;
	}
	return states;
}

void gorgon_parts_stop(void **states)
{
	for (size_t i = gorgon_part_count; i-- > 0;)
		if (gorgon_parts[i]->stop)
			gorgon_parts[i]->stop(states[i]);
}

void gorgon_parts_end(void **states)
{
	if (states)
		end(states, gorgon_part_count);
}

void *gorgon_parts_state(void **states, const struct gorgon_part *part)
{
	size_t i = 0;

	while (gorgon_parts[i] != part)
		i++;
	return states[i];
}

void gorgon_parts_before_fork(void)
{
	for (size_t i = 0; i < gorgon_part_count; i++)
		if (gorgon_parts[i]->before_fork)
			gorgon_parts[i]->before_fork();
}

void gorgon_parts_after_fork(bool child)
{
	for (size_t i = gorgon_part_count; i-- > 0;)
		if (gorgon_parts[i]->after_fork)
			gorgon_parts[i]->after_fork(child);
}

void gorgon_parts_in_child(void **states)
{
	for (size_t i = 0; i < gorgon_part_count; i++)
		if (gorgon_parts[i]->in_child)
			gorgon_parts[i]->in_child(states[i]);
}
