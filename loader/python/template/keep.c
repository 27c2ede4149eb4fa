// SPDX-License-Identifier: MIT
// Keeping an interpreter as a template: what it has in its memory, if copies of it would work, and
// what it has registered outside.

#define _GNU_SOURCE
#include "keep.h"
#include "naming.h"
#include "parts.h"
#include "state.h"
#include "base/error.h"
#include "base/lock.h"
#include "file/grow.h"
#include "image/image.h"
#include "image/zones.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/kernel/fork.h"
#include "process/kernel/signals.h"
#include "process/libc/environment.h"
#include "process/libc/locales.h"
#include "process/memory/zone_heap.h"
#include "process/threads/thread_dtors.h"
#include "process/threads/tsd.h"
#include "python/calls/import_locks.h"
#include "python/calls/traceback.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HANDFUL	      16 // of words that differ without an explanation
// More than these are no mistake of ours: the program has done something else.
#define WORDS_OF_ANOTHER 1000
#define INT_DIGITS_AT 24 // of CPython's int

struct keeping {
	struct gorgon_runs runs;
	const struct gorgon_thread *threads[3];
	uint64_t frames[3]; // of their stacks, the last ones
	struct gorgon_template *template;
	struct gorgon_ns *fresh; // in which no code has run
	bool differs;		 // what the program did in them
};

// --- libraries --------------------------------------------------------------------------------

static struct gorgon_error *keep_objects(struct keeping *keeping)
{
	struct gorgon_template *template = keeping->template;
	const struct gorgon_ns *ns = keeping->runs.of[0]->ns;
	size_t count = 0;

	for (const struct gorgon_object *object = ns->first; object; object = object->next)
		count++;
	if (!(template->objects = calloc(count, sizeof(*template->objects))))
		return &gorgon_error_nomem;
	for (const struct gorgon_object *object = ns->first; object; object = object->next) {
		struct gorgon_template_object *kept = &template->objects[template->object_count];

		if (object->start < ns->zone || object->end > ns->zone + GORGON_ZONE_BLOCKS)
			return gorgon_error_create(
				GORGON_ERROR_UNSUPPORTED,
				"template: %s is not in the lower half of its zone", object->path);
		if (!(kept->path = strdup(object->path)))
			return &gorgon_error_nomem;
		kept->image = object->image;
		kept->image->refs++;
		kept->offset = object->bias - ns->zone;
		kept->open_count = object->open_count;
		kept->flags = RTLD_NOW | (object->global ? RTLD_GLOBAL : 0) |
			      (object->deepbind ? RTLD_DEEPBIND : 0);
		template->object_count++;
	}
	return NULL;
}

static struct gorgon_error *list_places(struct keeping *keeping)
{
	struct gorgon_template *template = keeping->template;
	struct gorgon_image **images = calloc(template->object_count, sizeof(*images));
	bool done = images;

	for (size_t i = 0; done && i < template->object_count; i++)
		images[i] = template->objects[i].image;
	for (int i = 0; done && i < 3; i++)
		done = gorgon_spots_list(keeping->runs.of[i], keeping->threads[i], images,
					  template->object_count, &keeping->runs.places[i]);
	free(images);
	return done ? NULL
		    : gorgon_error_create(
			      GORGON_ERROR_UNSUPPORTED,
			      "template: two runs of it have loaded different libraries, "
			      "expected the same");
}

// Whether an address of the first run is the one that another run has.
static bool is_same(const struct keeping *keeping, int run, uint64_t addr, uint64_t other)
{
	const struct gorgon_spots *places = keeping->runs.places;

	return (uintptr_t)gorgon_spots_move(&places[0], &places[run],
					    (const void *)(uintptr_t)addr) == other;
}

// --- thread-specific data ----------------------------------------------------------------------

struct keys {
	struct keeping *keeping;
	int run;
	size_t count;
	bool failed;
	const char *other; // the library that has made a key that the first run has not
};

static void keep_key(void *ctx, unsigned number, void (*destructor)(void *), void *value,
		     uint64_t creator)
{
	struct keys *keys = ctx;
	struct gorgon_template *template = keys->keeping->template;
	struct gorgon_template_key *key;
	struct gorgon_runs *runs = &keys->keeping->runs;
	size_t i = keys->count++;

	keys->failed |= !gorgon_spots_add_key(&runs->places[keys->run], number);
	if (!keys->run) {
		key = jitreg_add(&template->keys, &template->key_count, sizeof(*key));
		if (key)
			*key = (struct gorgon_template_key){destructor, value, creator};
		keys->failed |= !key;
	} else if (!keys->other &&
		   (i >= template->key_count ||
		    !is_same(keys->keeping, keys->run, template->keys[i].creator, creator) ||
		    !is_same(keys->keeping, keys->run, (uintptr_t)template->keys[i].destructor,
			     (uintptr_t)destructor))) {
		keys->other = gorgon_naming_library(runs->of[keys->run], creator);
	}
}

