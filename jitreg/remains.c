// SPDX-License-Identifier: MIT
/*
 * What GDB keeps of libraries whose last copy has gone.
 *
 * GDB looks for the locations of all breakpoints again when it hears of an object file. If it finds
 * none for a breakpoint that has had some, it says "Error in re-setting breakpoint 2" and disables
 * the breakpoint, unless this was set before the code came and has no condition. A library that the
 * system's linker has closed is not lost like that, and what the JIT interface tells of is. A host
 * that makes one interpreter after the other would have its breakpoints in the first one only.
 *
 * So while GDB listens, the last copy of a file that goes is followed by the same symfile, or pack,
 * at addresses where nothing is: reserved memory without access, into which GDB can write its
 * breakpoints. It goes when each file in it has a copy again, and is used again later.
 *
 * LLDB keeps a breakpoint without locations.
 */
#define _GNU_SOURCE 1
#include "remains.h"

#include "debugger.h"
#include "members.h"
#include "models.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct remains {
	struct remains *next;
	struct jitreg_listing *listing;
	void *reserve;
	size_t size;
	bool listed;
};

static struct remains *all; // under jitreg_lock(); read without it by those who only look for any

void jitreg_remains_count(struct jitreg_entry *entry)
{
	jitreg_lock();
	entry->counted = true;
	entry->model->told_count++;
	jitreg_unlock();
}

static void free_remains(struct remains *remains)
{
	if (remains->reserve != MAP_FAILED)
		munmap(remains->reserve, remains->size);
	free(remains);
}

/* NULL is ignored. */
static void destroy_remains(struct remains *remains)
{
	if (!remains)
		return;
	jitreg_listing_destroy(remains->listing);
	free_remains(remains);
}

static struct remains *create_remains(const struct jitreg_listing *listing)
{
	struct remains *ret = calloc(1, sizeof(*ret));
	struct jitreg_image image = {.bias = listing->debug.bias};

	if (!ret)
		return NULL;
	ret->size = listing->debug.end - listing->debug.start;
	ret->reserve = mmap(NULL, ret->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
	image.start = (uintptr_t)ret->reserve;
	image.end = image.start + ret->size;
	image.bias += image.start - listing->debug.start;
	jitreg_model_hold(listing->model);
	if (ret->reserve != MAP_FAILED &&
	    !jitreg_listing_create(listing->model, &image, &ret->listing))
		return ret;
	jitreg_model_release(listing->model);
	free_remains(ret);
	return NULL;
}

static struct remains *find(const struct jitreg_model *model)
{
	struct remains *ret = all;

	while (ret && ret->listing->model != model)
		ret = ret->next;
	return ret;
}

static void list_remains(const struct jitreg_listing *listing)
{
	struct remains *remains, *made = NULL;

	jitreg_lock();
	remains = find(listing->model);
	jitreg_unlock();
	if (!remains)
		made = create_remains(listing);
	jitreg_lock();
	remains = find(listing->model); // another thread may have made or freed some meanwhile
	if (!remains && made) {
		made->next = all;
		__atomic_store_n(&all, made, __ATOMIC_RELEASE);
		remains = made;
		made = NULL;
	}
	if (remains && !remains->listed) {
		jitreg_descriptor_add(&remains->listing->debug);
		remains->listed = true;
	}
	jitreg_unlock();
	destroy_remains(made);
}

void jitreg_remains_leave(struct jitreg_entry *entry)
{
	bool last;

	if (!entry->counted)
		return;
	jitreg_lock();
	entry->counted = false;
	last = !--entry->model->told_count;
	jitreg_unlock();
	// unwind data that relocation has changed would be read from the memory of the image
	if (last && entry->listing && !entry->listing->model->live_size &&
	    jitreg_find_listener() == JITREG_TRACER_GDB)
		list_remains(entry->listing);
}

size_t jitreg_remains_listed(void)
{
	size_t count = 0;

	for (const struct remains *remains = all; remains; remains = remains->next)
		count += remains->listed;
	return count;
}

/* A pack has no path. */
static bool has_copy(const struct jitreg_model *model)
{
	const struct jitreg_model *told = jitreg_model_first();

	while (told && !(told->told_count && !strcmp(told->path, model->path)))
		told = told->next;
	return told;
}

static bool has_copies(const struct jitreg_model *model)
{
	for (size_t i = 0; i < model->member_count; i++)
		if (!has_copy(model->members[i].model))
			return false;
	return model->member_count || has_copy(model);
}

/* Returns the list of what can be freed: without GDB nobody needs any. The lock is held. */
static struct remains *sweep_locked(bool forget)
{
	struct remains *ret = forget ? all : NULL;
	bool any = false;

	for (struct remains *remains = all; remains; remains = remains->next) {
		if (!remains->listed || !(forget || has_copies(remains->listing->model)))
			continue;
		jitreg_descriptor_remove(&remains->listing->debug);
		remains->listed = false;
		any = true;
	}
	if (any)
		jitreg_descriptor_settle();
	if (forget)
		__atomic_store_n(&all, NULL, __ATOMIC_RELEASE);
	return ret;
}

void jitreg_remains_sweep(void)
{
	struct remains *old, *next;

	if (!__atomic_load_n(&all, __ATOMIC_ACQUIRE))
		return;
	jitreg_lock();
	old = sweep_locked(jitreg_find_listener() != JITREG_TRACER_GDB);
	jitreg_unlock();
	for (; old; old = next) {
		next = old->next;
		destroy_remains(old);
	}
}
