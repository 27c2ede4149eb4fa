// SPDX-License-Identifier: MIT
// Namespaces whose objects the system's linker loads.
//
// The linker maps, relocates and initialises, and debuggers know its objects from it. After each
// dlopen() and dlclose() of private code update_objects() compares the linker's list with the
// namespace's. A new object is listed in the namespace, which makes it an entry for debuggers, and
// is bound to our hooks (hooks.c, slots.c). An object that is not in the linker's list any more is
// forgotten.
//
// So a library's constructors run before it is bound to the hooks, and libraries that the C library
// loads for itself (iconv, nss) are listed at the program's next dlopen().
//
// Locks: the linker's lock (base/lock.c), a single one for all such namespaces, is held during the
// linker's work and update_objects(). It is recursive, because constructors may load.

#define _GNU_SOURCE
#include "linked.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/thunk.h"
#include "debug/publish.h"
#include "dl/namespace.h"
#include "load/destroy.h"
#include "ns/ns.h"
#include "process/kernel/signals.h"
#include "process/part.h"
#include "process/threads/tsd.h"
#include "file/grow.h"

#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_ID_MAX 64 // as ../ns/debug_root.h says

// --- the linker's list ------------------------------------------------------------------

struct found {
	const struct link_map *map;
	uint64_t bias;
	char *file;
};

struct found_list {
	const struct gorgon_ns *ns;
	struct found *list;
	size_t count;
	bool no_memory;
};

static bool linked_note(struct found_list *all, struct link_map *map)
{
	const char *file = all->ns->linked->linker->file_of(all->ns, map);
	struct found *added;

	if (!file)
		return true;
	added = jitreg_add(&all->list, &all->count, sizeof(*added));
	if (!added)
		return false;
	*added = (struct found){map, map->l_addr, strdup(file)};
	return added->file;
}

// dl_iterate_phdr() calls this for its first object only. The C library holds a lock meanwhile, so
// that the linker's list does not change.
static int linked_walk(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct found_list *all = ctx;

	(void)info;
	(void)size;
	for (struct link_map *map = _r_debug.r_map; map && !all->no_memory; map = map->l_next)
		all->no_memory = !linked_note(all, map);
	return 1;
}

static void found_deinit(struct found_list *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->list[i].file);
	free(all->list);
}

static bool linked_is(const struct gorgon_object *object, const struct found *found)
{
	return object->debug.link_map == (uintptr_t)found->map &&
	       object->bias == found->bias && !strcmp(object->path, found->file);
}

static bool has(const struct found_list *all, const struct gorgon_object *object)
{
	for (size_t i = 0; i < all->count; i++)
		if (linked_is(object, &all->list[i]))
			return true;
	return false;
}

static struct gorgon_object *linked_find(const struct gorgon_ns *ns, const struct found *found)
{
	struct gorgon_object *object = ns->first;

	while (object && !linked_is(object, found))
		object = object->next;
	return object;
}

// Copy the object's build-id, for debuggers that compare it with a file. The copy is on the heap,
// which every core has; the pages that libelf reads from are not in every core. False: no memory.
static bool note_build_id(struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	size_t name, desc, at, next;
	GElf_Nhdr note;

	for (size_t i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *ph = &image->phdrs[i];
		Elf_Data *data = ph->p_type != PT_NOTE
					 ? NULL
					 : elf_getdata_rawchunk(
						   image->elf, (int64_t)ph->p_offset, ph->p_filesz,
						   ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);

		for (at = 0; data && (next = gelf_getnote(data, at, &note, &name, &desc));
		     at = next) {
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
			    memcmp((char *)data->d_buf + name, "GNU", sizeof("GNU")) ||
			    !note.n_descsz || note.n_descsz > BUILD_ID_MAX)
				continue;
			object->foreign_build_id = malloc(note.n_descsz);
			if (!object->foreign_build_id)
				return false;
			memcpy(object->foreign_build_id, (char *)data->d_buf + desc, note.n_descsz);
			object->debug.build_id = (uintptr_t)object->foreign_build_id;
			object->debug.build_id_size = note.n_descsz;
			return true;
		}
	}
	return true;
}

static struct gorgon_error *linked_add(struct gorgon_ns *ns, const struct found *found)
{
	struct gorgon_image *image;
	struct gorgon_error *err = gorgon_image_open(found->file, &image);
	struct gorgon_object *object;

