// SPDX-License-Identifier: MIT
// Dicts and sets. Their keys lie where their hashes say, and the hash of an object without one of
// its own is its address: in a copy the keys of such tables are put in order anew.

#define _GNU_SOURCE
#include "hashed.h"
#include "ns/ns.h"

#include <stdlib.h>

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

// --- dicts ------------------------------------------------------------------------------------

static char *keys_of(const struct gorgon_layout *layout, const void *dict)
{
	return (char *)(uintptr_t)gorgon_member(dict, layout->dict_keys);
}

static struct dict_entry *entries_of(const struct gorgon_layout *layout, char *keys)
{
	return (struct dict_entry *)(keys + layout->keys_indices +
				     ((size_t)1 << (unsigned char)keys[layout->keys_log2_bytes]));
}

bool gorgon_dict_is_general(const struct gorgon_layout *layout, const void *dict)
{
	return !keys_of(layout, dict)[layout->keys_kind] &&
	       !gorgon_member(dict, layout->dict_values);
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

bool gorgon_dict_rehash(const struct gorgon_layout *layout, void *dict, gorgon_hash_fn *hash)
{
	char *keys = keys_of(layout, dict), *indices = keys + layout->keys_indices;
	unsigned log2_size = (unsigned char)keys[layout->keys_log2_size];
	size_t mask = ((size_t)1 << log2_size) - 1, count = gorgon_member(keys, layout->keys_count);
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

static struct set_entry *table_of(const struct gorgon_layout *layout, const void *set)
{
	return (struct set_entry *)(uintptr_t)gorgon_member(set, layout->set_table);
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

bool gorgon_set_rehash(const struct gorgon_layout *layout, void *set, gorgon_hash_fn *hash)
{
	struct set_entry *table = table_of(layout, set), *old;
	size_t mask = gorgon_member(set, layout->set_mask), size = (mask + 1) * sizeof(*table),
	       used = 0;
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
	gorgon_set_member(set, layout->set_fill, used);
	gorgon_set_member(set, layout->set_hash, (uint64_t)-1);
	free(old);
	return done;
}

// --- the check --------------------------------------------------------------------------------

bool gorgon_dict_is_known(struct gorgon_interp *interp, const struct gorgon_layout *layout,
			  gorgon_hash_fn *hash)
{
	const struct gorgon_api *api = interp->api;
	PyObject *none = (PyObject *)api->_Py_NoneStruct, *dict = api->PyDict_New();
	const struct dict_entry *entries;
	bool ret = dict && !api->PyDict_SetItem(dict, none, none) &&
		   !api->PyDict_SetItem(dict, dict ? (PyObject *)Py_TYPE(dict) : NULL, none);

	if (ret) {
		char *keys = keys_of(layout, dict);

		ret = gorgon_member(dict, layout->dict_used) == 2 &&
		      gorgon_dict_is_general(layout, dict) &&
		      gorgon_member(keys, layout->keys_count) == 2 &&
		      keys[layout->keys_log2_size] == 3 && keys[layout->keys_log2_bytes] == 3;
		entries = entries_of(layout, keys);
		ret = ret && entries[0].key == none && entries[0].hash == hash(none) &&
		      entries[0].value == none && entries[1].key == (PyObject *)Py_TYPE(dict) &&
		      entries[1].hash == hash(entries[1].key);
		// It must find them after this.
		ret = ret && gorgon_dict_rehash(layout, dict, hash) &&
		      api->PyObject_GetItem(dict, entries[1].key) == none;
		if (ret)
			api->Py_DecRef(none);
	}
	api->PyErr_Clear();
	api->Py_DecRef(dict);
	return ret;
}

bool gorgon_set_is_known(struct gorgon_interp *interp, const struct gorgon_layout *layout,
			 gorgon_hash_fn *hash)
{
	const struct gorgon_api *api = interp->api;
	PyObject *none = (PyObject *)api->_Py_NoneStruct, *set = API(interp, PySet_New)(NULL);
	bool ret = set && !API(interp, PySet_Add)(set, none) &&
		   !API(interp, PySet_Add)(set, (PyObject *)Py_TYPE(set));
	size_t mask, found = 0;

	if (ret) {
		const struct set_entry *table = table_of(layout, set);

		mask = gorgon_member(set, layout->set_mask);
		ret = mask == SMALL_SET - 1 &&
		      (const char *)table == (const char *)set + layout->set_small &&
		      gorgon_member(set, layout->set_used) == 2 &&
		      gorgon_member(set, layout->set_fill) == 2 &&
		      gorgon_member(set, layout->set_hash) == (uint64_t)-1;
		for (size_t i = 0; ret && i <= mask; i++)
			found += table[i].key && table[i].hash == hash(table[i].key);
		ret = ret && found == 2 && gorgon_set_rehash(layout, set, hash) &&
		      API(interp, PySet_Contains)(set, none) == 1 &&
		      API(interp, PySet_Contains)(set, (PyObject *)Py_TYPE(set)) == 1;
	}
	api->PyErr_Clear();
	api->Py_DecRef(set);
	return ret;
}

// --- which depend on addresses ------------------------------------------------------------------

bool gorgon_dict_depends(const struct gorgon_layout *layout, const struct gorgon_runs *runs,
			 const void *dict)
{
	char *keys = keys_of(layout, dict);
	const struct dict_entry *entries = entries_of(layout, keys);

	for (uint64_t i = 0; i < gorgon_member(keys, layout->keys_count); i++)
		if (entries[i].value &&
		    !gorgon_map_is_equal(runs, (uintptr_t)&entries[i].hash - runs->of[0]->ns->zone))
			return true;
	return false;
}

bool gorgon_set_depends(const struct gorgon_layout *layout, const struct gorgon_runs *runs,
			const void *set)
{
	const struct set_entry *table = table_of(layout, set);

	for (uint64_t i = 0; i <= gorgon_member(set, layout->set_mask); i++)
		if (table[i].key &&
		    !gorgon_map_is_equal(runs, (uintptr_t)&table[i].hash - runs->of[0]->ns->zone))
			return true;
	return false;
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

bool gorgon_dict_explain(const struct gorgon_layout *layout, struct gorgon_map *map, uint64_t zone,
			 const void *dict)
{
	char *keys = keys_of(layout, dict);
	const struct dict_entry *entries = entries_of(layout, keys);
	uintptr_t end = (uintptr_t)(entries + gorgon_member(keys, layout->keys_count));

	return gorgon_map_explain(map, (uintptr_t)keys - zone, end - (uintptr_t)keys,
				  is_object_of_dict, zone, entries);
}

bool gorgon_set_explain(const struct gorgon_layout *layout, struct gorgon_map *map, uint64_t zone,
			const void *set)
{
	const struct set_entry *table = table_of(layout, set);
	size_t size = (gorgon_member(set, layout->set_mask) + 1) * sizeof(*table);
	uint64_t at = (uintptr_t)set - zone;

	return gorgon_map_explain(map, (uintptr_t)table - zone, size, is_key_of_set, zone, table) &&
	       gorgon_map_explain(map, at + layout->set_fill, 8, NULL, zone, NULL) &&
	       gorgon_map_explain(map, at + layout->set_hash, 8, NULL, zone, NULL) &&
	       // Its first table is a part of it, and is left as it is when it gets another.
	       gorgon_map_explain(map, at + layout->set_small, SMALL_SET * sizeof(*table), NULL,
				  zone, NULL);
}