static struct gorgon_error *keep_keys(struct keeping *keeping)
{
	for (int i = 0; i < 3; i++) {
		struct keys keys = {.keeping = keeping, .run = i};

		gorgon_tsd_each(keeping->runs.of[i]->ns, keeping->threads[i], keep_key, &keys);
		if (keys.failed)
			return &gorgon_error_nomem;
		if (!keys.other && keys.count < keeping->template->key_count)
			keys.other = gorgon_naming_library(
				keeping->runs.of[0], keeping->template->keys[keys.count].creator);
		if (keys.other)
			return gorgon_error_create(
				GORGON_ERROR_UNSUPPORTED,
				"template: %s: two runs of it have other keys of thread-specific "
				"data, expected the same",
				keys.other);
	}
	return NULL;
}

// A number may look like an address in one run. In all of them it does not, unless it is one, or
// NULL.
static bool leads_outside(const uint64_t words[3], char *mapping, size_t size)
{
	char other[512];

	for (int i = 1; i < 3; i++)
		if (words[i] && !gorgon_naming_mapping(words[i], other, sizeof(other)))
			return false;
	return gorgon_naming_mapping(words[0], mapping, size);
}

static bool add_tls_fix(struct gorgon_template *template, size_t object, size_t index, int place)
{
	struct gorgon_template_tls_fix *added =
		jitreg_add(&template->tls_fixes, &template->tls_fix_count, sizeof(*added));

	if (added)
		*added = (struct gorgon_template_tls_fix){(uint32_t)object, (uint32_t)index,
							  (uint32_t)place};
	return added;
}

// Whether a word of thread-local storage is the same in all, or means a place.
static bool explain_tls(struct keeping *keeping, uint64_t *const blocks[3], size_t object,
			size_t index)
{
	const struct gorgon_spots *places = keeping->runs.places;
	uint64_t word = blocks[0][index];
	int place;

	if (word == blocks[1][index] && word == blocks[2][index])
		return true;
	place = gorgon_spots_find(&places[0], GORGON_FORM_PLAIN, word);
	for (int i = 1; i < 3 && place >= 0; i++)
		if (gorgon_spots_word(GORGON_FORM_PLAIN, word, &places[0].list[place],
				       &places[i].list[place]) != blocks[i][index])
			place = -1;
	return place >= 0 && add_tls_fix(keeping->template, object, index, place);
}

static struct gorgon_error *keep_tls(struct keeping *keeping)
{
	struct gorgon_template *template = keeping->template;
	size_t unknown = 0;
	char name[512];

	for (size_t i = 0; i < template->object_count; i++) {
		struct gorgon_template_object *kept = &template->objects[i];
		size_t size = kept->image->tls.mem_size, words = size / sizeof(uint64_t);
		uint64_t *blocks[3];
		bool there = true;

		for (int k = 0; k < 3; k++) {
			blocks[k] = gorgon_spots_tls(
				keeping->threads[k],
				gorgon_spots_object(keeping->runs.of[k]->ns, kept->image));
			there = there && blocks[k];
		}
		if (!there)
			continue;
		if (!(kept->tls = malloc(size)))
			return &gorgon_error_nomem;
		memcpy(kept->tls, blocks[0], size);
		for (size_t k = 0; k < words; k++)
			if (!explain_tls(keeping, blocks, i, k) &&
			    (leads_outside((uint64_t[]){blocks[0][k], blocks[1][k],
							blocks[2][k]},
					   name, sizeof(name)) ||
			     ++unknown > HANDFUL))
				return gorgon_error_create(
					GORGON_ERROR_UNSUPPORTED,
					"template: %s: thread-local storage at +%#zx differs "
					"between two runs, and is no place of theirs",
					kept->path, k * sizeof(uint64_t));
	}
	return NULL;
}

// --- destructors of thread_local variables -----------------------------------------------------

struct dtors {
	struct keeping *keeping;
	int run;
	size_t count;
	bool failed;
	const char *other; // the library of one that the first run has not
};

