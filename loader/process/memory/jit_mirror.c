// SPDX-License-Identifier: MIT
// Private registrars: LLVM (numba), CPython 3.15 and other compilers have a pair of their
// own, __jit_debug_descriptor and __jit_debug_register_code. GDB looks for such pairs in
// objects that it has symbols of, LLDB takes the first one in the process: neither looks
// into private copies. So what a private object has in its descriptor's list is mirrored
// into libjitreg's, the one list of the process, and leaves it with the object at the
// latest.
//
// When to look at a descriptor:
// - its __jit_debug_register_code is called through the GOT: that is bound to us;
// - the call is direct (-Bsymbolic, hidden, a static LLVM: all releases of llvmlite). Text
//   is not patched; but registrars guard their list with a mutex, and its unlock is the
//   next call that leaves the object: an object with a descriptor gets an unlock that
//   looks first, so a debugger knows the code before anybody can run it;
// - mprotect() makes memory executable, munmap() takes it away: for registrars that have
//   no mutex of the C library (CPython 3.15 has one of its own) and register before they
//   protect. Other direct callers are seen when the namespace makes its next such call.
//
// A thread may read the list without its mutex while another thread changes it. So the list is read
// with process_vm_readv(), which does not fault, and counts only when the descriptor was equal
// before and after; otherwise the changing thread's own unlock reads it again. Entries and symfiles
// are copied, never referred to.
//
// Which objects have a descriptor is found out in jit_descriptor.c.
//
// `lock` guards all registrars; libjitreg's comes after it. It is taken only where there may be
// something new: CPython 3.15 unlocks a mutex each time the GIL changes hands, and a function that
// a debugger calls must not wait for a thread that the debugger has stopped. Who looks without the
// lock is counted in `readers`, and whoever takes a registrar away waits for them.
//
// Specification: GDB manual, "JIT Compilation Interface".

#define _GNU_SOURCE
#include "jit_mirror.h"
#include "base/error.h"
#include "image/jit_descriptor.h"
#include "ns/ns.h"
#include "process/part.h"
#include "file/grow.h"

#include <jitreg.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define ENTRIES_MAX 1000000 // a longer list is taken for a damaged list without an end

// The structures in the private object's memory; see the GDB manual.
struct descriptor {
	uint32_t version, action_flag;
	uint64_t relevant_entry, first_entry;
};

_Static_assert(sizeof(struct descriptor) == GORGON_JIT_DESCRIPTOR_SIZE, "GDB manual");

struct entry {
	uint64_t next_entry, prev_entry, symfile_addr, symfile_size;
};

// An entry of the private list, and our registration of it: NULL when that was not possible.
struct mirror {
	uint64_t addr; // of the entry
	uint64_t symfile_addr, symfile_size;
	struct jitreg_entry *jit;
};

struct mirrors {
	struct mirror *items; // sorted by address of the entry
	size_t count;
};

struct gorgon_jit_mirror {
	struct gorgon_jit_mirror *next; // in the namespace
	const struct descriptor *descriptor;
	struct descriptor seen; // when its list was last read
	struct mirrors mirrors;
	size_t refused; // the number of symfiles that are damaged, or for which there was no memory
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned readers; // atomic

static void after_fork(bool child)
{
	if (child)
		readers = 0;
}

const struct gorgon_part gorgon_jit_mirror_part = {.lock = &lock, .after_fork = after_fork};

// --- reading a list that may be changing ----------------------------------------------

static bool read_memory(uint64_t addr, void *data, size_t size)
{
	struct iovec to = {data, size}, from = {(void *)(uintptr_t)addr, size};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

// The descriptor itself is there as long as its object is.
static struct descriptor read_descriptor(const struct descriptor *descriptor)
{
	return (struct descriptor){
		.version = __atomic_load_n(&descriptor->version, __ATOMIC_ACQUIRE),
		.action_flag = __atomic_load_n(&descriptor->action_flag, __ATOMIC_ACQUIRE),
		.relevant_entry = __atomic_load_n(&descriptor->relevant_entry, __ATOMIC_ACQUIRE),
		.first_entry = __atomic_load_n(&descriptor->first_entry, __ATOMIC_ACQUIRE),
	};
}

static bool is_same(const struct descriptor *a, const struct descriptor *b)
{
	return a->action_flag == b->action_flag && a->relevant_entry == b->relevant_entry &&
	       a->first_entry == b->first_entry;
}

static void write_descriptor(struct descriptor *to, const struct descriptor *from)
{
	__atomic_store_n(&to->action_flag, from->action_flag, __ATOMIC_RELEASE);
	__atomic_store_n(&to->relevant_entry, from->relevant_entry, __ATOMIC_RELEASE);
	__atomic_store_n(&to->first_entry, from->first_entry, __ATOMIC_RELEASE);
}

static bool jit_mirror_append(struct mirrors *mirrors, const struct mirror *mirror)
{
	struct mirror *added = jitreg_add(&mirrors->items, &mirrors->count, sizeof(*added));

	if (added)
		*added = *mirror;
	return added;
}

static int jit_mirror_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct mirror *)a)->addr, y = ((const struct mirror *)b)->addr;

	return x < y ? -1 : x > y;
}

