// SPDX-License-Identifier: MIT A thread's end: its state is released in such an order that each
// part is there as long as others use it.

#define _GNU_SOURCE
#include "thread_exit.h"
#include "altstack.h"
#include "tsd.h"
#include "thread_dtors.h"
#include "ns/ns.h"
#include "ns/tls.h"
#include "process/memory/zone_heap.h"

#include <stdlib.h>
#include <unistd.h>

static void free_thread(struct gorgon_thread *thread)
{
	gorgon_tls_free_blocks(thread);
	gorgon_thread_free_dtors(thread);
	free(thread->slots);
	free(thread->values);
	free(thread->dl_error);
	free(thread->dl_error_shown);
	gorgon_altstack_free(thread);
	free(thread);
}

void gorgon_thread_on_exit(struct gorgon_thread *thread, bool last)
{
	if (!last) {
		if (thread->ns && !thread->exit_round)
			gorgon_zone_heap_note_thread(thread->ns->usage.zone_heap,
						     (uint64_t)thread->pthread);
		gorgon_tsd_at_thread_exit(thread);
		return;
	}
	gorgon_altstack_disable(thread);
	free_thread(thread);
}

void gorgon_thread_after_fork(void)
{
	struct gorgon_thread *next;

	for (struct gorgon_thread *thread = gorgon_thread_next(NULL); thread; thread = next) {
		next = gorgon_thread_next(thread);
		if (thread == gorgon_thread_current)
			continue;
		gorgon_thread_unlink(thread);
		free_thread(thread);
	}
	if (gorgon_thread_current)
		gorgon_thread_current->tid = (uint64_t)gettid();
}
