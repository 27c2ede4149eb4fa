// SPDX-License-Identifier: MIT
// Thread-specific data of private code.
//
// The C library has 1024 keys for a process, which a few hundred copies of CPython and its
// extensions use up, and it would go on to call destructors of a key after the code that
// they are in was unmapped. So private code gets keys of ours: as many as it likes, with
// an owner, gone with the namespace. Values are kept in the thread's record (thread.c).
//
// Our numbers begin where the C library's cannot reach; others are its own (a shared
// library has made the key) and are passed on.
//
// Keys are created and deleted under the loader's lock; their table grows by chunks that
// never move, so that get and set take no lock. A thread's array of values is grown by
// itself under the lock, and cleared under the lock by who deletes a key.

#define _GNU_SOURCE
#include "tsd.h"
#include "parking.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define FIRST	   GORGON_TSD_FIRST
#define CHUNK_SIZE 256
#define CHUNKS	   1024

struct key {
	struct gorgon_ns *ns; // NULL: free; atomic
	void (*destructor)(void *);
	uint64_t creator; // an address in the code that has made it, or 0
};

static struct key *chunks[CHUNKS]; // atomic; never freed

_Static_assert(FIRST > PTHREAD_KEYS_MAX, "keys of the C library");

static struct key *key_at(unsigned index)
{
	struct key *chunk = index < CHUNKS * CHUNK_SIZE
				    ? __atomic_load_n(&chunks[index / CHUNK_SIZE], __ATOMIC_ACQUIRE)
				    : NULL;

	return chunk ? &chunk[index % CHUNK_SIZE] : NULL;
}

static bool is_live(unsigned index)
{
	struct key *key = key_at(index);

	return key && __atomic_load_n(&key->ns, __ATOMIC_ACQUIRE);
}

// Find a free key, or make a chunk of keys. NULL: no memory, or all numbers are in use.
static struct key *find_free(unsigned *index)
{
	for (unsigned c = 0; c < CHUNKS; c++) {
		if (!chunks[c]) {
			struct key *chunk = calloc(CHUNK_SIZE, sizeof(*chunk));

			__atomic_store_n(&chunks[c], chunk, __ATOMIC_RELEASE);
			if (!chunk)
				return NULL;
		}
		for (unsigned i = 0; i < CHUNK_SIZE; i++) {
			if (chunks[c][i].ns)
				continue;
			*index = c * CHUNK_SIZE + i;
			return &chunks[c][i];
		}
	}
	return NULL;
}

static int create(unsigned *ret, void (*destructor)(void *), struct gorgon_ns *ns,
		  const void *creator)
{
	unsigned index = 0;
	struct key *key;

	gorgon_lock();
	key = find_free(&index);
	if (key) {
		key->destructor = destructor;
		key->creator = (uintptr_t)creator;
		__atomic_store_n(&key->ns, ns, __ATOMIC_RELEASE);
	}
	gorgon_unlock();
	if (!key)
		return EAGAIN;
	*ret = FIRST + index;
	return 0;
}

int gorgon_tsd_create(unsigned *ret, void (*destructor)(void *), struct gorgon_ns *ns)
{
	return create(ret, destructor, ns, __builtin_return_address(0));
}

static void clear_values(size_t index)
{
	for (struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread))
		if (index < thread->value_count)
			__atomic_store_n(&thread->values[index], NULL, __ATOMIC_RELAXED);
}

// The next owner of the number finds no values.
static void tsd_delete(struct key *key, unsigned index)
{
	clear_values(index);
	__atomic_store_n(&key->ns, NULL, __ATOMIC_RELEASE);
}

int gorgon_tsd_delete(unsigned number)
{
	unsigned index = number - FIRST;
	bool live;

	if (number < FIRST)
		return pthread_key_delete(number);
	gorgon_lock();
	live = is_live(index);
	if (live)
		tsd_delete(key_at(index), index);
	gorgon_unlock();
	return live ? 0 : EINVAL;
}

void gorgon_tsd_drop(const struct gorgon_ns *ns)
{
	for (unsigned i = 0; key_at(i); i++)
		if (key_at(i)->ns == ns)
			tsd_delete(key_at(i), i);
}

