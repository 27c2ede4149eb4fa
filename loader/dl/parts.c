// SPDX-License-Identifier: MIT
// The list of parts, and their states in a namespace.

#include "ns/ns.h"
#include "process/hidden_traceback.h"
#include "process/interruption.h"
#include "process/kernel/children.h"
#include "process/kernel/exchange.h"
#include "process/kernel/exec.h"
#include "process/kernel/files.h"
#include "process/kernel/record_locks.h"
#include "process/kernel/timers.h"
#include "process/libc/atexit.h"
#include "process/libc/environment.h"
#include "process/libc/locales.h"
#include "process/libc/streams.h"
#include "process/memory/blocks.h"
#include "process/memory/frames.h"
#include "process/memory/heap.h"
#include "process/memory/jit_mirror.h"
#include "process/memory/malloc_family.h"
#include "process/memory/memory.h"
#include "process/memory/trampoline_file.h"
#include "process/memory/patch.h"
#include "process/part.h"
#include "process/memory/zone_heap.h"

#include <stdlib.h>

// In the order in which their locks are taken around fork(). At a program's end they stop in the
// opposite order, so that what still writes does so before gorgon_files_part closes the program's
// descriptors.
const struct gorgon_part *const gorgon_parts[] = {
	&gorgon_no_fork_part, // what is denied comes before what others do
	&gorgon_no_exec_part,
	&gorgon_locale_part,
	&gorgon_environment_part,
	&gorgon_own_environment_part,
	&gorgon_exec_part,
	&gorgon_trampoline_file_part,
	&gorgon_blocks_part,
	&gorgon_jit_mirror_part,
	&gorgon_hidden_traceback_part, // knows where output goes, too
	&gorgon_parking_part,          // libpython's pthread_create() comes before all others'
	&gorgon_loader_parts[0],
	&gorgon_loader_parts[1],
	&gorgon_loader_parts[2],
	&gorgon_loader_parts[3],
	&gorgon_loader_parts[4],
	&gorgon_atexit_part,
	&gorgon_frames_part,
	&gorgon_memory_part,
	&gorgon_zone_heap_part,
	// before malloc's part: the first entry that applies to a call counts, here libpython's
	&gorgon_heap_part,
	&gorgon_malloc_part,
	&gorgon_files_part,
	&gorgon_streams_part,
	&gorgon_exchange_part,
	&gorgon_record_locks,
	&gorgon_databases_part,
	&gorgon_lookups_part,
	&gorgon_logins,
	&gorgon_time_zone,
	&gorgon_syslog,
	&gorgon_text_domains,
	&gorgon_random_numbers,
	&gorgon_static_results,
	&gorgon_children_part,
	&gorgon_proc_paths_part, // knows descriptors, streams and children
	&gorgon_timers_part,
	&gorgon_interruption_part,
	&gorgon_hanging_part,
	&gorgon_semaphores_part,
	&gorgon_patch_part,
	NULL,
};

#define COUNT (sizeof(gorgon_parts) / sizeof(*gorgon_parts) - 1)

// End the first @count parts, in reverse order.
static void parts_end(struct gorgon_part_state *states, size_t count)
{
	while (count--) {
		if (states[count].part->end)
			states[count].part->end(states[count].state);
		if (states[count].part->state_size)
			free(states[count].state);
	}
	free(states);
}

struct gorgon_part_state *gorgon_parts_begin(struct gorgon_ns *ns)
{
	struct gorgon_part_state *states = calloc(COUNT, sizeof(*states));

	ns->parts = states; // set early: a part may use the states of the parts before it
	for (size_t i = 0; states && i < COUNT; i++) {
		const struct gorgon_part *part = gorgon_parts[i];

		states[i].part = part;
		states[i].state = part->state_size ? calloc(1, part->state_size) : ns;
		if (states[i].state && (!part->begin || part->begin(states[i].state, ns)))
			continue;
		if (part->state_size)
			free(states[i].state);
		parts_end(states, i);
		ns->parts = NULL;
		return NULL;
	}
	return states;
}

void gorgon_parts_stop(const struct gorgon_part_state *states)
{
	for (size_t i = COUNT; i-- > 0;)
		if (states[i].part->stop)
			states[i].part->stop(states[i].state);
}

void gorgon_parts_end(struct gorgon_part_state *states)
{
	if (states)
		parts_end(states, COUNT);
}

void gorgon_parts_before_fork(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (gorgon_parts[i]->lock)
			pthread_mutex_lock(gorgon_parts[i]->lock);
		if (gorgon_parts[i]->before_fork)
			gorgon_parts[i]->before_fork();
	}
}

void gorgon_parts_after_fork(bool child)
{
	for (size_t i = COUNT; i-- > 0;) {
		if (gorgon_parts[i]->after_fork)
			gorgon_parts[i]->after_fork(child);
		if (gorgon_parts[i]->lock)
			pthread_mutex_unlock(gorgon_parts[i]->lock);
	}
}

void gorgon_parts_in_child(const struct gorgon_part_state *states)
{
	for (size_t i = 0; i < COUNT; i++)
		if (states[i].part->in_child)
			states[i].part->in_child(states[i].state);
}