// The whole list, sorted; false when it was being changed, or there is no memory.
static bool read_list(const struct gorgon_jit_mirror *registrar, const struct descriptor *now,
		      struct mirrors *ret)
{
	struct descriptor after;
	struct entry entry;

	for (uint64_t addr = now->first_entry; addr; addr = entry.next_entry) {
		if (ret->count == ENTRIES_MAX || !read_memory(addr, &entry, sizeof(entry)) ||
		    !jit_mirror_append(ret, &(struct mirror){.addr = addr,
							     .symfile_addr = entry.symfile_addr,
							     .symfile_size = entry.symfile_size}))
			return false;
	}
	after = read_descriptor(registrar->descriptor);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), jit_mirror_compare);
	return is_same(now, &after);
}

// --- mirroring ----------------------------------------------------------------------

static struct mirror *mirrors_find(const struct mirrors *mirrors, const struct mirror *wanted)
{
	struct mirror *found = NULL;

	if (mirrors->count)
		found = bsearch(wanted, mirrors->items, mirrors->count, sizeof(*wanted),
				jit_mirror_compare);
	return found && found->symfile_addr == wanted->symfile_addr &&
			       found->symfile_size == wanted->symfile_size
		       ? found
		       : NULL;
}

static struct jitreg_entry *register_copy(const struct mirror *mirror)
{
	struct jitreg_entry *ret = NULL;
	void *copy = malloc(mirror->symfile_size);

	if (copy && read_memory(mirror->symfile_addr, copy, mirror->symfile_size) &&
	    jitreg_register_symfile(copy, mirror->symfile_size, &ret))
		ret = NULL;
	free(copy);
	return ret;
}

// Entries that have gone come first: new code may be at their addresses.
static void mirror_list(struct gorgon_jit_mirror *registrar, struct mirrors *list)
{
	struct mirrors *mirrors = &registrar->mirrors;

	for (size_t i = 0; i < mirrors->count; i++) {
		struct mirror *mirror = mirrors_find(list, &mirrors->items[i]);

		if (mirror)
			mirror->jit = mirrors->items[i].jit;
		else
			jitreg_unregister(mirrors->items[i].jit);
	}
	for (size_t i = 0; i < list->count; i++) {
		struct mirror *mirror = &list->items[i];

		if (mirrors_find(mirrors, mirror))
			continue;
		mirror->jit = register_copy(mirror);
		registrar->refused += !mirror->jit;
	}
	free(mirrors->items);
	mirrors->items = list->items;
	__atomic_store_n(&mirrors->count, list->count, __ATOMIC_RELAXED);
}

// With @all also when the descriptor is as it was: an entry in the middle of the list may
// have gone.
static void look_at(struct gorgon_jit_mirror *registrar, bool all)
{
	struct descriptor now = read_descriptor(registrar->descriptor);
	struct mirrors list = {0};

	if (!all && is_same(&now, &registrar->seen))
		return;
	if (!read_list(registrar, &now, &list)) {
		free(list.items);
		return;
	}
	mirror_list(registrar, &list);
	write_descriptor(&registrar->seen, &now);
}