void gorgon_tsd_each(const struct gorgon_ns *ns, const struct gorgon_thread *thread,
		     void (*fn)(void *ctx, unsigned number, void (*destructor)(void *),
				void *value, uint64_t creator),
		     void *ctx)
{
	for (unsigned i = 0; key_at(i); i++)
		if (key_at(i)->ns == ns)
			fn(ctx, FIRST + i, key_at(i)->destructor,
			   i < thread->value_count ? thread->values[i] : NULL, key_at(i)->creator);
}

unsigned gorgon_tsd_count(void)
{
	unsigned count = 0;

	gorgon_lock();
	for (unsigned i = 0; key_at(i); i++)
		count += key_at(i)->ns != NULL;
	gorgon_unlock();
	return count;
}

void *gorgon_tsd_get(unsigned number)
{
	struct gorgon_thread *thread = gorgon_thread_peek();
	unsigned index = number - FIRST;

	if (number < FIRST)
		return pthread_getspecific(number);
	if (!thread || index >= thread->value_count)
		return NULL;
	return __atomic_load_n(&thread->values[index], __ATOMIC_RELAXED);
}

bool gorgon_tsd_find(const struct gorgon_ns *ns, const void *value, unsigned *ret)
{
	struct key *key;

	for (unsigned i = 0; (key = key_at(i)); i++) {
		if (__atomic_load_n(&key->ns, __ATOMIC_ACQUIRE) == ns &&
		    gorgon_tsd_get(FIRST + i) == value) {
			*ret = FIRST + i;
			return true;
		}
	}
	for (unsigned i = 0; i < PTHREAD_KEYS_MAX; i++) {
		if (pthread_getspecific(i) == value) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool grow_values(struct gorgon_thread *thread, unsigned index)
{
	size_t count = (index | 15) + 1;
	void **grown;

	gorgon_lock();
	grown = reallocarray(thread->values, count, sizeof(*grown));
	if (grown) {
		memset(grown + thread->value_count, 0,
		       (count - thread->value_count) * sizeof(*grown));
		thread->values = grown;
		thread->value_count = count;
	}
	gorgon_unlock();
	return grown;
}

int gorgon_tsd_set(unsigned number, const void *value)
{
	struct gorgon_thread *thread;
	unsigned index = number - FIRST;

	if (number < FIRST)
		return pthread_setspecific(number, value);
	if (!is_live(index))
		return EINVAL;
	thread = gorgon_thread_get();
	if (!thread || (index >= thread->value_count && !grow_values(thread, index)))
		return ENOMEM;
	__atomic_store_n(&thread->values[index], (void *)value, __ATOMIC_RELAXED);
	return 0;
}

// Take one value that has a destructor out of the thread's array. Its namespace counts
// one thread more until the destructor has returned: it is not unmapped under it.
static struct key *take_value(struct gorgon_thread *thread, void **value)
{
	for (unsigned i = 0; i < thread->value_count; i++) {
		struct key *key = key_at(i);

		*value = thread->values[i];
		if (!*value)
			continue;
		thread->values[i] = NULL;
		// A destructor of an abandoned interpreter would park the thread.
		if (!key->ns || !key->destructor || gorgon_parking_is_abandoned(key->ns))
			continue;
		key->ns->thread_count++;
		return key;
	}
	return NULL;
}

void gorgon_tsd_at_thread_exit(struct gorgon_thread *thread)
{
	// As the C library: destructors may set values again, but not for ever.
	unsigned long left = PTHREAD_DESTRUCTOR_ITERATIONS * (unsigned long)thread->value_count;
	struct key *key;
	void *value;

	if (thread->dropped)
		return;
	gorgon_lock();
	while (left-- && (key = take_value(thread, &value))) {
		struct gorgon_ns *ns = key->ns;
		void (*destructor)(void *) = key->destructor;

		gorgon_unlock();
		destructor(value);
		gorgon_lock();
		ns->thread_count--;
		gorgon_lock_broadcast();
	}
	gorgon_unlock();
}

int gorgon_tss_create(unsigned *key, void (*destructor)(void *), struct gorgon_ns *ns)
{
	return create(key, destructor, ns, __builtin_return_address(0)) ? thrd_error : thrd_success;
}

void gorgon_tss_delete(unsigned key)
{
	gorgon_tsd_delete(key);
}

int gorgon_tss_set(unsigned key, void *value)
{
	return gorgon_tsd_set(key, value) ? thrd_error : thrd_success;
}
