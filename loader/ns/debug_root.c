// SPDX-License-Identifier: MIT
// The writer of gorgon_debug_root: two levels of doubly linked lists under a
// sequence lock. The format is described in debug_root.h.
//
// Addresses are stored as integers, so each list step goes through a cast; the
// entries are embedded in the loader's own structures and never move.

#define _GNU_SOURCE
#include "debug_writer.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

// Protected: a host that defines the same name by accident must not capture our
// own references, and debuggers find it in .dynsym even when we are stripped.
__attribute__((visibility("protected"))) struct gorgon_debug_root gorgon_debug_root;
struct gorgon_debug_request gorgon_debug_request;

// The root has a lock of its own, so that a thread can show what an interpreter is doing while
// another thread loads. A thread that takes it holds the loader's lock already, or the lock of the
// list of threads. fork() takes these two, so nobody holds the root's lock while a process is
// forked.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// of changes by this thread
static __thread unsigned depth __attribute__((tls_model("initial-exec")));

static struct gorgon_debug_ns *ns_at(uint64_t addr)
{
	return (struct gorgon_debug_ns *)(uintptr_t)addr;
}

static struct gorgon_debug_object *object_at(uint64_t addr)
{
	return (struct gorgon_debug_object *)(uintptr_t)addr;
}

static uint64_t root_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void init_once(void)
{
	struct gorgon_debug_root *root = &gorgon_debug_root;

	if (root->version)
		return;
	root->size = sizeof(*root);
	root->ns_size = sizeof(struct gorgon_debug_ns);
	root->object_size = sizeof(struct gorgon_debug_object);
	root->thread_size = sizeof(struct gorgon_debug_thread);
	root->version = GORGON_DEBUG_VERSION;
	memcpy(root->magic, GORGON_DEBUG_MAGIC, sizeof(root->magic));
}

// The fences pair with a reader that loads sequence, copies, loads it again: no
// change of the lists becomes visible outside of an odd sequence.
void gorgon_debug_begin(void)
{
	if (depth++)
		return;
	pthread_mutex_lock(&lock);
	init_once();
	__atomic_store_n(&gorgon_debug_root.sequence, gorgon_debug_root.sequence + 1,
			 __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void gorgon_debug_end(void)
{
	if (--depth)
		return;
	gorgon_debug_root.timestamp = root_now();
	__atomic_store_n(&gorgon_debug_root.sequence, gorgon_debug_root.sequence + 1,
			 __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static void leave_changed(struct gorgon_debug_ns *ns)
{
	struct gorgon_debug_root *root = &gorgon_debug_root;

	if (!ns->sequence)
		return;
	if (ns->changed_prev)
		ns_at(ns->changed_prev)->changed_next = ns->changed_next;
	else
		root->changed_head = ns->changed_next;
	if (ns->changed_next)
		ns_at(ns->changed_next)->changed_prev = ns->changed_prev;
}

void gorgon_debug_touch(struct gorgon_debug_ns *ns)
{
	struct gorgon_debug_root *root = &gorgon_debug_root;

	leave_changed(ns);
	ns->sequence = root->sequence;
	ns->changed_prev = 0;
	ns->changed_next = root->changed_head;
	if (root->changed_head)
		ns_at(root->changed_head)->changed_prev = (uintptr_t)ns;
	root->changed_head = (uintptr_t)ns;
}

void gorgon_debug_ns_link(struct gorgon_debug_ns *ns)
{
	struct gorgon_debug_root *root = &gorgon_debug_root;
	uint64_t addr = (uintptr_t)ns;

	gorgon_debug_begin();
	ns->next = 0;
	ns->prev = root->ns_tail;
	if (root->ns_tail)
		ns_at(root->ns_tail)->next = addr;
	else
		root->ns_head = addr;
	root->ns_tail = addr;
	root->ns_count++;
	gorgon_debug_touch(ns);
	gorgon_debug_end();
}

void gorgon_debug_ns_unlink(struct gorgon_debug_ns *ns)
{
	struct gorgon_debug_root *root = &gorgon_debug_root;

	gorgon_debug_begin();
	if (ns->prev)
		ns_at(ns->prev)->next = ns->next;
	else
		root->ns_head = ns->next;
	if (ns->next)
		ns_at(ns->next)->prev = ns->prev;
	else
		root->ns_tail = ns->prev;
	root->ns_count--;
	leave_changed(ns);
	ns->sequence = 0;
	gorgon_debug_end();
}

void gorgon_debug_object_link(struct gorgon_debug_ns *ns, struct gorgon_debug_object *object)
{
	uint64_t addr = (uintptr_t)object;

	gorgon_debug_begin();
	object->ns = (uintptr_t)ns;
	object->next = 0;
	object->prev = ns->object_tail;
	if (ns->object_tail)
		object_at(ns->object_tail)->next = addr;
	else
		ns->object_head = addr;
	ns->object_tail = addr;
	ns->object_count++;
	gorgon_debug_root.object_count++;
	gorgon_debug_touch(ns);
	gorgon_debug_end();
}

void gorgon_debug_object_unlink(struct gorgon_debug_object *object)
{
	struct gorgon_debug_ns *ns = ns_at(object->ns);

	gorgon_debug_begin();
	if (object->prev)
		object_at(object->prev)->next = object->next;
	else
		ns->object_head = object->next;
	if (object->next)
		object_at(object->next)->prev = object->prev;
	else
		ns->object_tail = object->prev;
	ns->object_count--;
	gorgon_debug_root.object_count--;
	gorgon_debug_touch(ns);
	gorgon_debug_end();
}
