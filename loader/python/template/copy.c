// SPDX-License-Identifier: MIT
// An interpreter that is a copy of a template's.
//
// The libraries are loaded as usual, by this interpreter's own loader, constructors included. So
// its thunks, its relocation, its unwinding and what debuggers know of it are its own. Then all
// that its code may have written is thrown away, and the template's memory is there in its place,
// at the same offsets of the zone; each word that means a place (template/map.c) gets this
// interpreter's place. What the template had registered outside of its memory is registered again.
//
// The template's memory was kept at a point where fork() keeps it: before and after it the same is
// called, from pthread_atfork() and from Python.

#define _GNU_SOURCE
#include "copy.h"
#include "parts.h"
#include "state.h"
#include "base/error.h"
#include "base/lock.h"
#include "dl/dl.h"
#include "image/image.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/tls.h"
#include "process/kernel/fork.h"
#include "process/kernel/signals.h"
#include "process/libc/environment.h"
#include "process/libc/locales.h"
#include "process/memory/zone_heap.h"
#include "process/threads/thread_dtors.h"
#include "process/threads/tsd.h"
#include "python/api.h"
#include "python/calls/import_locks.h"
#include "python/calls/interrupt.h"
#include "python/calls/traceback.h"
#include "python/values/module.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HUGE_PAGE UINT64_C(0x200000)
#define WAIT_MS 1000 // for threads that constructors have started, and that are told to end

struct copying {
	const struct gorgon_template *template;
	struct gorgon_interp *interp;
	struct gorgon_spots places; // of @interp
	struct gorgon_error *err;
};

static void *moved(void *ctx, void *addr)
{
	const struct copying *copying = ctx;

	return gorgon_spots_move(&copying->template->places, &copying->places, addr);
}

static struct gorgon_error *other_place(const struct copying *copying, const char *path)
{
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "interpreter %u: %s is not where the template has it",
				   copying->interp->number, path);
}

// --- loading ----------------------------------------------------------------------------------

static struct gorgon_error *load_objects(const struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	struct gorgon_interp *interp = copying->interp;

	for (size_t i = 0; i < template->object_count; i++) {
		const struct gorgon_template_object *object = &template->objects[i];
		const struct gorgon_object *own = gorgon_spots_object(interp->ns, object->image);

		// The first one, libpython, is open.
		for (unsigned n = i ? 0 : 1; n < object->open_count; n++)
			if (!gorgon_dl_open(object->path, object->flags, interp->ns))
				return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
							   "interpreter %u: %s", interp->number,
							   gorgon_dl_error(interp->ns));
		own = gorgon_spots_object(interp->ns, object->image);
		if (object->open_count && !own)
			return other_place(copying, object->path);
	}
	for (size_t i = 0; i < template->object_count; i++) {
		const struct gorgon_template_object *object = &template->objects[i];
		const struct gorgon_object *own = gorgon_spots_object(interp->ns, object->image);

		if (!own || own->bias - interp->ns->zone != object->offset)
			return other_place(copying, object->path);
	}
	return NULL;
}

// Constructors may have started threads, which end before a fork().
static struct gorgon_error *wait_for_threads(const struct copying *copying)
{
	const struct timespec a_moment = {0, 1000000};
	const struct gorgon_ns *ns = copying->interp->ns;
	unsigned left = WAIT_MS;

	while (__atomic_load_n(&ns->thread_count, __ATOMIC_ACQUIRE) && left--)
		nanosleep(&a_moment, NULL);
	return ns->thread_count
		       ? gorgon_error_create(GORGON_ERROR_BUSY,
					     "interpreter %u: %u threads that constructors of its "
					     "libraries have started still run",
					     copying->interp->number, ns->thread_count)
		       : NULL;
}

// --- memory -----------------------------------------------------------------------------------

// How many bytes of a part of the zone are copied.
static uint64_t copied_within(const struct gorgon_map *map, uint64_t start, uint64_t end)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < map->piece_count; i++) {
		uint64_t from = map->pieces[i].offset, to = from + map->pieces[i].size;

		from = from > start ? from : start;
		to = to < end ? to : end;
		ret += to > from ? to - from : 0;
	}
	return ret;
}

// A huge page costs a tenth of the small pages that it stands for. Where the system has none, small
// pages do.
static void prefer_huge_pages(const struct gorgon_map *map, uint64_t zone)
{
	for (size_t i = 0; i < map->span_count; i++) {
		const struct gorgon_span *span = &map->spans[i];
		uint64_t at = (span->offset + HUGE_PAGE - 1) & -HUGE_PAGE;

		for (; !span->is_library && at + HUGE_PAGE <= span->offset + span->size;
		     at += HUGE_PAGE)
			if (copied_within(map, at, at + HUGE_PAGE) >= HUGE_PAGE / 4 * 3)
				madvise((void *)(uintptr_t)(zone + at), HUGE_PAGE, MADV_HUGEPAGE);
	}
}

