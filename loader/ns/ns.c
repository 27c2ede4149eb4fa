// SPDX-License-Identifier: MIT
// Namespaces: the list of all of them, and what is asked about a single one. They are created and
// destroyed in namespace.c.

#define _GNU_SOURCE
#include "ns.h"
#include "base/lock.h"
#include "system.h"
#include "base/text.h"
#include "file/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_id = 1;
static struct gorgon_ns *oldest, *youngest; // under the lock
static unsigned ns_count;		    // changed under the lock, read without it; atomic

void gorgon_ns_log(const struct gorgon_ns *ns, const char *format, ...)
{
	char *line;
	va_list args;

	if (!ns->opts.log)
		return;
	va_start(args, format);
	line = vasprintf(&line, format, args) < 0 ? NULL : gorgon_text_clean(line);
	if (line)
		ns->opts.log(ns->opts.log_ctx, line);
	free(line);
	va_end(args);
}

struct gorgon_object *gorgon_ns_object_at(struct gorgon_ns *ns, uint64_t addr)
{
	struct gorgon_object *object = ns->first;

	while (object && (addr < object->start || addr >= object->end))
		object = object->next;
	return object;
}

bool gorgon_ns_add_system(struct gorgon_ns *ns, struct gorgon_system_library *library)
{
	struct gorgon_system_library **added;

	for (size_t i = 0; i < ns->system_count; i++)
		if (ns->system[i] == library)
			return true;
	added = jitreg_add(&ns->system, &ns->system_count, sizeof(*added));
	if (added)
		*added = library;
	return added;
}

bool gorgon_ns_has_system(const struct gorgon_ns *ns, const char *name)
{
	for (size_t i = 0; i < ns->system_count; i++) {
		const char *opened = ns->system[i]->name, *slash = strrchr(opened, '/');

		// By its path, when only an object's search path leads to it.
		if (!strcmp(opened, name) || (slash && !strcmp(slash + 1, name)))
			return true;
	}
	return false;
}

struct gorgon_ns *gorgon_ns_next(const struct gorgon_ns *ns)
{
	return ns ? ns->next : oldest;
}

unsigned gorgon_ns_count(void)
{
	return __atomic_load_n(&ns_count, __ATOMIC_RELAXED);
}

void gorgon_ns_list(struct gorgon_ns *ns)
{
	ns->debug.id = next_id++;
	ns->prev = youngest;
	if (youngest)
		youngest->next = ns;
	else
		oldest = ns;
	youngest = ns;
	__atomic_add_fetch(&ns_count, 1, __ATOMIC_RELAXED);
	gorgon_debug_ns_link(&ns->debug);
}

void gorgon_ns_unlist(struct gorgon_ns *ns)
{
	gorgon_debug_ns_unlink(&ns->debug);
	if (ns->prev)
		ns->prev->next = ns->next;
	else
		oldest = ns->next;
	if (ns->next)
		ns->next->prev = ns->prev;
	else
		youngest = ns->prev;
	__atomic_sub_fetch(&ns_count, 1, __ATOMIC_RELAXED);
}

uint64_t gorgon_ns_id(const struct gorgon_ns *ns)
{
	return ns->debug.id;
}

void gorgon_ns_for_each_object(struct gorgon_ns *ns,
			       bool (*fn)(void *ctx, struct gorgon_object *object), void *ctx)
{
	gorgon_lock();
	for (struct gorgon_object *object = ns->first; object; object = object->next)
		if (!fn(ctx, object))
			break;
	gorgon_unlock();
}

bool gorgon_object_has_name(const struct gorgon_object *object, const char *name)
{
	const char *soname = object->image->soname, *slash;

	if (object->doomed)
		return false;
	if (strchr(name, '/'))
		return !strcmp(object->path, name);
	slash = strrchr(object->path, '/');
	return soname ? !strcmp(soname, name)
		      : object->by_name && !strcmp(slash ? slash + 1 : object->path, name);
}

struct gorgon_object *gorgon_ns_find_name(struct gorgon_ns *ns, const char *name)
{
	struct gorgon_object *object = ns->first;

	while (object && !gorgon_object_has_name(object, name))
		object = object->next;
	return object;
}