static void keep_dtor(void *ctx, void (*fn)(void *), void *arg, void *dso)
{
	struct dtors *dtors = ctx;
	struct gorgon_template *template = dtors->keeping->template;
	struct gorgon_template_dtor *kept;
	int run = dtors->run;
	size_t i = dtors->count++;

	if (!run) {
		kept = jitreg_add(&template->dtors, &template->dtor_count, sizeof(*kept));
		if (kept)
			*kept = (struct gorgon_template_dtor){fn, arg, dso};
		dtors->failed |= !kept;
		return;
	}
	kept = i < template->dtor_count ? &template->dtors[i] : NULL;
	if (!dtors->other &&
	    (!kept || !is_same(dtors->keeping, run, (uintptr_t)kept->fn, (uintptr_t)fn) ||
	     !is_same(dtors->keeping, run, (uintptr_t)kept->arg, (uintptr_t)arg) ||
	     !is_same(dtors->keeping, run, (uintptr_t)kept->dso, (uintptr_t)dso)))
		dtors->other =
			gorgon_naming_library(dtors->keeping->runs.of[run], (uintptr_t)dso);
}

static struct gorgon_error *keep_dtors(struct keeping *keeping)
{
	for (int i = 0; i < 3; i++) {
		struct dtors dtors = {.keeping = keeping, .run = i};

		gorgon_thread_each_dtor(keeping->threads[i], keep_dtor, &dtors);
		if (dtors.failed)
			return &gorgon_error_nomem;
		if (!dtors.other && dtors.count < keeping->template->dtor_count)
			dtors.other = gorgon_naming_library(
				keeping->runs.of[0],
				(uintptr_t)keeping->template->dtors[dtors.count].dso);
		if (dtors.other)
			return gorgon_error_create(
				GORGON_ERROR_UNSUPPORTED,
				"template: %s: two runs of it have other thread_local variables "
				"with a destructor, expected the same",
				dtors.other);
	}
	return NULL;
}

// --- thread identities, hashes that stay --------------------------------------------------------

// An int below 257 is an object that is there once. Where the numbers of threads are so small, in a
// container for example, threading's main thread has such an object, another in each run. A copy
// asks for the number again.
static bool is_thread_number(const struct keeping *keeping, uint64_t offset)
{
	for (int i = 0; i < 3; i++) {
		const struct gorgon_interp *interp = keeping->runs.of[i];
		uint64_t zone = interp->ns->zone, object = *gorgon_words_at(zone + offset);

		if (object - zone >= GORGON_ZONE_SIZE - INT_DIGITS_AT - sizeof(uint64_t) ||
		    object % 8 ||
		    (void *)(uintptr_t)gorgon_words_at(object)[1] !=
			    gorgon_interp_find_api(interp, "PyLong_Type") ||
		    *(const uint32_t *)(uintptr_t)(object + INT_DIGITS_AT) !=
			    (uint32_t)keeping->threads[i]->tid)
			return false;
	}
	return true;
}

// A library may keep the identity of a thread that it has ended, as the child of a fork() does.
static bool is_ended_thread(const struct keeping *keeping, uint64_t offset)
{
	bool ret = true;

	for (int i = 0; i < 3 && ret; i++) {
		const struct gorgon_ns *ns = keeping->runs.of[i]->ns;

		ret = gorgon_zone_heap_knew_thread(ns->usage.zone_heap,
						   *gorgon_words_at(ns->zone + offset));
	}
	return ret;
}

// CPython computes a context variable's hash from its address, once, and stores it. Nobody asks for
// it (template/hash.c), so a copy may have the same.
static bool is_hash_of_variable(const struct keeping *keeping, uint64_t offset)
{
	const struct gorgon_arena_tree *tree = &keeping->template->tables.tree;
	uint64_t end;

	for (int i = 0; i < 3; i++) {
		const struct gorgon_interp *interp = keeping->runs.of[i];
		uint64_t variable = interp->ns->zone + offset - gorgon_layout_of(interp)->var_hash;

		if (!gorgon_arenas_have(interp, tree, variable, &end) ||
		    (void *)(uintptr_t)gorgon_words_at(variable)[1] !=
			    gorgon_interp_find_api(interp, "PyContextVar_Type"))
			return false;
	}
	return true;
}

// A variable of a call that has returned: nobody follows it, here or in a copy.
static bool is_left_by_a_call(const struct keeping *keeping, uint64_t offset)
{
	bool ret = true;

	for (int i = 0; i < 3 && ret; i++) {
		uint64_t word = *gorgon_words_at(keeping->runs.of[i]->ns->zone + offset);

		ret = word < keeping->frames[i] &&
		      keeping->frames[i] - word < GORGON_PYTHON_STACK_SIZE;
	}
	return ret;
}

