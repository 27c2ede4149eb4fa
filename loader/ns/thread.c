// SPDX-License-Identifier: MIT
// What the loader keeps per thread: TLS blocks of private objects (tls.c), destructors of their
// thread_local variables (thread_dtors.c), values of their keys (tsd.c), the dlerror() text, and
// which namespace started it.
//
// Life of a record: made on first use, freed at thread exit by a pthread key's destructor. That
// destructor runs in rounds together with destructors of other keys, which may use TLS again. So it
// re-arms itself, and frees the record in the last but one of the rounds that the C library makes
// (PTHREAD_DESTRUCTOR_ITERATIONS): in the last round a thread sanitizer's runtime has left the
// thread already. What is done then is in thread_exit.c.
//
// The list of all records has a lock of its own. A thread that changes the list holds this lock and
// the loader's, so a thread that holds either can walk the list. A thread that interrupts or
// abandons an interpreter takes the list's lock alone, and does not wait for other threads' loads.
// A record's slots are grown and filled under the loader's lock by its own thread and emptied under
// it by whoever unloads; its thread reads them without the lock, which is safe because an object
// that is being unloaded is not used any more.

#define _GNU_SOURCE
#include "thread.h"
#include "debug_writer.h"
#include "base/clock.h"
#include "base/lock.h"
#include "ns.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static struct gorgon_untold nobodys; // of threads without a record; is never written

// Initial-exec: two words, which fit in the surplus even when this library is itself loaded with
// dlopen(). The first is read by tlsdesc.S as well.
__thread struct gorgon_thread *gorgon_thread_current __attribute__((tls_model("initial-exec")));
__thread struct gorgon_untold *gorgon_untold_current
	__attribute__((tls_model("initial-exec"))) = &nobodys;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_error;
static uint64_t serials; // given so far; under the loader's lock
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gorgon_thread *threads; // the newest first; changed under both locks
static gorgon_thread_exit *exit_fn;

void gorgon_thread_at_exit(gorgon_thread_exit *fn)
{
	exit_fn = fn;
}

void gorgon_threads_lock(void)
{
	pthread_mutex_lock(&list_lock);
}

bool gorgon_threads_trylock(void)
{
	return !pthread_mutex_trylock(&list_lock);
}

void gorgon_threads_unlock(void)
{
	pthread_mutex_unlock(&list_lock);
}

struct gorgon_thread *gorgon_thread_next(const struct gorgon_thread *thread)
{
	return thread ? thread->next : threads;
}

// The processor time of a thread by its kernel id: the clock's number is the kernel's format, and
// pthread_getcpuclockid() wants a pthread_t of a thread that is alive.
static uint64_t cpu_ns_of(uint64_t tid)
{
	return gorgon_clock_ns((clockid_t)(~(unsigned)tid << 3 | 6));
}

uint64_t gorgon_threads_cpu_ns(const struct gorgon_ns *ns)
{
	uint64_t ret;

	gorgon_threads_lock();
	ret = ns->ended_threads_ns;
	for (const struct gorgon_thread *thread = threads; thread; thread = thread->next)
		if (gorgon_thread_ns(thread) == ns)
			ret += cpu_ns_of(thread->tid);
	gorgon_threads_unlock();
	return ret;
}

uint64_t gorgon_threads_extension_bytes(const struct gorgon_usage *usage)
{
	uint64_t ret;

	gorgon_threads_lock();
	ret = __atomic_load_n(&usage->extension_bytes, __ATOMIC_RELAXED);
	for (const struct gorgon_thread *thread = threads; thread; thread = thread->next)
		if (gorgon_thread_counts_for(thread) == usage)
			ret += gorgon_untold_bytes(&thread->untold);
	gorgon_threads_unlock();
	return (int64_t)ret < 0 ? 0 : ret; // a thread has just told it
}

static void link_thread(struct gorgon_thread *thread)
{
	gorgon_threads_lock();
	gorgon_debug_begin();
	thread->next = threads;
	if (thread->next)
		thread->next->prev = thread;
	threads = thread;
	gorgon_debug_root.thread_head = (uintptr_t)thread;
	gorgon_debug_root.thread_count++;
	gorgon_debug_end();
	gorgon_threads_unlock();
}

void gorgon_thread_unlink(struct gorgon_thread *thread)
{
	gorgon_threads_lock();
	// and not a thread of a forked child's parent, which has no clock here
	if (thread->ns && thread == gorgon_thread_current)
		thread->ns->ended_threads_ns += gorgon_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (thread->untold.usage)
		__atomic_add_fetch(&thread->untold.usage->extension_bytes,
				   gorgon_untold_bytes(&thread->untold), __ATOMIC_RELAXED);
	thread->untold.usage = NULL;
	gorgon_debug_begin();
	if (thread->prev)
		thread->prev->next = thread->next;
	else
		threads = thread->next;
	if (thread->next)
		thread->next->prev = thread->prev;
	gorgon_debug_root.thread_head = (uintptr_t)threads;
	gorgon_debug_root.thread_count--;
	gorgon_debug_end();
	gorgon_threads_unlock();
}

static void at_thread_exit(void *arg)
{
	struct gorgon_thread *thread = arg;

	exit_fn(thread, false);
	if (++thread->exit_round < PTHREAD_DESTRUCTOR_ITERATIONS - 1 &&
	    !pthread_setspecific(key, thread))
		return;
	gorgon_lock();
	gorgon_thread_unlink(thread);
	if (thread->ns) {
		thread->ns->thread_count--;
		thread->ns->others_ended |= thread->ns->ends_threads && !thread->dropped;
		gorgon_lock_broadcast();
	}
	gorgon_unlock();
	gorgon_thread_current = NULL;
	gorgon_untold_current = &nobodys;
	exit_fn(thread, true);
}

static void create_key(void)
{
	key_error = pthread_key_create(&key, at_thread_exit);
}

struct gorgon_thread *gorgon_thread_peek(void)
{
	return gorgon_thread_current;
}

struct gorgon_thread *gorgon_thread_get(void)
{
	struct gorgon_thread *thread = gorgon_thread_current;

	if (thread)
		return thread;
	pthread_once(&key_once, create_key);
	thread = key_error ? NULL : calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	if (pthread_setspecific(key, thread)) {
		free(thread);
		return NULL;
	}
	thread->tid = (uint64_t)gettid();
	thread->tp = __builtin_thread_pointer();
	thread->pthread = pthread_self();
	thread->untold.bytes = GORGON_UNTOLD_MAX;
	gorgon_thread_current = thread;
	gorgon_untold_current = &thread->untold;
	gorgon_lock();
	thread->serial = ++serials;
	link_thread(thread);
	gorgon_unlock();
	return thread;
}

uint64_t gorgon_thread_serial(void)
{
	const struct gorgon_thread *thread = gorgon_thread_get();

	return thread ? thread->serial : 0;
}
