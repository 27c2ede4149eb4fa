// SPDX-License-Identifier: MIT
// What of CPython's memory depends on addresses in another way than by holding them: dicts and sets
// (template/hashed.c), the object allocator's tree (template/arenas.c), and elements of
// functools.lru_cache(), which have the hashes of their keys. All of them are listed in each run;
// those that depend on addresses are kept with the template, and put in order in each copy.

#define _GNU_SOURCE
#include "tables.h"
#include "hashed.h"
#include "numpy.h"
#include "base/error.h"
#include "file/grow.h"
#include "ns/ns.h"
#include "python/api.h"

#include <stdlib.h>
#include <string.h>

static struct gorgon_error *unknown_layout(const struct gorgon_interp *interp, const char *what)
{
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "%s: %s is not as in the CPython 3.%u that templates know",
				   interp->python.libpython, what, interp->python.minor);
}

struct gorgon_error *gorgon_tables_check(struct gorgon_interp *interp)
{
	const struct gorgon_layout *layout = gorgon_layout_of(interp);
	gorgon_hash_fn *hash = (gorgon_hash_fn *)gorgon_interp_find_api(interp, "PyObject_Hash");

	if (!layout || !hash || !gorgon_dict_is_known(interp, layout, hash))
		return unknown_layout(interp, "a dict");
	return gorgon_set_is_known(interp, layout, hash) ? NULL : unknown_layout(interp, "a set");
}

// --- in a run --------------------------------------------------------------------------------

struct collecting {
	struct gorgon_interp *interp;
	const struct gorgon_layout *layout;
	void *dict_type, *link_type; // the latter NULL: nobody has used it
	struct gorgon_ufuncs ufuncs;
	bool check_only; // whether elements of caches are what they are taken for
	struct gorgon_tables *tables;
};

static bool list_offset(uint64_t **list, size_t *count, uint64_t offset)
{
	uint64_t *added = jitreg_add(list, count, sizeof(*added));

	if (added)
		*added = offset;
	return added;
}

// An element of a cache must have the hash of its key. Making a hash may run code of the program's,
// which allocates and frees.
static bool is_link(const struct collecting *collecting, const void *link)
{
	gorgon_hash_fn *hash =
		(gorgon_hash_fn *)gorgon_interp_find_api(collecting->interp, "PyObject_Hash");
	PyObject *key = (PyObject *)(uintptr_t)gorgon_member(link, collecting->layout->link_key);

	return (int64_t)gorgon_member(link, collecting->layout->link_hash) == hash(key);
}

// A block in use: plain dicts, which the collector need not know, elements of caches, numpy's
// functions, and its tables.
static bool visit_block(const char *block, uint64_t size, void *ctx)
{
	const struct collecting *collecting = ctx;
	const struct gorgon_layout *layout = collecting->layout;
	struct gorgon_tables *tables = collecting->tables;
	const char *object = block + layout->gc_head;
	void *type = (void *)(uintptr_t)gorgon_member(block, 8),
	     *collected = (void *)(uintptr_t)gorgon_member(object, 8);
	unsigned length;

	if (collecting->link_type && type == collecting->link_type && size >= layout->link_size)
		return collecting->check_only
			       ? is_link(collecting, block)
			       : list_offset(&tables->links, &tables->link_count,
					     (uintptr_t)block - collecting->interp->ns->zone);
	if (collecting->check_only)
		return true;
	if (collecting->ufuncs.type && (length = gorgon_numpy_keys_of(block, size)))
		return list_offset(&tables->identities, &tables->identity_count,
				   (uintptr_t)block - collecting->interp->ns->zone) &&
		       list_offset(&tables->identities, &tables->identity_count, length);
	if (size == layout->gc_head + layout->dict_size && collected == collecting->dict_type &&
	    gorgon_dict_is_general(layout, object))
		return list_offset(&tables->dicts, &tables->dict_count,
				   (uintptr_t)object - collecting->interp->ns->zone);
	if (collecting->ufuncs.type && collecting->ufuncs.size <= size - layout->gc_head &&
	    collected == collecting->ufuncs.type)
		gorgon_numpy_forget(collecting->interp, &collecting->ufuncs, object);
	return true;
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

// Dicts of subclasses, and sets: the collector knows all of them.
static bool list_collected(struct gorgon_interp *interp, const struct gorgon_layout *layout,
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
			 gorgon_dict_is_general(layout, object))
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
	const struct gorgon_layout *layout = gorgon_layout_of(interp);
	struct collecting collecting = {interp,
					layout,
					gorgon_interp_find_api(interp, "PyDict_Type"),
					find_link_type(interp),
					gorgon_numpy_find(interp),
					true,
					ret};
	struct gorgon_error *err = NULL;

	*ret = (struct gorgon_tables){0};
	if (!gorgon_arenas_find(interp, layout, &ret->tree))
		return unknown_layout(interp, "the object allocator's tree of addresses");
	interp->api->PyGC_Collect();
	if (!list_collected(interp, layout, ret))
		err = &gorgon_error_nomem;
	else if (!gorgon_arenas_walk(interp, layout, &ret->tree, false, visit_block,
				     &collecting))
		err = unknown_layout(interp, "a cache of functools");
	interp->api->PyErr_Clear();
	interp->api->PyGC_Collect();
	collecting.check_only = false;
	if (!err &&
	    !gorgon_arenas_walk(interp, layout, &ret->tree, true, visit_block, &collecting))
		err = unknown_layout(interp, "the object allocator");
	if (!err && !gorgon_frames_clear(interp, layout))
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
	free(tables->identities);
	*tables = (struct gorgon_tables){0};
}

