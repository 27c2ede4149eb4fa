// SPDX-License-Identifier: MIT
// What of CPython's memory depends on addresses in another way than by holding them:
// - dicts and sets, whose keys lie where their hashes say: the hash of an object without one of its
//   own is its address;
// - the tree by which the object allocator knows which addresses are its own;
// - elements of functools.lru_cache(), which have the hashes of their keys;
// - what the allocator has free, where old values are.
// This is the only file that knows structures of CPython besides lines*.c; `layouts` has one entry
// for each minor version, and each interpreter of which copies are to be made is compared with it:
// gorgon_tables_check() looks at a dict and a set, and scrub_pool() counts the blocks of each pool.

#define _GNU_SOURCE
#include "template_tables.h"
#include "template_numpy.h"
#include "api.h"
#include "base/error.h"
#include "image/image.h"
#include "image/zones.h"
#include "ns/ns.h"
#include "process/memory/zone_heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Offsets of members in bytes, and sizes.
struct layout {
	unsigned minor;
	unsigned dict_used, dict_keys, dict_values, dict_size; // PyDictObject
	unsigned keys_log2_size, keys_log2_bytes, keys_kind, keys_count, keys_indices;
	unsigned set_fill, set_used, set_mask, set_table, set_hash, set_small; // PySetObject
	unsigned link_hash, link_key, link_size; // functools._lru_list_elem
	unsigned gc_head;
	unsigned state_words, chunk_head, chunk_size; // PyThreadState, _PyStackChunk
	unsigned arena_bits, pool_bits, pool_header;  // of the object allocator
	unsigned top_shift, middle_shift, middle_bits, bottom_bits;
};

static const struct layout layouts[] = {{
	.minor = 11,
	.dict_used = 16,
	.dict_keys = 32,
	.dict_values = 40,
	.dict_size = 48,
	.keys_log2_size = 8,
	.keys_log2_bytes = 9,
	.keys_kind = 10,
	.keys_count = 24,
	.keys_indices = 32,
	.set_fill = 16,
	.set_used = 24,
	.set_mask = 32,
	.set_table = 40,
	.set_hash = 48,
	.set_small = 64,
	.link_hash = 32,
	.link_key = 40,
	.link_size = 56,
	.gc_head = 16,
	.state_words = 48,
	.chunk_head = 32,
	.chunk_size = 16384,
	.arena_bits = 20,
	.pool_bits = 14,
	.pool_header = 48,
	.top_shift = 49,
	.middle_shift = 34,
	.middle_bits = 15,
	.bottom_bits = 14,
}};

#define GENERAL      0  // keys_kind of a dict with keys of any type
#define LINEAR_PROBE 9  // of sets
#define SMALL_SET    8  // slots of a set's first table
#define DUMMY_HASH   -1 // of a set's slot that was emptied

struct dict_entry {
	int64_t hash;
	PyObject *key, *value;
};

struct set_entry {
	PyObject *key;
	int64_t hash;
};

struct pool {
	uint64_t count; // blocks in use; the upper half is padding
	uint64_t free;  // the first free block
	uint64_t next, prev;
	uint32_t arena, class, next_offset, max_offset;
};

static const struct layout *layout_of(const struct gorgon_interp *interp)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == interp->python.minor)
			return &layouts[i];
	return NULL;
}

static uint64_t member(const void *object, unsigned offset)
{
	uint64_t ret;

	memcpy(&ret, (const char *)object + offset, sizeof(ret));
	return ret;
}

static void set_member(void *object, unsigned offset, uint64_t value)
{
	memcpy((char *)object + offset, &value, sizeof(value));
}

// --- dicts ------------------------------------------------------------------------------------

static char *keys_of(const struct layout *layout, const void *dict)
{
	return (char *)(uintptr_t)member(dict, layout->dict_keys);
}

static struct dict_entry *entries_of(const struct layout *layout, char *keys)
{
	return (struct dict_entry *)(keys + layout->keys_indices +
				     ((size_t)1 << (unsigned char)keys[layout->keys_log2_bytes]));
}

