/* SPDX-License-Identifier: MIT */
/* The views of signals, as handlers and those who send signals read them. See signal_views.c. */
#ifndef GORGON_PROCESS_SIGNAL_VIEWS_H
#define GORGON_PROCESS_SIGNAL_VIEWS_H

#include "dispositions.h"

/* Between the two no view is freed that is in the list. They nest, and are safe in handlers. */
void gorgon_views_begin_read(void);
void gorgon_views_end_read(void);
/* Return when no other thread is between the two. */
void gorgon_views_wait_for_readers(void);
/* In a child of fork(), where no other thread goes on. */
void gorgon_views_in_child(void);

/* The view that the calling thread has entered, or NULL. */
struct gorgon_signals *gorgon_views_entered(void);
/* The view whose code runs on this thread, or NULL: that one, or the view of the namespace whose
 * code has started the thread. */
struct gorgon_signals *gorgon_views_of_thread(void);
/* Whether the calling thread is the view's. */
bool gorgon_views_is_here(const struct gorgon_signals *view);

/* What a handler needs to know of the action of a view, or of the host, for a signal. */
static inline action_word action_of(const struct gorgon_signals *view, int number)
{
	return __atomic_load_n(&view->words[number], __ATOMIC_ACQUIRE);
}

static inline action_word action_of_host(int number)
{
	return __atomic_load_n(&gorgon_dispositions.host_words[number], __ATOMIC_ACQUIRE);
}

#endif