	if (err)
		return err;
	object = gorgon_object_create(ns, found->file, image);
	if (!object) {
		gorgon_image_close(image);
		return &gorgon_error_nomem;
	}
	object->bias = found->bias;
	object->start = object->bias + image->vaddr_start;
	object->end = object->bias + image->vaddr_end;
	object->debug.link_map = (uintptr_t)found->map;
	if (!note_build_id(object)) {
		gorgon_object_destroy(object);
		return &gorgon_error_nomem;
	}
	gorgon_object_publish_foreign(object);
	return gorgon_slots_bind(object);
}

// The lock of this file is held. After an error, new objects may be missing in the namespace.
static struct gorgon_error *update_objects(struct gorgon_ns *ns)
{
	struct found_list all = {.ns = ns};
	struct gorgon_error *err = NULL;
	struct gorgon_object *next;

	dl_iterate_phdr(linked_walk, &all);
	gorgon_lock();
	for (struct gorgon_object *object = ns->first; object && !all.no_memory; object = next) {
		next = object->next;
		if (has(&all, object))
			continue;
		gorgon_slots_forget(object);
		gorgon_object_destroy(object);
	}
	if (all.no_memory)
		err = &gorgon_error_nomem;
	for (size_t i = 0; i < all.count && !err; i++)
		if (!linked_find(ns, &all.list[i]))
			err = linked_add(ns, &all.list[i]);
	gorgon_unlock();
	found_deinit(&all);
	return err;
}

// --- opening and closing ------------------------------------------------------------------

static struct link_map *map_of(void *handle)
{
	struct link_map *map = NULL;

	return dlinfo(handle, RTLD_DI_LINKMAP, &map) ? NULL : map;
}

static void forget_handle(struct gorgon_linked *linked, const void *handle)
{
	for (size_t i = linked->handle_count; i-- > 1;) {
		if (linked->handles[i] != handle)
			continue;
		memmove(linked->handles + i, linked->handles + i + 1,
			(--linked->handle_count - i) * sizeof(*linked->handles));
		return;
	}
}

// The handle may be NULL without an error: see struct gorgon_linker.
static struct gorgon_error *open_locked(struct gorgon_ns *ns, const char *path, int flags,
					void **ret)
{
	struct gorgon_linked *linked = ns->linked;
	struct gorgon_error *err;
	void *handle = NULL;

	if (linked->closing)
		return gorgon_error_create(GORGON_ERROR_BUSY, "namespace %lu is being unloaded",
					   ns->debug.id);
	if (!jitreg_grow(&linked->handles, linked->handle_count, sizeof(*linked->handles)))
		return &gorgon_error_nomem;
	// dlopen(NULL) means the main program. For private code that is its libpython.
	if (!path || !*path)
		handle = dlopen(map_of(linked->handles[0])->l_name, RTLD_NOW | RTLD_NOLOAD);
	else if ((err = linked->linker->open(ns, path, flags, &handle)))
		return err;
	if (handle)
		linked->handles[linked->handle_count++] = handle;
	if (!handle || !(err = update_objects(ns))) {
		*ret = handle;
		return NULL;
	}
	// The first handle stays in the list, for gorgon_linked_close().
	if (linked->handle_count > 1) {
		forget_handle(linked, handle);
		dlclose(handle);
		gorgon_error_destroy(update_objects(ns));
	}
	return err;
}

struct gorgon_error *gorgon_linked_dlopen(struct gorgon_ns *ns, const char *path, int flags,
					  void **handle)
{
	uint64_t start = gorgon_now();
	struct gorgon_error *err;

	gorgon_linker_lock();
	err = open_locked(ns, path, flags, handle);
	ns->load_ns += gorgon_now() - start;
	gorgon_linker_unlock();
	return err;
}

struct gorgon_error *gorgon_linked_dlclose(struct gorgon_ns *ns, void *handle)
{
	struct gorgon_error *err;

	gorgon_linker_lock();
	if (dlclose(handle)) {
		err = gorgon_error_create(GORGON_ERROR_ARGUMENT, "%s", dlerror());
	} else {
		forget_handle(ns->linked, handle);
		err = update_objects(ns);
	}
	gorgon_linker_unlock();
	return err;
}