static bool is_general(const struct layout *layout, const void *dict)
{
	return !keys_of(layout, dict)[layout->keys_kind] && !member(dict, layout->dict_values);
}

static int64_t index_at(const char *indices, unsigned log2_size, size_t i)
{
	if (log2_size < 8)
		return ((const int8_t *)indices)[i];
	return log2_size < 16 ? ((const int16_t *)(const void *)indices)[i]
			      : ((const int32_t *)(const void *)indices)[i];
}

static void set_index(char *indices, unsigned log2_size, size_t i, int64_t value)
{
	if (log2_size < 8)
		((int8_t *)indices)[i] = (int8_t)value;
	else if (log2_size < 16)
		((int16_t *)(void *)indices)[i] = (int16_t)value;
	else
		((int32_t *)(void *)indices)[i] = (int32_t)value;
}

// What a hash function is called as.
typedef int64_t hash_fn(PyObject *object);

static bool rehash_dict(const struct layout *layout, void *dict, hash_fn *hash)
{
	char *keys = keys_of(layout, dict), *indices = keys + layout->keys_indices;
	unsigned log2_size = (unsigned char)keys[layout->keys_log2_size];
	size_t mask = ((size_t)1 << log2_size) - 1, count = member(keys, layout->keys_count);
	struct dict_entry *entries = entries_of(layout, keys);

	memset(indices, 0xff, (size_t)1 << (unsigned char)keys[layout->keys_log2_bytes]);
	for (size_t e = 0; e < count; e++) {
		size_t perturb, i;

		if (!entries[e].value)
			continue;
		if ((entries[e].hash = hash(entries[e].key)) == -1)
			return false;
		perturb = (size_t)entries[e].hash;
		for (i = perturb & mask; index_at(indices, log2_size, i) != -1;
		     i = (i * 5 + perturb + 1) & mask)
			perturb >>= 5;
		set_index(indices, log2_size, i, (int64_t)e);
	}
	return true;
}

// --- sets -------------------------------------------------------------------------------------

static struct set_entry *table_of(const struct layout *layout, const void *set)
{
	return (struct set_entry *)(uintptr_t)member(set, layout->set_table);
}

static void insert_clean(struct set_entry *table, size_t mask, PyObject *key, int64_t hash)
{
	size_t perturb = (size_t)hash, i = perturb & mask;

	for (;;) {
		size_t probes = i + LINEAR_PROBE <= mask ? LINEAR_PROBE : 0;

		for (size_t j = i; j <= i + probes; j++) {
			if (table[j].key)
				continue;
			table[j] = (struct set_entry){key, hash};
			return;
		}
		perturb >>= 5;
		i = (i * 5 + 1 + perturb) & mask;
	}
}

static bool rehash_set(const struct layout *layout, void *set, hash_fn *hash)
{
	struct set_entry *table = table_of(layout, set), *old;
	size_t mask = member(set, layout->set_mask), size = (mask + 1) * sizeof(*table), used = 0;
	bool done;

	if (!(old = malloc(size)))
		return false;
	memcpy(old, table, size);
	memset(table, 0, size);
	done = true;
	for (size_t i = 0; i <= mask; i++) {
		int64_t value;

		if (!old[i].key || old[i].hash == DUMMY_HASH)
			continue;
		value = hash(old[i].key);
		done = done && value != -1;
		insert_clean(table, mask, old[i].key, value);
		used++;
	}
	set_member(set, layout->set_fill, used);
	set_member(set, layout->set_hash, (uint64_t)-1);
	free(old);
	return done;
}

// --- the check --------------------------------------------------------------------------------