static struct gorgon_error *map_memory(const struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	struct gorgon_ns *ns = copying->interp->ns;

	if (!gorgon_zone_heap_reset(ns, template->blocks_size))
		return &gorgon_error_nomem;
	for (size_t i = 0; i < template->map.span_count; i++) {
		const struct gorgon_span *span = &template->map.spans[i];

		if (span->prot && !gorgon_zone_heap_place(ns, span->offset, span->size))
			return &gorgon_error_nomem;
	}
	prefer_huge_pages(&template->map, ns->zone);
	return NULL;
}

static void copy_memory(const struct copying *copying)
{
	const struct gorgon_map *map = &copying->template->map;
	const unsigned char *from = copying->template->bytes;
	uint64_t zone = copying->interp->ns->zone;

	for (size_t i = 0; i < map->piece_count; i++) {
		memcpy((void *)(uintptr_t)(zone + map->pieces[i].offset), from,
		       map->pieces[i].size);
		from += map->pieces[i].size;
	}
}

static void move_words(const struct copying *copying)
{
	const struct gorgon_map *map = &copying->template->map;
	const struct gorgon_spot *from = copying->template->places.list,
				  *to = copying->places.list;
	char *zone = (char *)(uintptr_t)copying->interp->ns->zone;
	uint64_t *words = (uint64_t *)(void *)zone, delta = to[0].start - from[0].start;

	for (size_t i = 0; i < map->pointer_count; i++)
		words[map->pointers[i]] += delta;
	for (size_t i = 0; i < map->fix_count; i++) {
		const struct gorgon_fix *fix = &map->fixes[i];
		char *place = zone + (uint64_t)fix->half_offset * 2;
		uint64_t word;

		memcpy(&word, place, sizeof(word));
		word = gorgon_spots_word(fix->form, word, &from[fix->place], &to[fix->place]);
		memcpy(place, &word, sizeof(word));
	}
}

static bool protect_memory(const struct copying *copying)
{
	const struct gorgon_map *map = &copying->template->map;

	for (size_t i = 0; i < map->span_count; i++)
		if (map->spans[i].prot && map->spans[i].prot != (PROT_READ | PROT_WRITE) &&
		    mprotect((void *)(uintptr_t)(copying->interp->ns->zone + map->spans[i].offset),
			     map->spans[i].size, map->spans[i].prot))
			return false;
	return true;
}

// --- the main thread --------------------------------------------------------------------------

static struct gorgon_error *make_keys(struct copying *copying)
{
	const struct gorgon_template *template = copying->template;

	// Those of constructors are among the template's.
	gorgon_lock();
	gorgon_tsd_drop(copying->interp->ns);
	gorgon_unlock();
	for (size_t i = 0; i < template->key_count; i++) {
		const struct gorgon_template_key *key = &template->keys[i];
		unsigned number;

		if (gorgon_tsd_create(&number,
				      (void (*)(void *))moved(copying, (void *)key->destructor),
				      copying->interp->ns) ||
		    !gorgon_spots_add_key(&copying->places, number) ||
		    gorgon_tsd_set(number, moved(copying, key->value)))
			return &gorgon_error_nomem;
	}
	return NULL;
}

static void copy_tls(const struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	const struct gorgon_ns *ns = copying->interp->ns;

	for (size_t i = 0; i < template->object_count; i++) {
		const struct gorgon_object *object =
			gorgon_spots_object(ns, template->objects[i].image);
		struct gorgon_tls_index index = {object->tls_module, 0};

		if (template->objects[i].tls)
			memcpy(gorgon_tls_get_addr(&index), template->objects[i].tls,
			       object->image->tls.mem_size);
	}
	for (size_t i = 0; i < template->tls_fix_count; i++) {
		const struct gorgon_template_tls_fix *fix = &template->tls_fixes[i];
		const struct gorgon_object *object =
			gorgon_spots_object(ns, template->objects[fix->object].image);
		uint64_t *words = gorgon_spots_tls(gorgon_thread_peek(), object);

		words[fix->index] =
			(uintptr_t)moved((void *)copying, (void *)(uintptr_t)words[fix->index]);
	}
}