// Whether there may be something new, or, with @any, whether anything is registered.
static bool is_look_needed(const struct gorgon_ns *ns, bool any)
{
	bool ret = false;

	__atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
	for (const struct gorgon_jit_mirror *r = __atomic_load_n(&ns->registrars, __ATOMIC_ACQUIRE);
	     r; r = __atomic_load_n(&r->next, __ATOMIC_ACQUIRE)) {
		struct descriptor now = read_descriptor(r->descriptor);
		struct descriptor seen = read_descriptor(&r->seen);

		ret |= !is_same(&now, &seen) ||
		       (any && __atomic_load_n(&r->mirrors.count, __ATOMIC_RELAXED));
	}
	__atomic_sub_fetch(&readers, 1, __ATOMIC_RELEASE);
	return ret;
}

void gorgon_jit_mirror_look(struct gorgon_ns *ns)
{
	if (!__atomic_load_n(&ns->registrars, __ATOMIC_RELAXED) || !is_look_needed(ns, false))
		return;
	pthread_mutex_lock(&lock);
	for (struct gorgon_jit_mirror *r = ns->registrars; r; r = r->next)
		look_at(r, false);
	pthread_mutex_unlock(&lock);
}

// Whether an entry is registered that describes code in [start, end).
static bool speaks_of(const struct gorgon_jit_mirror *registrar, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < registrar->mirrors.count; i++) {
		struct jitreg_info info;

		if (!registrar->mirrors.items[i].jit)
			continue;
		jitreg_entry_get_info(registrar->mirrors.items[i].jit, &info);
		if (info.start < end && start < info.end)
			return true;
	}
	return false;
}

void gorgon_jit_mirror_before_unmap(struct gorgon_ns *ns, uint64_t start, uint64_t end)
{
	if (!__atomic_load_n(&ns->registrars, __ATOMIC_RELAXED) || !is_look_needed(ns, true))
		return;
	pthread_mutex_lock(&lock);
	for (struct gorgon_jit_mirror *r = ns->registrars; r; r = r->next)
		look_at(r, speaks_of(r, start, end));
	pthread_mutex_unlock(&lock);
}

struct gorgon_error *gorgon_jit_mirror_create(struct gorgon_object *object)
{
	uint64_t vaddr = gorgon_jit_descriptor(object->image);
	struct gorgon_jit_mirror *registrar;

	if (!vaddr || object->ns->opts.debug == GORGON_DEBUG_OFF)
		return NULL;
	registrar = calloc(1, sizeof(*registrar));
	if (!registrar)
		return &gorgon_error_nomem;
	registrar->descriptor = (const struct descriptor *)(uintptr_t)(object->bias + vaddr);
	object->registrar = registrar;
	pthread_mutex_lock(&lock);
	registrar->next = object->ns->registrars;
	__atomic_store_n(&object->ns->registrars, registrar, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void gorgon_jit_mirror_destroy(struct gorgon_object *object)
{
	struct gorgon_jit_mirror *registrar = object->registrar, **link;

	if (!registrar)
		return;
	pthread_mutex_lock(&lock);
	for (link = &object->ns->registrars; *link != registrar; link = &(*link)->next)
		;
	__atomic_store_n(link, registrar->next, __ATOMIC_RELAXED);
	while (__atomic_load_n(&readers, __ATOMIC_SEQ_CST))
		sched_yield();
	for (size_t i = 0; i < registrar->mirrors.count; i++)
		jitreg_unregister(registrar->mirrors.items[i].jit);
	pthread_mutex_unlock(&lock);
	if (registrar->refused)
		gorgon_ns_log(object->ns,
			      "%s: %zu of its object files were not handed on to debuggers",
			      object->path, registrar->refused);
	free(registrar->mirrors.items);
	free(registrar);
	object->registrar = NULL;
}

// --- replacements ----------------------------------------------------------------------

void gorgon_jit_mirror_register_code(struct gorgon_ns *ns)
{
	gorgon_jit_mirror_look(ns);
}

int gorgon_jit_mirror_mutex_unlock(pthread_mutex_t *mutex, struct gorgon_ns *ns)
{
	gorgon_jit_mirror_look(ns);
	return pthread_mutex_unlock(mutex);
}