static bool knows_dict(struct gorgon_interp *interp, const struct layout *layout, hash_fn *hash)
{
	const struct gorgon_api *api = interp->api;
	PyObject *none = (PyObject *)api->_Py_NoneStruct, *dict = api->PyDict_New();
	const struct dict_entry *entries;
	bool ret = dict && !api->PyDict_SetItem(dict, none, none) &&
		   !api->PyDict_SetItem(dict, dict ? (PyObject *)Py_TYPE(dict) : NULL, none);

	if (ret) {
		char *keys = keys_of(layout, dict);

		ret = member(dict, layout->dict_used) == 2 && is_general(layout, dict) &&
		      member(keys, layout->keys_count) == 2 && keys[layout->keys_log2_size] == 3 &&
		      keys[layout->keys_log2_bytes] == 3;
		entries = entries_of(layout, keys);
		ret = ret && entries[0].key == none && entries[0].hash == hash(none) &&
		      entries[0].value == none && entries[1].key == (PyObject *)Py_TYPE(dict) &&
		      entries[1].hash == hash(entries[1].key);
		// It must find them after this.
		ret = ret && rehash_dict(layout, dict, hash) &&
		      api->PyObject_GetItem(dict, entries[1].key) == none;
		if (ret)
			api->Py_DecRef(none);
	}
	api->PyErr_Clear();
	api->Py_DecRef(dict);
	return ret;
}

static bool knows_set(struct gorgon_interp *interp, const struct layout *layout, hash_fn *hash)
{
	const struct gorgon_api *api = interp->api;
	PyObject *none = (PyObject *)api->_Py_NoneStruct, *set = API(interp, PySet_New)(NULL);
	bool ret = set && !API(interp, PySet_Add)(set, none) &&
		   !API(interp, PySet_Add)(set, (PyObject *)Py_TYPE(set));
	size_t mask, found = 0;

	if (ret) {
		const struct set_entry *table = table_of(layout, set);

		mask = member(set, layout->set_mask);
		ret = mask == SMALL_SET - 1 &&
		      (const char *)table == (const char *)set + layout->set_small &&
		      member(set, layout->set_used) == 2 && member(set, layout->set_fill) == 2 &&
		      member(set, layout->set_hash) == (uint64_t)-1;
		for (size_t i = 0; ret && i <= mask; i++)
			found += table[i].key && table[i].hash == hash(table[i].key);
		ret = ret && found == 2 && rehash_set(layout, set, hash) &&
		      API(interp, PySet_Contains)(set, none) == 1 &&
		      API(interp, PySet_Contains)(set, (PyObject *)Py_TYPE(set)) == 1;
	}
	api->PyErr_Clear();
	api->Py_DecRef(set);
	return ret;
}

static struct gorgon_error *unknown_layout(const struct gorgon_interp *interp, const char *what)
{
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "%s: %s is not as in the CPython 3.%u that templates know",
				   interp->python.libpython, what, interp->python.minor);
}

struct gorgon_error *gorgon_tables_check(struct gorgon_interp *interp)
{
	const struct layout *layout = layout_of(interp);
	hash_fn *hash = (hash_fn *)gorgon_interp_find_api(interp, "PyObject_Hash");

	if (!layout || !hash || !knows_dict(interp, layout, hash))
		return unknown_layout(interp, "a dict");
	return knows_set(interp, layout, hash) ? NULL : unknown_layout(interp, "a set");
}

// --- the object allocator ---------------------------------------------------------------------

// The entry of the tree for a megabyte: an arena begins there.
#define ARENA_ENTRY UINT64_C(0xffffffff)

static bool is_block(const struct gorgon_interp *interp, uint64_t addr, size_t size)
{
	const struct gorgon_ns *ns = interp->ns;
	uint64_t offset = addr - ns->zone;

	return !(addr % 16) && offset > GORGON_ZONE_BLOCKS &&
	       offset < gorgon_zone_heap_end(ns->usage.zone_heap) &&
	       gorgon_zone_heap_usable((void *)(uintptr_t)addr) == size;
}

static const uint64_t *words_at(uint64_t addr)
{
	return (const uint64_t *)(uintptr_t)addr;
}