static bool explain_numbers(const struct keeping *keeping)
{
	struct gorgon_map *map = &keeping->template->map;
	size_t kept = 0;

	for (size_t i = 0; i < map->unknown_count; i++) {
		uint64_t offset = map->unknown[i];

		if (offset % 8 == 0 &&
		    (is_ended_thread(keeping, offset) || is_hash_of_variable(keeping, offset) ||
		     is_left_by_a_call(keeping, offset)))
			continue;
		if (offset % 8 || !is_thread_number(keeping, offset))
			map->unknown[kept++] = offset;
		else if (!gorgon_map_add_pointer(map, offset))
			return false;
	}
	map->unknown_count = kept;
	return true;
}

// --- what nothing explains --------------------------------------------------------------------

static struct gorgon_error *refuse_differing(struct keeping *keeping, const char *place)
{
	keeping->differs = true;
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "template: %s: its runs did not do the same, expected that "
				   "nothing changes meanwhile that it looks at, files beside it "
				   "for example",
				   place);
}

static struct gorgon_error *check_unknown(struct keeping *keeping)
{
	const struct gorgon_map *map = &keeping->template->map;
	const struct gorgon_interp *interp = keeping->runs.of[0];
	const struct gorgon_ns *ns = interp->ns;
	char place[512], own[450], target[512];

	if (map->unknown_count > WORDS_OF_ANOTHER) {
		gorgon_naming_most(interp, keeping->template, place, sizeof(place));
		return refuse_differing(keeping, place);
	}
	for (size_t i = 0; i < map->unknown_count && i < 64; i++) {
		uint64_t words[3];

		for (int k = 0; k < 3; k++)
			memcpy(&words[k],
			       (void *)(uintptr_t)(keeping->runs.of[k]->ns->zone + map->unknown[i]),
			       sizeof(words[k]));
		if (words[0] - ns->zone < GORGON_ZONE_SIZE) {
			gorgon_naming_word(interp, keeping->template, words[0] - ns->zone, own,
					   sizeof(own));
			snprintf(target, sizeof(target), "%s that is another one in each run", own);
		} else if (!leads_outside(words, target, sizeof(target)))
			continue;
		gorgon_naming_word(interp, keeping->template, map->unknown[i], place,
				   sizeof(place));
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"template: %s: an address in %s, which a copy cannot have", place, target);
	}
	if (map->unknown_count <= HANDFUL)
		return NULL;
	gorgon_naming_most(interp, keeping->template, place, sizeof(place));
	return gorgon_error_create(
		GORGON_ERROR_UNSUPPORTED,
		"template: %s: one of %zu words that differ between two runs "
		"and are no address of theirs, expected %d at most",
		place, map->unknown_count, HANDFUL);
}

// --- what is outside of the memory -----------------------------------------------------------

struct listing {
	struct gorgon_template *template;
	bool failed;
};

static void keep_exit(void *ctx, const struct gorgon_atexit_entry *entry)
{
	struct listing *listing = ctx;
	struct gorgon_template *template = listing->template;
	struct gorgon_atexit_entry *added =
		jitreg_add(&template->exits, &template->exit_count, sizeof(*added));

	listing->failed |= !added;
	if (added)
		*added = *entry;
}

static void keep_fork(void *ctx, void (*const fns[3])(void), uintptr_t owner)
{
	struct listing *listing = ctx;
	struct gorgon_template *template = listing->template;
	struct gorgon_template_fork *added =
		jitreg_add(&template->forks, &template->fork_count, sizeof(*added));

	listing->failed |= !added;
	if (added)
		*added = (struct gorgon_template_fork){{fns[0], fns[1], fns[2]}, owner};
}

static bool keep_environment(struct gorgon_template *template, const struct gorgon_ns *ns)
{
	char ***list = gorgon_environment_list(ns->environment), **p;
	size_t count = 0;

	for (p = list ? *list : NULL; p && *p; p++)
		count++;
	if (!(template->environment = calloc(count + 1, sizeof(char *))))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!(template->environment[i] = strdup((*list)[i])))
			return false;
	return true;
}

