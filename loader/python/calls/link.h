/* SPDX-License-Identifier: MIT */
/* Circular lists through a member of what is listed. The caller has the lock that orders them. */
#ifndef GORGON_PYTHON_LINK_H
#define GORGON_PYTHON_LINK_H

struct gorgon_link {
	struct gorgon_link *prev, *next;
};

static inline void gorgon_link_init(struct gorgon_link *head)
{
	head->prev = head->next = head;
}

static inline void gorgon_link_add(struct gorgon_link *head, struct gorgon_link *link)
{
	link->prev = head;
	link->next = head->next;
	link->prev->next = link->next->prev = link;
}

static inline void gorgon_link_remove(struct gorgon_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

#endif
