// SPDX-License-Identifier: MIT
// Keys of thread-specific data that constructors make in a C library of the namespace's own.
//
// Each C library numbers its keys from 0, and all C libraries of a process keep the values in the
// same array of the thread. Our hooks (hooks.c) give private code keys of the host's C library, but
// constructors run before their objects are bound to the hooks. libpython's constructor (since
// CPython 3.13) makes a key for its allocator and sets a value. A key of the host may have that
// number: then its value is lost, and its destructor gets CPython's value when the thread ends.
//
// So the thread's values of the host's keys are saved before a load and put back after it. For each
// key that the other C library has made meanwhile, a key of the host's C library is made and gets
// the value; the hooks translate the number. The number stays in use in the other C library.
//
// Not handled: a constructor that reads a key's value before it has set it gets the host's value;
// keys beyond the 32nd, for whose values one C library allocates memory that another would free;
// keys of objects that the C library loads for itself.

#define _GNU_SOURCE
#include "linked.h"
#include "base/error.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/threads/tsd.h"

#include <limits.h>
#include <stdlib.h>

struct gorgon_early_keys {
	struct {
		uintptr_t sequence; // of the key; constructors that use the key change it
		unsigned number;    // of the host's key that takes its place; 0: none; atomic
	} list[PTHREAD_KEYS_MAX];
	void *kept[PTHREAD_KEYS_MAX]; // the thread's values under the host's keys
	unsigned depth;		      // of nested loads: constructors may load
};

struct gorgon_error *gorgon_early_keys_begin(struct gorgon_ns *ns)
{
	struct gorgon_linked *linked = ns->linked;

	if (!linked->linker->own_libc)
		return NULL;
	if (!linked->early)
		linked->early = calloc(1, sizeof(*linked->early));
	// gorgon_thread_get() makes the library's own key and value, which thus are among those
	// saved below.
	if (!linked->early || !gorgon_thread_get())
		return &gorgon_error_nomem;
	if (linked->early->depth++)
		return NULL;
	for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++)
		linked->early->kept[key] = pthread_getspecific(key);
	return NULL;
}

static bool is_used(const struct gorgon_linked *linked, pthread_key_t key)
{
	return linked->libc.keys[key].sequence != linked->early->list[key].sequence;
}

static void keys_forget(struct gorgon_early_keys *early, pthread_key_t key)
{
	unsigned number = early->list[key].number;

	__atomic_store_n(&early->list[key].number, 0, __ATOMIC_RELEASE);
	if (number)
		gorgon_tsd_delete(number);
}

static struct gorgon_error *keys_adopt(struct gorgon_ns *ns, pthread_key_t key)
{
	struct gorgon_linked *linked = ns->linked;
	const struct gorgon_system_key *system = &linked->libc.keys[key];
	const void *value;
	unsigned number;

	keys_forget(linked->early, key);
	if (!(system->sequence & 1))
		return NULL;
	if (gorgon_tsd_create(&number, system->destructor, ns))
		return &gorgon_error_nomem;
	__atomic_store_n(&linked->early->list[key].number, number, __ATOMIC_RELEASE);
	value = linked->libc.key_get(key);
	// The value is that of a host's key: no constructor has set it.
	if (value == linked->early->kept[key])
		return NULL;
	return value && gorgon_tsd_set(number, value) ? &gorgon_error_nomem : NULL;
}

struct gorgon_error *gorgon_early_keys_end(struct gorgon_ns *ns, bool opened)
{
	struct gorgon_linked *linked = ns->linked;
	struct gorgon_early_keys *early = linked->early;
	struct gorgon_error *err = NULL;

	if (!linked->linker->own_libc || --early->depth || !opened)
		return NULL;
	if (!linked->libc.keys)
		return gorgon_refuse("dlmopen",
				     "the C library does not show its keys (__pthread_keys)");
	for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX && !err; key++)
		if (is_used(linked, key))
			err = keys_adopt(ns, key);
	for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++) {
		if (!is_used(linked, key))
			continue;
		// Either call has an effect only if its C library has made a key of that number.
		linked->libc.key_set(key, NULL);
		pthread_setspecific(key, early->kept[key]);
		if (err)
			keys_forget(early, key);
		early->list[key].sequence = linked->libc.keys[key].sequence;
	}
	return err;
}

unsigned gorgon_early_keys_find(const struct gorgon_ns *ns, unsigned key)
{
	unsigned number =
		key < PTHREAD_KEYS_MAX
			? __atomic_load_n(&ns->linked->early->list[key].number, __ATOMIC_ACQUIRE)
			: 0;

	return number ?: key;
}

int gorgon_early_keys_delete(struct gorgon_ns *ns, unsigned key)
{
	struct gorgon_linked *linked = ns->linked;
	int ret;

	if (key < PTHREAD_KEYS_MAX)
		keys_forget(linked->early, key);
	ret = linked->libc.key_delete(key);
	if (!ret)
		linked->early->list[key].sequence = linked->libc.keys[key].sequence;
	return ret;
}