static uint64_t middle_index(const struct layout *layout, uint64_t zone)
{
	return zone >> layout->middle_shift & ((UINT64_C(1) << layout->middle_bits) - 1);
}

static uint64_t bottom_index(const struct layout *layout, uint64_t addr)
{
	return addr >> layout->arena_bits & ((UINT64_C(1) << layout->bottom_bits) - 1);
}

// Whether the words at an address are the middle of the tree, with one leaf, which knows arenas of
// the zone and nothing else.
static bool is_tree(const struct gorgon_interp *interp, const struct layout *layout,
		    uint64_t middle, struct gorgon_tables *ret)
{
	uint64_t zone = interp->ns->zone, at = middle_index(layout, zone), bottom, arenas = 0;

	if (zone >> layout->top_shift ||
	    !is_block(interp, middle, sizeof(uint64_t) << layout->middle_bits))
		return false;
	for (uint64_t i = 0; i < UINT64_C(1) << layout->middle_bits; i++)
		if (!words_at(middle)[i] != (i != at))
			return false;
	bottom = words_at(middle)[at];
	if (!is_block(interp, bottom, sizeof(uint64_t) << layout->bottom_bits))
		return false;
	for (uint64_t i = 0; i < UINT64_C(1) << layout->bottom_bits; i++) {
		uint64_t entry = words_at(bottom)[i], first = bottom_index(layout, zone);

		if (entry && (entry != ARENA_ENTRY || i < first ||
			      i >= first + (GORGON_ZONE_SIZE >> layout->arena_bits)))
			return false;
		arenas += entry != 0;
	}
	ret->middle = middle - zone;
	ret->bottom = bottom - zone;
	return arenas;
}

// The tree's root is a variable of libpython that it does not export.
static bool find_tree(const struct gorgon_interp *interp, const struct layout *layout,
		      struct gorgon_tables *ret)
{
	const struct gorgon_object *libpython = interp->libpython;
	unsigned found = 0;

	for (size_t i = 0; i < libpython->image->segment_count; i++) {
		const struct gorgon_segment *segment = &libpython->image->segments[i];
		uint64_t start = (libpython->bias + segment->vaddr + 7) & ~UINT64_C(7),
			 end = libpython->bias + segment->vaddr + segment->mem_size;

		for (; (segment->prot & PROT_WRITE) && start + 8 <= end; start += 8)
			found += is_tree(interp, layout, *words_at(start), ret);
	}
	return found == 1;
}

struct scrub {
	struct gorgon_interp *interp;
	const struct layout *layout;
	void *dict_type, *link_type; // the latter NULL: nobody has used it
	struct gorgon_ufuncs ufuncs;
	bool check_only; // whether elements of caches are what they are taken for
	struct gorgon_tables *tables;
};

static bool list_offset(uint64_t **list, size_t *count, uint64_t offset)
{
	if (!(*count & (*count - 1))) {
		uint64_t *grown = reallocarray(*list, *count ? 2 * *count : 1, sizeof(*grown));

		if (!grown)
			return false;
		*list = grown;
	}
	(*list)[(*count)++] = offset;
	return true;
}

// An element of a cache must have the hash of its key. Making a hash may run code of the program's,
// which allocates and frees.
static bool is_link(const struct scrub *scrub, const void *link)
{
	hash_fn *hash = (hash_fn *)gorgon_interp_find_api(scrub->interp, "PyObject_Hash");
	PyObject *key = (PyObject *)(uintptr_t)member(link, scrub->layout->link_key);

	return (int64_t)member(link, scrub->layout->link_hash) == hash(key);
}

