// SPDX-License-Identifier: MIT
// An object becomes known to its namespace, the unwinder and debuggers; and the way back.

#define _GNU_SOURCE
#include "debug_mode.h"
#include "publish.h"
#include "base/error.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/unwind.h"
#include "process/memory/jit_mirror.h"

#include <errno.h>
#include <jitreg.h>
#include <string.h>

static void append_to_ns(struct gorgon_object *object)
{
	struct gorgon_ns *ns = object->ns;

	object->prev = ns->last;
	object->map.l_prev = ns->last ? &ns->last->map : NULL;
	if (ns->last) {
		ns->last->next = object;
		ns->last->map.l_next = &object->map;
	} else {
		ns->first = object;
	}
	ns->last = object;
	ns->load_count++;
	gorgon_debug_object_link(&ns->debug, &object->debug);
}

static void remove_from_ns(struct gorgon_object *object)
{
	struct gorgon_ns *ns = object->ns;

	if (object->prev)
		object->prev->next = object->next;
	else
		ns->first = object->next;
	if (object->next)
		object->next->prev = object->prev;
	else
		ns->last = object->prev;
	if (object->prev)
		object->prev->map.l_next = object->map.l_next;
	if (object->next)
		object->next->map.l_prev = object->map.l_prev;
	for (struct gorgon_object *o = ns->first; o; o = o->next)
		if (o->requester.loader == &object->requester)
			o->requester.loader = NULL;
	ns->unload_count++;
	gorgon_debug_begin();
	gorgon_debug_object_unlink(&object->debug);
	if (ns->debug.python_object == (uintptr_t)&object->debug)
		ns->debug.python_object = 0;
	gorgon_debug_end();
}

static void publish_describe(struct gorgon_object *object)
{
	struct gorgon_debug_object *debug = &object->debug;

	// All copies of a file refer to one text where possible, because readers keep what they
	// have read.
	if (!strcmp(object->path, object->image->path))
		debug->path = (uintptr_t)object->image->path;
	else
		debug->path = (uintptr_t)object->path;
	debug->path_size = (uint32_t)strlen(object->path);
	debug->bias = object->bias;
	debug->start = object->start;
	debug->end = object->end;
	object->map.l_addr = object->bias;
	object->map.l_name = object->path;
	object->map.l_ld = (Elf64_Dyn *)(uintptr_t)(object->bias + object->image->dynamic_vaddr);
}

// Called before a debugger hears of the symfile, so that scripts which look at that moment find it
// here.
static void describe_symfile(void *ctx, const struct jitreg_info *info)
{
	struct gorgon_object *object = ctx;
	struct gorgon_debug_object *debug = &object->debug;

	gorgon_debug_begin();
	debug->symfile = (uintptr_t)info->symfile;
	debug->symfile_size = info->symfile_size;
	debug->symfile_kind = info->symfile_kind;
	debug->debug_kind = info->debug_kind;
	debug->debug_path = (uintptr_t)info->debug_path;
	debug->debug_path_size = info->debug_path ? (uint32_t)strlen(info->debug_path) : 0;
	debug->build_id = (uintptr_t)info->build_id;
	debug->build_id_size = (uint32_t)info->build_id_size;
	gorgon_debug_touch(&object->ns->debug);
	gorgon_debug_end();
}

// An object can be packed if it lies where the other copies of its file lie in their zones.
static struct jitreg_group *find_group(struct gorgon_object *object)
{
	struct gorgon_ns *ns = object->ns;

	if (!ns->zone)
		return NULL;
	// Without memory for a group the object is described by itself.
	if (!ns->jit_group && jitreg_group_create(ns->zone, &ns->jit_group))
		return NULL;
	return ns->jit_group;
}

static void forget_symfile(struct gorgon_object *object)
{
	struct jitreg_entry *jit = object->jit;

	gorgon_debug_begin();
	object->debug.symfile = object->debug.debug_path = object->debug.build_id = 0;
	object->debug.symfile_size = 0;
	object->debug.debug_path_size = object->debug.build_id_size = 0;
	gorgon_debug_touch(&object->ns->debug);
	gorgon_debug_end();
	object->jit = NULL;
	jitreg_unregister(jit);
}

// May run a second time: when the descriptor has been that of another file meanwhile, what
// debuggers were told is about that other file.
static struct gorgon_error *register_file(void *ctx, int fd)
{
	struct gorgon_object *object = ctx;
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = object->image->path,
		.fd = fd,
		.bias = object->bias,
		.start = object->start,
		.end = object->end,
		.group = find_group(object),
		.flags = gorgon_debug_mode_wants_names_only(object->ns)
				 ? JITREG_NAMES_ONLY | JITREG_DEFER
				 : 0,
		.symfile_changed = describe_symfile,
		.ctx = object,
	};
	int err;

	if (object->jit)
		forget_symfile(object);
	err = jitreg_register(&image, &object->jit);
	if (err == -ENOMEM)
		// who rolls the load back takes it out of the debug root
		return &gorgon_error_nomem;
	return err ? gorgon_error_create(GORGON_ERROR_OS, "%s",
					 strerrordesc_np(-err) ?: "unknown error")
		   : NULL;
}

// The debug root comes first: when jitreg_register() stops an attached debugger, scripts
// already find the object there.
struct gorgon_error *gorgon_object_publish(struct gorgon_object *object)
{
	struct gorgon_error *err = gorgon_unwind_register(object);

	if (err)
		return err;
	publish_describe(object);
	append_to_ns(object);
	object->state = GORGON_OBJECT_PUBLISHED;
	if (object->ns->opts.debug == GORGON_DEBUG_OFF) {
		gorgon_file_close(&object->file);
		return NULL;
	}
	err = gorgon_image_with_file(object->image, object->path, &object->file, register_file,
				     object);
	gorgon_file_close(&object->file);
	if (gorgon_error_code(err) == GORGON_ERROR_NOMEM)
		return err;
	// A file may run although its section headers are damaged, so the load goes on.
	// The debug root says that the object has no symfile.
	if (err) {
		gorgon_ns_log(object->ns, "%s: not registered with debuggers: %s", object->path,
			      gorgon_error_message(err));
		gorgon_error_destroy(err);
		if (object->jit)
			forget_symfile(object);
	}
	return gorgon_jit_mirror_create(object);
}

void gorgon_object_publish_foreign(struct gorgon_object *object)
{
	publish_describe(object);
	append_to_ns(object);
	object->state = GORGON_OBJECT_PUBLISHED;
}

void gorgon_object_unpublish(struct gorgon_object *object)
{
	gorgon_jit_mirror_destroy(object);
	if (object->jit)
		forget_symfile(object);
	remove_from_ns(object);
	gorgon_unwind_unregister(object);
}