struct gorgon_error *gorgon_linked_open(struct gorgon_ns *ns, const struct gorgon_linker *linker,
					const char *path, struct gorgon_object **ret)
{
	struct gorgon_linked *linked = calloc(1, sizeof(*linked));
	struct gorgon_error *err;
	const struct link_map *map;
	void *handle;

	if (!linked)
		return &gorgon_error_nomem;
	linked->linker = linker;
	linked->none = gorgon_signals_create(false);
	if (!linked->none) {
		free(linked);
		return &gorgon_error_nomem;
	}
	ns->linked = linked;
	if ((err = linker->create_hooks(ns)) ||
	    (err = gorgon_linked_dlopen(ns, path, RTLD_NOW | RTLD_LOCAL, &handle)))
		return err;
	map = map_of(handle);
	gorgon_lock();
	for (struct gorgon_object *object = ns->first; object; object = object->next)
		if (object->debug.link_map == (uintptr_t)map)
			*ret = object;
	gorgon_unlock();
	return NULL;
}

// Signal handlers and destructors of keys are taken back before their code is unmapped.
static struct gorgon_error *linked_detach(struct gorgon_ns *ns)
{
	struct gorgon_linked *linked = ns->linked;
	struct gorgon_error *err;

	gorgon_lock();
	if (!(err = gorgon_ns_wait_for_threads(ns))) {
		gorgon_parts_stop(ns->parts);
		gorgon_tsd_drop(ns);
		if (linked->none) {
			gorgon_signals_destroy(ns->signals);
			ns->signals = linked->none;
			linked->none = NULL;
		}
	}
	gorgon_unlock();
	return err;
}

// Code of a library that was opened and has no object, because there was no memory for it, is the
// namespace's, too.
static bool is_code_of(struct gorgon_ns *ns, const void *addr)
{
	struct link_map *map = NULL;
	Dl_info info;
	bool ret;

	gorgon_lock();
	ret = gorgon_ns_object_at(ns, (uintptr_t)addr);
	gorgon_unlock();
	if (ret || !addr || !dladdr1(addr, &info, (void **)&map, RTLD_DL_LINKMAP))
		return ret;
	for (size_t i = 0; i < ns->linked->handle_count && !ret; i++)
		ret = map_of(ns->linked->handles[i]) == map;
	return ret;
}

// What the C library knows of a key of thread-specific data. The sequence is odd while the key is
// in use.
struct system_key {
	uintptr_t sequence;
	void (*destructor)(void *);
};

// Constructors make keys before they are bound to the hooks. libpython never deletes the key of its
// allocator (since CPython 3.13): a thread that ends later would call a destructor that is
// unmapped. Where the C library does not show its keys (__pthread_keys), they stay.
static void delete_keys(struct gorgon_ns *ns)
{
	const struct system_key *keys = dlvsym(RTLD_DEFAULT, "__pthread_keys", "GLIBC_PRIVATE");

	for (pthread_key_t key = 0; keys && key < PTHREAD_KEYS_MAX; key++)
		if (keys[key].sequence & 1 && is_code_of(ns, (void *)keys[key].destructor))
			pthread_key_delete(key);
}

// Let the objects that the linker keeps (unique definitions, RTLD_NODELETE) call the system's
// functions again. Returns their number.
static size_t unbind_all(struct gorgon_ns *ns)
{
	size_t count = 0;

	gorgon_lock();
	for (struct gorgon_object *object = ns->first; object; object = object->next, count++)
		gorgon_slots_unbind(object);
	gorgon_unlock();
	return count;
}

struct gorgon_error *gorgon_linked_close(struct gorgon_ns *ns)
{
	struct gorgon_linked *linked = ns->linked;
	struct gorgon_error *err;
	size_t left = 0;

	if (!linked)
		return NULL;
	if ((err = linked_detach(ns)))
		return err;
	gorgon_linker_lock();
	if (linked->handle_count)
		delete_keys(ns);
	linked->closing = true; // destructors run now, and must not load
	while (linked->handle_count)
		dlclose(linked->handles[--linked->handle_count]);
	if (!(err = update_objects(ns)))
		left = unbind_all(ns);
	if (left)
		gorgon_ns_log(ns, "%zu objects stay loaded: the system's linker cannot unload them",
			      left);
	if (!err)
		linked->linker->closed(ns, left);
	gorgon_linker_unlock();
	if (err)
		return err;
	gorgon_thunks_destroy(linked->thunks);
	free(linked->handles);
	free(linked->patches);
	free(linked);
	ns->linked = NULL;
	return NULL;
}