// What constructors have registered on this thread is among the template's.
static bool register_dtors(struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	bool done = true;

	gorgon_lock();
	gorgon_thread_forget_dtors(copying->interp->ns);
	gorgon_unlock();
	for (size_t i = template->dtor_count; i-- > 0 && done;) {
		const struct gorgon_template_dtor *dtor = &template->dtors[i];

		done = !gorgon_thread_atexit((void (*)(void *))moved(copying, (void *)dtor->fn),
					     moved(copying, dtor->arg), moved(copying, dtor->dso));
	}
	return done;
}

// Each object with thread-local storage that the template's main thread has used has a block,
// before places are listed.
static void touch_tls(const struct copying *copying)
{
	const struct gorgon_template *template = copying->template;

	for (size_t i = 0; i < template->object_count; i++) {
		struct gorgon_tls_index index = {0, 0};

		if (!template->objects[i].tls)
			continue;
		index.module = gorgon_spots_object(copying->interp->ns, template->objects[i].image)
				       ->tls_module;
		gorgon_tls_get_addr(&index);
	}
}

// --- what is registered outside ----------------------------------------------------------------

struct twin_search {
	const struct gorgon_atexit_entry *exit;
	const struct gorgon_template_fork *fork;
	bool found;
};

static void compare_exit(void *ctx, const struct gorgon_atexit_entry *entry)
{
	struct twin_search *search = ctx;

	search->found |= !memcmp(entry, search->exit, sizeof(*entry));
}

static void compare_fork(void *ctx, void (*const fns[3])(void), uintptr_t owner)
{
	struct twin_search *search = ctx;

	search->found |= owner == search->fork->owner &&
			 !memcmp(fns, search->fork->fns, sizeof(search->fork->fns));
}

// What constructors have registered is there already.
static bool register_exits(struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	struct gorgon_atexit *exits =
		gorgon_parts_state(copying->interp->ns->parts, &gorgon_atexit_part);

	for (size_t i = 0; i < template->exit_count; i++) {
		struct gorgon_atexit_entry entry = template->exits[i];
		struct twin_search search = {.exit = &entry};

		entry.fn = (void (*)(void *))moved(copying, (void *)entry.fn);
		entry.status_fn = (void (*)(int, void *))moved(copying, (void *)entry.status_fn);
		entry.arg = moved(copying, entry.arg);
		entry.dso = moved(copying, entry.dso);
		gorgon_atexit_each(exits, compare_exit, &search);
		if (!search.found && !gorgon_atexit_add(exits, &entry))
			return false;
	}
	return true;
}

static bool register_forks(struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	struct gorgon_ns *ns = copying->interp->ns;

	for (size_t i = 0; i < template->fork_count; i++) {
		struct gorgon_template_fork fork = template->forks[i];
		struct twin_search search = {.fork = &fork};

		for (int k = 0; k < 3; k++)
			fork.fns[k] = (void (*)(void))moved(copying, (void *)fork.fns[k]);
		fork.owner = (uintptr_t)moved(copying, (void *)fork.owner);
		gorgon_lock();
		gorgon_fork_each(ns, compare_fork, &search);
		gorgon_unlock();
		if (!search.found && !gorgon_fork_add(ns, fork.owner, fork.fns))
			return false;
	}
	return true;
}

// Whether the copy is to ignore SIGINT, as its process does. The template ran as a worker does, and
// a worker has a handler for SIGINT in such a process, too.
static bool ignores_sigint(const struct copying *copying)
{
	struct sigaction action;

	return !gorgon_signal_action(SIGINT, NULL, &action, copying->interp->ns->signals) &&
	       action.sa_handler == SIG_IGN;
}

static void set_signals(struct copying *copying)
{
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action = copying->template->signals[number];

		if (action.sa_handler == SIG_DFL || (number == SIGINT && ignores_sigint(copying)))
			continue;
		action.sa_handler = (void (*)(int))moved(copying, (void *)action.sa_handler);
		gorgon_signal_action(number, &action, NULL, copying->interp->ns->signals);
	}
}

static bool set_environment(const struct copying *copying)
{
	struct gorgon_environment *environment = copying->interp->ns->environment;
	bool done = true;

	if (!gorgon_environment_list(environment))
		return true; // it is the process's
	gorgon_clearenv(environment);
	for (char **p = copying->template->environment; *p && done; p++) {
		const char *value = strchr(*p, '=');
		char *name = value ? strndup(*p, (size_t)(value - *p)) : NULL;

		done = name && !gorgon_setenv(name, value + 1, true, environment);
		free(name);
	}
	return done;
}