// --- which depend on addresses ------------------------------------------------------------------

static bool is_table_in_all(const struct gorgon_runs *runs, uint64_t at, uint64_t length,
			    uint64_t size)
{
	for (int i = 1; i < 3; i++)
		if (gorgon_numpy_keys_of((void *)(uintptr_t)(runs->of[i]->ns->zone + at), size) !=
		    length)
			return false;
	return true;
}

// CPython 3.13 has mimalloc, which nobody uses where Python's own allocators are in use, but which
// has a random state from its start on: a cipher's, which begins with a text, and five words in
// front of it. The first of them names the thread, on aarch64 by an address of the C library's.
static bool explain_unused(const struct gorgon_interp *interp, struct gorgon_map *map)
{
	static const char text[] = "expand 32-byte k";
	const size_t before = 5, state = 2 * 16 * sizeof(uint32_t) / sizeof(uint64_t);
	struct gorgon_words words = {0};
	const uint64_t *word;
	bool done = true;

	while (done && (word = gorgon_words_next(interp, &words)))
		if ((size_t)(words.end - word) >= before + state &&
		    !memcmp(word + before, text, sizeof(text) - 1))
			done = gorgon_map_explain(map, (uintptr_t)word - interp->ns->zone,
						  (before + state) * sizeof(*word), NULL, 0, NULL);
	return done;
}

static bool is_any(uint64_t addr, const void *first)
{
	(void)addr;
	(void)first;
	return true;
}

bool gorgon_tables_choose(struct gorgon_tables *tables, const struct gorgon_runs *runs,
			  struct gorgon_map *map)
{
	const struct gorgon_layout *layout = gorgon_layout_of(runs->of[0]);
	uint64_t zone = runs->of[0]->ns->zone;
	size_t kept = 0;
	bool done = true;

	for (size_t i = 0; i < tables->dict_count && done; i++) {
		const void *dict = (void *)(uintptr_t)(zone + tables->dicts[i]);

		if (!gorgon_dict_depends(layout, runs, dict))
			continue;
		tables->dicts[kept++] = tables->dicts[i];
		done = gorgon_dict_explain(layout, map, zone, dict);
	}
	tables->dict_count = kept;
	kept = 0;
	for (size_t i = 0; i < tables->set_count && done; i++) {
		const void *set = (void *)(uintptr_t)(zone + tables->sets[i]);

		if (!gorgon_set_depends(layout, runs, set))
			continue;
		tables->sets[kept++] = tables->sets[i];
		done = gorgon_set_explain(layout, map, zone, set);
	}
	tables->set_count = kept;
	kept = 0;
	for (size_t i = 0; i < tables->link_count && done; i++) {
		uint64_t hash = tables->links[i] + layout->link_hash;

		if (gorgon_map_is_equal(runs, hash))
			continue;
		tables->links[kept++] = tables->links[i];
		done = gorgon_map_explain(map, hash, 8, NULL, zone, NULL);
	}
	tables->link_count = kept;
	kept = 0;
	for (size_t i = 0; i < tables->identity_count && done; i += 2) {
		uint64_t at = tables->identities[i], length = tables->identities[i + 1],
			 size = gorgon_numpy_size_of((void *)(uintptr_t)(zone + at),
						     (unsigned)length);

		if (!is_table_in_all(runs, at, length, size))
			continue;
		tables->identities[kept++] = at;
		tables->identities[kept++] = length;
		done = gorgon_map_explain(map, at, size, is_any, zone, NULL);
	}
	tables->identity_count = kept;
	return done && explain_unused(runs->of[0], map) &&
	       gorgon_map_explain(map, tables->tree.middle,
				  sizeof(uint64_t) << layout->middle_bits, NULL, zone, NULL) &&
	       gorgon_map_explain(map, tables->tree.bottom,
				  sizeof(uint64_t) << layout->bottom_bits, NULL, zone, NULL);
}

// --- in a copy ----------------------------------------------------------------------------------

// The hash of a frozenset is made of those in its table, so sets come before dicts, and those in
// sets before those that have them in the second round.
struct gorgon_error *gorgon_tables_rehash(const struct gorgon_tables *tables,
					  struct gorgon_interp *interp)
{
	const struct gorgon_layout *layout = gorgon_layout_of(interp);
	gorgon_hash_fn *hash = (gorgon_hash_fn *)gorgon_interp_find_api(interp, "PyObject_Hash");
	uint64_t zone = interp->ns->zone;
	bool done = true;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < tables->set_count && done; i++)
			done = gorgon_set_rehash(
				layout, (void *)(uintptr_t)(zone + tables->sets[i]), hash);
	for (size_t i = 0; i < tables->dict_count && done; i++)
		done = gorgon_dict_rehash(layout, (void *)(uintptr_t)(zone + tables->dicts[i]),
					  hash);
	for (size_t i = 0; i < tables->link_count && done; i++) {
		void *link = (void *)(uintptr_t)(zone + tables->links[i]);
		int64_t value = hash((PyObject *)(uintptr_t)gorgon_member(link, layout->link_key));

		gorgon_set_member(link, layout->link_hash, (uint64_t)value);
		done = value != -1;
	}
	for (size_t i = 0; i < tables->identity_count && done; i += 2)
		done = gorgon_numpy_rehash((void *)(uintptr_t)(zone + tables->identities[i]),
					   (unsigned)tables->identities[i + 1]);
	if (done)
		return NULL;
	interp->api->PyErr_Clear();
	return gorgon_error_create(GORGON_ERROR_PYTHON,
				   "interpreter %u: an object of the template has no hash",
				   interp->number);
}
