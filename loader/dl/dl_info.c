// SPDX-License-Identifier: MIT
// The part of the dl family that changes nothing: dladdr, dladdr1, dlinfo, dl_iterate_phdr.
//
// Questions about anything but private objects go to the system's functions. dl_iterate_phdr shows
// the system's objects first (the main program is the first of all, as callers expect),
// then the namespace's objects; the callback runs without the loader's lock, on a copy
// of the list, because callbacks look symbols up and load. Until the walk has ended no
// object of the namespace is unmapped. The system's objects are shown without PT_DYNAMIC.

#define _GNU_SOURCE
#include "dl.h"
#include "base/lock.h"
#include "image/symbol.h"
#include "load/unload.h"
#include "ns/thread.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *info_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

// The lock is held. All copies of a file have the symbol table of the image in common.
static const Elf64_Sym *info_describe(struct gorgon_object *object, uint64_t addr, Dl_info *info)
{
	const Elf64_Sym *sym = gorgon_symbol_at(object->image, addr - object->bias);

	*info = (Dl_info){
		.dli_fname = object->path,
		.dli_fbase = info_pointer(object->start),
		.dli_sname = sym ? object->image->strtab + sym->st_name : NULL,
		.dli_saddr = sym ? info_pointer(object->bias + sym->st_value) : NULL,
	};
	return sym;
}

int gorgon_dl_addr1(const void *addr, Dl_info *info, void **extra, int flags, struct gorgon_ns *ns)
{
	struct gorgon_object *object;
	const Elf64_Sym *sym;

	gorgon_lock();
	object = gorgon_ns_object_at(ns, (uintptr_t)addr);
	if (object) {
		sym = info_describe(object, (uintptr_t)addr, info);
		if (flags == RTLD_DL_SYMENT)
			*extra = (void *)sym;
		else if (flags == RTLD_DL_LINKMAP)
			*extra = &object->map;
	}
	gorgon_unlock();
	return object ? 1 : dladdr1(addr, info, extra, flags);
}

int gorgon_dl_addr(const void *addr, Dl_info *info, struct gorgon_ns *ns)
{
	return gorgon_dl_addr1(addr, info, NULL, 0, ns);
}

// The calling thread's block of an object's TLS module, when there is one already.
static void *tls_block(const struct gorgon_object *object)
{
	const struct gorgon_thread *thread = gorgon_thread_peek();

	for (size_t i = 0; thread && object->tls_module && i < thread->slot_count; i++)
		if (thread->slots[i].module == object->tls_module)
			return thread->slots[i].block;
	return NULL;
}

// The lock is held. False for a request that has no answer here.
static bool info_answer(struct gorgon_object *object, int request, void *arg, int *ret)
{
	const char *slash = strrchr(object->path, '/');

	switch (request) {
	case RTLD_DI_LMID:
		*(Lmid_t *)arg = LM_ID_BASE;
		return true;
	case RTLD_DI_LINKMAP:
		*(struct link_map **)arg = &object->map;
		return true;
	case RTLD_DI_ORIGIN: // the caller's buffer is large enough, says dlinfo(3)
		sprintf(arg, "%.*s", (int)(slash - object->path), object->path);
		return true;
	case RTLD_DI_TLS_MODID:
		*(size_t *)arg = object->tls_module;
		return true;
	case RTLD_DI_TLS_DATA:
		*(void **)arg = tls_block(object);
		return true;
	case RTLD_DI_PHDR:
		*(const Elf64_Phdr **)arg = object->image->phdrs;
		*ret = (int)object->image->phdr_count;
		return true;
	default:
		return false;
	}
}

int gorgon_dl_info(void *handle, int request, void *arg, struct gorgon_ns *ns)
{
	struct gorgon_object *object;
	char *message = NULL;
	bool answered;
	int ret = 0;

	gorgon_dl_clear_error();
	gorgon_lock();
	object = handle == ns ? ns->first : gorgon_dl_find_handle(ns, handle);
	answered = object && info_answer(object, request, arg, &ret);
	if (object && !answered &&
	    asprintf(&message, "%s: dlinfo: request %d is not supported", object->path, request) <
		    0)
		message = NULL;
	gorgon_unlock();
	if (answered)
		return ret;
	if (!object) {
		if (!gorgon_dl_is_system_handle(handle))
			return -1;
		ret = dlinfo(handle, request, arg);
		if (ret >= 0)
			return ret;
		message = strdup(dlerror());
	}
	gorgon_dl_set_error(message);
	return -1;
}

// Unwinders keep what they have found until dlpi_adds or dlpi_subs changes. So all entries of a
// walk have equal numbers, and each number is a sum: the system's linker's and the namespace's.
struct phdr_walk {
	int (*fn)(struct dl_phdr_info *info, size_t size, void *ctx);
	void *ctx;
	unsigned long long adds, subs;		// of the namespace
	unsigned long long all_adds, all_subs;	// with the system's
};