static struct gorgon_error *register_again(struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	struct gorgon_interp *interp = copying->interp;

	if (!register_dtors(copying) || !register_exits(copying) || !register_forks(copying) ||
	    !set_environment(copying) ||
	    !gorgon_template_copy_parts(template, interp->ns, moved, copying))
		return &gorgon_error_nomem;
	if (template->import_locks)
		gorgon_import_locks_copy(template->import_locks, interp, moved, copying);
	set_signals(copying);
	if (template->locale)
		gorgon_setlocale(LC_ALL, template->locale, interp->ns->locale);
	return NULL;
}

// --- Python -----------------------------------------------------------------------------------

// What fork() does not renew: numpy's first generator, which was settled for the comparison; the C
// library's time zone, which each namespace has for itself; and the main thread's number, where it
// is an object that other numbers have, too.
static const char renewal[] = "def renew(modules=__import__('sys').modules):\n"
			      "    if 'time' in modules: modules['time'].tzset()\n"
			      "    if 'threading' in modules:\n"
			      "        modules['threading'].main_thread()._set_native_id()\n"
			      "    if 'numpy.random' in modules: modules['numpy.random'].seed()\n"
			      "renew()\n";

// Run it without a trace: a dict of its own for names.
static bool run_alone(struct gorgon_interp *interp, const char *source)
{
	const struct gorgon_api *api = interp->api;
	PyObject *code = api->Py_CompileString(source, "<template>", Py_file_input),
		 *globals = api->PyDict_New(), *builtins = api->PyImport_ImportModule("builtins"),
		 *name = api->PyUnicode_FromStringAndSize("__builtins__", 12), *result = NULL;

	if (code && globals && builtins && name && !api->PyDict_SetItem(globals, name, builtins))
		result = api->PyEval_EvalCode(code, globals, globals);
	api->Py_DecRef(result);
	api->Py_DecRef(name);
	api->Py_DecRef(builtins);
	api->Py_DecRef(globals);
	api->Py_DecRef(code);
	return result;
}

// The memory has the GIL, as the template's main thread had it.
static struct gorgon_error *wake_python(struct copying *copying)
{
	struct gorgon_interp *interp = copying->interp;
	void (*after)(void) =
		(void (*)(void))gorgon_interp_find_api(interp, "PyOS_AfterFork_Child");
	struct gorgon_error *err = gorgon_tables_rehash(&copying->template->tables, interp);

	if (err)
		return err;
	gorgon_fork_rehearse(interp->ns, GORGON_FORK_CHILD);
	after();
	gorgon_interrupt_adopt(interp, moved(copying, copying->template->interrupt_type));
	gorgon_traceback_adopt(interp,
			       (void (*)(int))moved(copying, (void *)copying->template->traceback));
	interp->module = moved(copying, copying->template->module);
	interp->array_type = moved(copying, copying->template->array_type);
	interp->array_methods = moved(copying, copying->template->array_methods);
	return gorgon_module_renumber(interp) && run_alone(interp, renewal)
		       ? NULL
		       : gorgon_call_fail(interp);
}

static struct gorgon_error *copy_all(struct copying *copying)
{
	const struct gorgon_template *template = copying->template;
	struct gorgon_interp *interp = copying->interp;
	struct gorgon_image **images = calloc(template->object_count, sizeof(*images));
	struct gorgon_error *err;
	bool listed;

	for (size_t i = 0; images && i < template->object_count; i++)
		images[i] = template->objects[i].image;
	touch_tls(copying);
	gorgon_lock();
	listed = images && gorgon_spots_list(interp, gorgon_thread_get(), images,
					     template->object_count, &copying->places);
	gorgon_unlock();
	free(images);
	if (!listed)
		return &gorgon_error_nomem;
	if ((err = map_memory(copying)) || (err = make_keys(copying)))
		return err;
	copy_memory(copying);
	move_words(copying);
	gorgon_arenas_move(gorgon_layout_of(interp), &template->tables.tree,
			   template->places.list[0].start, copying->places.list[0].start);
	copy_tls(copying);
	gorgon_zone_heap_close(interp->ns);
	if (!protect_memory(copying))
		return &gorgon_error_nomem;
	return register_again(copying) ?: wake_python(copying);
}

struct gorgon_error *gorgon_template_copy(struct gorgon_interp *interp)
{
	struct copying copying = {.template = interp->template, .interp = interp};
	struct gorgon_error *err;

	if ((err = load_objects(&copying)))
		return err;
	gorgon_fork_rehearse(interp->ns, GORGON_FORK_PREPARE);
	if (!(err = wait_for_threads(&copying)))
		err = copy_all(&copying);
	gorgon_spots_free(&copying.places);
	return err;
}

// As the template's own thread goes on, which has taken it with PyGILState_Ensure().
void gorgon_template_copied(struct gorgon_interp *interp)
{
	interp->api->PyGILState_Release(PyGILState_UNLOCKED);
}