// A block in use: plain dicts, which the collector need not know, elements of caches, and numpy's
// functions.
static bool visit_block(const struct scrub *scrub, const char *block, uint64_t size)
{
	const struct layout *layout = scrub->layout;
	const char *object = block + layout->gc_head;
	void *type = (void *)(uintptr_t)member(block, 8),
	     *collected = (void *)(uintptr_t)member(object, 8);

	if (scrub->link_type && type == scrub->link_type && size >= layout->link_size)
		return scrub->check_only
			       ? is_link(scrub, block)
			       : list_offset(&scrub->tables->links, &scrub->tables->link_count,
					     (uintptr_t)block - scrub->interp->ns->zone);
	if (scrub->check_only)
		return true;
	if (size == layout->gc_head + layout->dict_size && collected == scrub->dict_type &&
	    is_general(layout, object))
		return list_offset(&scrub->tables->dicts, &scrub->tables->dict_count,
				   (uintptr_t)object - scrub->interp->ns->zone);
	if (scrub->ufuncs.type && scrub->ufuncs.size <= size - layout->gc_head &&
	    collected == scrub->ufuncs.type)
		gorgon_numpy_forget(scrub->interp, &scrub->ufuncs, object);
	return true;
}

static bool visit_pool(const struct scrub *scrub, uint64_t pool, const bool *is_free)
{
	const struct pool *header = (const struct pool *)(uintptr_t)pool;
	const uint64_t size = ((uint64_t)header->class + 1) * 16;

	for (uint64_t at = scrub->layout->pool_header, i = 0; at < header->next_offset && size > 32;
	     at += size, i++)
		if (!is_free[i] && !visit_block(scrub, (const char *)(uintptr_t)(pool + at), size))
			return false;
	return true;
}

// Fill the free blocks of a pool with zeros, but for their links. False: it is no pool as we know
// it.
static bool scrub_pool(const struct scrub *scrub, uint64_t pool)
{
	const struct layout *layout = scrub->layout;
	const uint64_t pool_size = UINT64_C(1) << layout->pool_bits,
		       header_size = layout->pool_header;
	struct pool *header = (struct pool *)(uintptr_t)pool;
	uint64_t size = ((uint64_t)header->class + 1) * 16, carved, free = 0;
	bool is_free[1024] = {false};

	if (!header->next_offset) // never used
		return !header->free && !header->count;
	if (header->class >= 32 || header->max_offset != pool_size - size ||
	    (header->next_offset - header_size) % size || header->next_offset > pool_size)
		return false;
	carved = (header->next_offset - header_size) / size;
	for (uint64_t block = header->free; block; block = *words_at(block), free++) {
		uint64_t at = block - pool - header_size;

		if (block < pool + header_size || at % size || at / size >= carved ||
		    is_free[at / size])
			return false;
		is_free[at / size] = true;
		if (!scrub->check_only)
			memset((char *)(uintptr_t)block + sizeof(uint64_t), 0,
			       size - sizeof(uint64_t));
	}
	if ((uint32_t)header->count + free != carved)
		return false;
	if (!scrub->check_only)
		memset((char *)(uintptr_t)pool + header->next_offset, 0,
		       pool_size - header->next_offset);
	return visit_pool(scrub, pool, is_free);
}

// The type is in no module: it is found among all types.
static void *find_link_type(struct gorgon_interp *interp)
{
	const struct gorgon_api *api = interp->api;
	PyObject *types = api->PyObject_CallMethod(
		gorgon_interp_find_api(interp, "PyBaseObject_Type"), "__subclasses__", NULL);
	void *ret = NULL;

	for (Py_ssize_t i = 0; types && i < api->PyList_Size(types); i++) {
		PyObject *type = api->PyList_GetItem(types, i),
			 *name = api->PyObject_GetAttrString(type, "__name__");
		const char *text = name ? api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;

		if (text && !strcmp(text, "_lru_list_elem"))
			ret = type;
		api->Py_DecRef(name);
	}
	api->Py_DecRef(types);
	api->PyErr_Clear();
	return ret;
}