// Who looks for PT_DYNAMIC wants tables of names and of addresses to be bound: profilers (memray)
// put addresses of their own functions into them. In an interpreter that must not reach what all
// share (process/memory/patch.c keeps such code from making memory writable; memray does not stop
// at that), and the functions that they find first are not the namespace's. Unwinders keep pointers
// into what they were shown.
struct shown {
	const ElfW(Phdr) * of;
	ElfW(Phdr) * list;
	ElfW(Half) count;
};

static int shown_compare(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return (x->of > y->of) - (x->of < y->of);
}

static bool shown_is_of(const struct shown *shown, const struct dl_phdr_info *info)
{
	if (!shown->list || shown->count != info->dlpi_phnum)
		return false;
	for (unsigned i = 0; i < shown->count; i++) {
		ElfW(Phdr) phdr = info->dlpi_phdr[i];

		phdr.p_type = phdr.p_type == PT_DYNAMIC ? PT_NULL : phdr.p_type;
		if (memcmp(&phdr, &shown->list[i], sizeof(phdr)))
			return false;
	}
	return true;
}

// The system's linker has its lock during the walk. @info has no headers when there is no memory.
static void hide_tables(struct dl_phdr_info *info)
{
	static void *root;
	struct shown *new = calloc(1, sizeof(*new)), **found = NULL;

	if (new) {
		new->of = info->dlpi_phdr;
		found = tsearch(new, &root, shown_compare);
	}
	if (!found || *found != new)
		free(new);
	if (found && !shown_is_of(*found, info)) {
		free((*found)->list); // of an object that is gone
		(*found)->list = malloc(info->dlpi_phnum * sizeof(*info->dlpi_phdr));
		(*found)->count = (*found)->list ? info->dlpi_phnum : 0;
		for (unsigned i = 0; i < (*found)->count; i++) {
			(*found)->list[i] = info->dlpi_phdr[i];
			if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
				(*found)->list[i].p_type = PT_NULL;
		}
	}
	info->dlpi_phnum = found ? (*found)->count : 0;
	info->dlpi_phdr = found ? (*found)->list : NULL;
}

static int visit_system(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct phdr_walk *walk = ctx;
	struct dl_phdr_info entry = *info;

	hide_tables(&entry);
	walk->all_adds = entry.dlpi_adds += walk->adds;
	walk->all_subs = entry.dlpi_subs += walk->subs;
	return walk->fn(&entry, size < sizeof(entry) ? size : sizeof(entry), walk->ctx);
}

struct snapshot {
	struct gorgon_walk walk; // it is freed with this
	size_t count;
	struct dl_phdr_info list[];
};

_Static_assert(!offsetof(struct snapshot, walk), "gorgon_walk_end() frees it");

// NULL: no memory.
static struct snapshot *snapshot_begin(struct gorgon_ns *ns, const struct phdr_walk *walk)
{
	struct snapshot *ret;

	gorgon_lock();
	ret = calloc(1, sizeof(*ret) + ns->debug.object_count * sizeof(*ret->list));
	if (ret)
		gorgon_walk_begin(ns, &ret->walk);
	for (struct gorgon_object *o = ns->first; ret && o; o = o->next) {
		ret->list[ret->count++] = (struct dl_phdr_info){
			.dlpi_addr = o->bias,
			.dlpi_name = o->path,
			.dlpi_phdr = o->image->phdrs,
			.dlpi_phnum = (Elf64_Half)o->image->phdr_count,
			.dlpi_adds = walk->all_adds,
			.dlpi_subs = walk->all_subs,
			.dlpi_tls_modid = o->tls_module,
			.dlpi_tls_data = tls_block(o),
		};
	}
	gorgon_unlock();
	return ret;
}

static void snapshot_end(struct snapshot *snapshot, struct gorgon_ns *ns)
{
	gorgon_lock();
	gorgon_walk_end(ns, &snapshot->walk);
	gorgon_unlock();
}

int gorgon_dl_iterate_phdr(int (*fn)(struct dl_phdr_info *info, size_t size, void *ctx), void *ctx,
			   struct gorgon_ns *ns)
{
	struct phdr_walk walk = {.fn = fn, .ctx = ctx};
	struct snapshot *snapshot;
	int ret;

	// Read before the entries: an unwinder that kept an old list with new numbers would never
	// look again.
	gorgon_lock();
	walk.adds = ns->load_count;
	walk.subs = ns->unload_count;
	gorgon_unlock();
	ret = dl_iterate_phdr(visit_system, &walk);
	if (ret)
		return ret;
	snapshot = snapshot_begin(ns, &walk);
	if (!snapshot)
		return 0;
	for (size_t i = 0; i < snapshot->count && !ret; i++)
		ret = fn(&snapshot->list[i], sizeof(snapshot->list[i]), ctx);
	snapshot_end(snapshot, ns);
	return ret;
}