static bool keep_registered(struct gorgon_template *template, const struct gorgon_interp *interp)
{
	const struct gorgon_ns *ns = interp->ns;
	struct listing listing = {template, false};
	const char *locale = gorgon_setlocale(LC_ALL, NULL, ns->locale);

	gorgon_atexit_each(gorgon_parts_state(ns->parts, &gorgon_atexit_part), keep_exit, &listing);
	gorgon_fork_each(ns, keep_fork, &listing);
	for (int number = 1; number < NSIG; number++)
		if (gorgon_signal_action(number, NULL, &template->signals[number], ns->signals))
			template->signals[number].sa_handler = SIG_DFL;
	if (interp->import_locks) {
		template->import_locks = malloc(gorgon_import_locks_size());
		if (!template->import_locks)
			return false;
		memcpy(template->import_locks, interp->import_locks, gorgon_import_locks_size());
	}
	template->traceback = gorgon_traceback_handler(interp);
	template->interrupt_type = interp->interrupt_type;
	template->module = interp->module;
	template->array_type = interp->array_type;
	template->array_methods = interp->array_methods;
	return !listing.failed && (!locale || (template->locale = strdup(locale))) &&
	       (template->libpython = strdup(interp->python.libpython)) &&
	       keep_environment(template, ns) && gorgon_template_keep_parts(template, ns);
}

// --- memory -----------------------------------------------------------------------------------

static bool keep_memory(struct gorgon_template *template, const struct gorgon_ns *ns)
{
	const struct gorgon_map *map = &template->map;
	unsigned char *to;

	for (size_t i = 0; i < map->piece_count; i++)
		template->bytes_size += map->pieces[i].size;
	to = mmap(NULL, template->bytes_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	if (to == MAP_FAILED)
		return false;
	template->bytes = to;
	for (size_t i = 0; i < map->piece_count; to += map->pieces[i++].size)
		memcpy(to, (void *)(uintptr_t)(ns->zone + map->pieces[i].offset),
		       map->pieces[i].size);
	template->blocks_size = gorgon_zone_heap_end(ns->usage.zone_heap) - GORGON_ZONE_BLOCKS;
	return true;
}

static struct gorgon_error *keep(struct keeping *keeping)
{
	struct gorgon_template *template = keeping->template;
	const struct gorgon_ns *ns = keeping->runs.of[0]->ns;
	struct gorgon_error *err;
	char place[512];
	bool same;

	if ((err = gorgon_template_check_parts(ns, keeping->fresh)) ||
	    (err = keep_objects(keeping)) || (err = list_places(keeping)) ||
	    (err = keep_keys(keeping)) || (err = keep_tls(keeping)) ||
	    (err = keep_dtors(keeping)) ||
	    (err = gorgon_map_create(&keeping->runs, &template->map, &same)))
		return err;
	if (!same) {
		gorgon_naming_difference(&keeping->runs, template, place, sizeof(place));
		return refuse_differing(keeping, place);
	}
	if (!gorgon_tables_choose(&template->tables, &keeping->runs, &template->map) ||
	    !explain_numbers(keeping))
		return &gorgon_error_nomem;
	if ((err = check_unknown(keeping)))
		return err;
	return keep_memory(template, ns) && keep_registered(template, keeping->runs.of[0])
		       ? NULL
		       : &gorgon_error_nomem;
}

struct gorgon_error *gorgon_template_keep(const struct gorgon_template_run runs[3],
					  struct gorgon_template **ret, bool *differs)
{
	struct keeping keeping = {.template = calloc(1, sizeof(*keeping.template))};
	struct gorgon_error *err, *ended;

	*differs = false;
	if (!keeping.template)
		return &gorgon_error_nomem;
	if ((err = gorgon_ns_create(NULL, &keeping.fresh))) {
		free(keeping.template);
		return err;
	}
	keeping.template->refs = 1;
	for (int i = 0; i < 3; i++) {
		keeping.runs.of[i] = runs[i].interp;
		keeping.threads[i] = runs[i].thread;
		keeping.frames[i] = runs[i].frame;
	}
	keeping.template->tables = runs[0].tables;
	gorgon_lock();
	err = keep(&keeping);
	gorgon_unlock();
	*differs = keeping.differs;
	ended = gorgon_ns_destroy(keeping.fresh); // nothing was loaded there
	gorgon_error_destroy(ended);
	keeping.template->places = keeping.runs.places[0];
	gorgon_spots_free(&keeping.runs.places[1]);
	gorgon_spots_free(&keeping.runs.places[2]);
	if (err) {
		keeping.template->tables = (struct gorgon_tables){0}; // the run has them
		gorgon_template_drop(keeping.template);
		return err;
	}
	*ret = keeping.template;
	return NULL;
}