// False: a pool is none as we know it, or an element of a cache.
static bool walk_arenas(const struct scrub *scrub)
{
	const struct layout *layout = scrub->layout;
	uint64_t zone = scrub->interp->ns->zone, arena_size = UINT64_C(1) << layout->arena_bits;

	for (uint64_t arena = zone; arena < zone + GORGON_ZONE_SIZE; arena += arena_size) {
		if (!words_at(zone + scrub->tables->bottom)[bottom_index(layout, arena)])
			continue;
		for (uint64_t pool = arena; pool < arena + arena_size;
		     pool += UINT64_C(1) << layout->pool_bits)
			if (!scrub_pool(scrub, pool))
				return false;
	}
	return true;
}

// Clear what frames of Python functions have left. Frames lie one behind the other in mapped
// memory, and no function runs now. The thread's state says where this memory begins, from where on
// it is free, and where it ends.
static bool scrub_frames(struct gorgon_interp *interp, const struct layout *layout)
{
	const uint64_t *state = (const uint64_t *)(void *)API(interp, PyThreadState_Get)();
	uint64_t zone = interp->ns->zone;
	unsigned found = 0;

	for (unsigned i = 0; i < layout->state_words; i++) {
		uint64_t chunk = state[i];

		if (chunk % 4096 || chunk - zone < GORGON_ZONE_MAPS ||
		    chunk - zone >= GORGON_ZONE_END || state[i + 1] != chunk + layout->chunk_head ||
		    state[i + 2] != chunk + layout->chunk_size || words_at(chunk)[0] ||
		    words_at(chunk)[1] != layout->chunk_size)
			continue;
		memset((char *)(uintptr_t)state[i + 1], 0, state[i + 2] - state[i + 1]);
		found++;
	}
	return found == 1;
}

// --- all tables -------------------------------------------------------------------------------

// Dicts of subclasses, and sets: the collector knows all of them.
static bool list_collected(struct gorgon_interp *interp, const struct layout *layout,
			   struct gorgon_tables *tables)
{
	const struct gorgon_api *api = interp->api;
	PyTypeObject *set = API(interp, PySet_Type), *frozen = API(interp, PyFrozenSet_Type),
		     *dict = gorgon_interp_find_api(interp, "PyDict_Type");
	PyObject *gc = api->PyImport_ImportModule("gc"),
		 *objects = gc ? api->PyObject_CallMethod(gc, "get_objects", NULL) : NULL;
	bool done = objects;

	for (Py_ssize_t i = 0; done && i < api->PyList_Size(objects); i++) {
		PyObject *object = api->PyList_GetItem(objects, i);
		PyTypeObject *type = Py_TYPE(object);
		uint64_t offset = (uintptr_t)object - interp->ns->zone;

		if (api->PyType_IsSubtype(type, set) || api->PyType_IsSubtype(type, frozen))
			done = list_offset(&tables->sets, &tables->set_count, offset);
		else if (type != dict && api->PyType_GetFlags(type) & Py_TPFLAGS_DICT_SUBCLASS &&
			 is_general(layout, object))
			done = list_offset(&tables->dicts, &tables->dict_count, offset);
	}
	api->Py_DecRef(objects);
	api->Py_DecRef(gc);
	api->PyErr_Clear();
	return done;
}

// Python code may run until the memory is filled with zeros. What the collector finds the second
// time is what CPython keeps for the next object of a type: what is listed stays.
struct gorgon_error *gorgon_tables_collect(struct gorgon_interp *interp, struct gorgon_tables *ret)
{
	const struct layout *layout = layout_of(interp);
	struct scrub scrub = {interp,
			      layout,
			      gorgon_interp_find_api(interp, "PyDict_Type"),
			      find_link_type(interp),
			      gorgon_numpy_find(interp),
			      true,
			      ret};
	struct gorgon_error *err = NULL;

	*ret = (struct gorgon_tables){0};
	if (!find_tree(interp, layout, ret))
		return unknown_layout(interp, "the object allocator's tree of addresses");
	interp->api->PyGC_Collect();
	if (!list_collected(interp, layout, ret))
		err = &gorgon_error_nomem;
	else if (!walk_arenas(&scrub))
		err = unknown_layout(interp, "a cache of functools");
	interp->api->PyErr_Clear();
	interp->api->PyGC_Collect();
	scrub.check_only = false;
	if (!err && !walk_arenas(&scrub))
		err = unknown_layout(interp, "the object allocator");
	if (!err && !scrub_frames(interp, layout))
		err = unknown_layout(interp, "the memory of frames");
	if (err)
		gorgon_tables_free(ret);
	return err;
}

void gorgon_tables_free(struct gorgon_tables *tables)
{
	free(tables->dicts);
	free(tables->sets);
	free(tables->links);
	*tables = (struct gorgon_tables){0};
}

// --- which depend on addresses ------------------------------------------------------------------

static bool dict_depends(const struct layout *layout, const struct gorgon_runs *runs,
			 const void *dict)
{
	char *keys = keys_of(layout, dict);
	const struct dict_entry *entries = entries_of(layout, keys);

	for (uint64_t i = 0; i < member(keys, layout->keys_count); i++)
		if (entries[i].value &&
		    !gorgon_map_is_equal(runs, (uintptr_t)&entries[i].hash - runs->of[0]->ns->zone))
			return true;
	return false;
}

static bool set_depends(const struct layout *layout, const struct gorgon_runs *runs,
			const void *set)
{
	const struct set_entry *table = table_of(layout, set);

	for (uint64_t i = 0; i <= member(set, layout->set_mask); i++)
		if (table[i].key &&
		    !gorgon_map_is_equal(runs, (uintptr_t)&table[i].hash - runs->of[0]->ns->zone))
			return true;
	return false;
}

// Take the words of a stretch out of the list; those at which @is_pointer says so are addresses.
static bool take_unknown(struct gorgon_map *map, uint64_t start, uint64_t size,
			 bool (*is_pointer)(uint64_t addr, const void *first), uint64_t zone,
			 const void *first)
{
	size_t kept = 0;

	for (size_t i = 0; i < map->unknown_count; i++) {
		uint64_t offset = map->unknown[i];

		if (offset - start >= size)
			map->unknown[kept++] = offset;
		else if (is_pointer && is_pointer(zone + offset, first) &&
			 *words_at(zone + offset) - zone < GORGON_ZONE_SIZE &&
			 !gorgon_map_add_pointer(map, offset))
			return false;
	}
	map->unknown_count = kept;
	return true;
}

static bool is_key_of_set(uint64_t addr, const void *table)
{
	return !((addr - (uintptr_t)table) % sizeof(struct set_entry));
}

static bool is_object_of_dict(uint64_t addr, const void *entries)
{
	return addr >= (uintptr_t)entries &&
	       (addr - (uintptr_t)entries) % sizeof(struct dict_entry);
}

static bool take_dict(const struct layout *layout, struct gorgon_map *map, uint64_t zone,
		      const void *dict)
{
	char *keys = keys_of(layout, dict);
	const struct dict_entry *entries = entries_of(layout, keys);

	return take_unknown(map, (uintptr_t)keys - zone,
			    (uintptr_t)(entries + member(keys, layout->keys_count)) -
				    (uintptr_t)keys,
			    is_object_of_dict, zone, entries);
}

static bool take_set(const struct layout *layout, struct gorgon_map *map, uint64_t zone,
		     const void *set)
{
	const struct set_entry *table = table_of(layout, set);

	return take_unknown(map, (uintptr_t)table - zone,
			    (member(set, layout->set_mask) + 1) * sizeof(*table), is_key_of_set,
			    zone, table) &&
	       take_unknown(map, (uintptr_t)set + layout->set_fill - zone, 8, NULL, zone, NULL) &&
	       take_unknown(map, (uintptr_t)set + layout->set_hash - zone, 8, NULL, zone, NULL) &&
	       // Its first table is a part of it, and is left as it is when it gets another.
	       take_unknown(map, (uintptr_t)set + layout->set_small - zone,
			    SMALL_SET * sizeof(*table), NULL, zone, NULL);
}

bool gorgon_tables_choose(struct gorgon_tables *tables, const struct gorgon_runs *runs,
			  struct gorgon_map *map)
{
	const struct layout *layout = layout_of(runs->of[0]);
	uint64_t zone = runs->of[0]->ns->zone;
	size_t kept = 0;
	bool done = true;

	for (size_t i = 0; i < tables->dict_count && done; i++) {
		const void *dict = (void *)(uintptr_t)(zone + tables->dicts[i]);

		if (!dict_depends(layout, runs, dict))
			continue;
		tables->dicts[kept++] = tables->dicts[i];
		done = take_dict(layout, map, zone, dict);
	}
	tables->dict_count = kept;
	kept = 0;
	for (size_t i = 0; i < tables->set_count && done; i++) {
		const void *set = (void *)(uintptr_t)(zone + tables->sets[i]);

		if (!set_depends(layout, runs, set))
			continue;
		tables->sets[kept++] = tables->sets[i];
		done = take_set(layout, map, zone, set);
	}
	tables->set_count = kept;
	kept = 0;
	for (size_t i = 0; i < tables->link_count && done; i++) {
		uint64_t hash = tables->links[i] + layout->link_hash;

		if (gorgon_map_is_equal(runs, hash))
			continue;
		tables->links[kept++] = tables->links[i];
		done = take_unknown(map, hash, 8, NULL, zone, NULL);
	}
	tables->link_count = kept;
	return done &&
	       take_unknown(map, tables->middle, sizeof(uint64_t) << layout->middle_bits, NULL,
			    zone, NULL) &&
	       take_unknown(map, tables->bottom, sizeof(uint64_t) << layout->bottom_bits, NULL,
			    zone, NULL);
}

// --- in a copy ----------------------------------------------------------------------------------

void gorgon_tables_move_tree(const struct gorgon_tables *tables, uint64_t from, uint64_t to)
{
	const struct layout *layout = &layouts[0];
	uint64_t *middle = (uint64_t *)(uintptr_t)(to + tables->middle),
		 *bottom = (uint64_t *)(uintptr_t)(to + tables->bottom);
	const uint64_t count = GORGON_ZONE_SIZE >> layout->arena_bits;
	uint64_t *old = bottom + bottom_index(layout, from),
		 *new = bottom + bottom_index(layout, to);

	middle[middle_index(layout, from)] = 0;
	middle[middle_index(layout, to)] = (uintptr_t)bottom;
	if (old == new)
		return;
	memcpy(new, old, count * sizeof(*new));
	memset(old, 0, count * sizeof(*old));
}

// The hash of a frozenset is made of those in its table, so sets come before dicts, and those in
// sets before those that have them in the second round.
struct gorgon_error *gorgon_tables_rehash(const struct gorgon_tables *tables,
					  struct gorgon_interp *interp)
{
	const struct layout *layout = layout_of(interp);
	hash_fn *hash = (hash_fn *)gorgon_interp_find_api(interp, "PyObject_Hash");
	uint64_t zone = interp->ns->zone;
	bool done = true;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < tables->set_count && done; i++)
			done = rehash_set(layout, (void *)(uintptr_t)(zone + tables->sets[i]),
					  hash);
	for (size_t i = 0; i < tables->dict_count && done; i++)
		done = rehash_dict(layout, (void *)(uintptr_t)(zone + tables->dicts[i]), hash);
	for (size_t i = 0; i < tables->link_count && done; i++) {
		void *link = (void *)(uintptr_t)(zone + tables->links[i]);
		int64_t value = hash((PyObject *)(uintptr_t)member(link, layout->link_key));

		set_member(link, layout->link_hash, (uint64_t)value);
		done = value != -1;
	}
	if (done)
		return NULL;
	interp->api->PyErr_Clear();
	return gorgon_error_create(GORGON_ERROR_PYTHON,
				   "interpreter %u: an object of the template has no hash",
				   interp->number);
}
