// SPDX-License-Identifier: MIT
// Facts about an interpreter: its number, its times, its main thread, names of its C API.

#define _GNU_SOURCE
#include "interp.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "dl/dl.h"
#include "image/symbol.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/unwind.h"
#include "process/kernel/files.h"

#include <string.h>

static unsigned alive; // under the loader's lock

void gorgon_interp_counted(int change)
{
	alive += (unsigned)change;
}

void gorgon_interp_stamp(uint64_t *time_ns)
{
	__atomic_store_n(time_ns, gorgon_now(), __ATOMIC_RELAXED);
}

struct gorgon_interp *gorgon_interp_at(void *addr)
{
	struct gorgon_ns *ns = gorgon_unwind_ns_at((uint64_t)(uintptr_t)addr);

	return ns ? ns->user.ctx : NULL;
}

void gorgon_interp_show_thread(struct gorgon_interp *interp, uint64_t tid)
{
	gorgon_threads_lock();
	gorgon_debug_begin();
	interp->ns->debug.thread = tid;
	gorgon_debug_touch(&interp->ns->debug);
	gorgon_debug_end();
	gorgon_threads_unlock();
}

struct gorgon_error *gorgon_interp_take_files(struct gorgon_interp *interp)
{
	int err = interp->files == GORGON_FILES_THREAD ? gorgon_files_unshare() : 0;

	if (err)
		return gorgon_error_create_os(
			-err, "interpreter %u: this thread cannot have descriptors of its own",
			interp->number);
	gorgon_files_begin(gorgon_parts_state(interp->ns->parts, &gorgon_files_part));
	return NULL;
}

unsigned gorgon_interp_number(const struct gorgon_interp *interp)
{
	return interp->number;
}

unsigned gorgon_interp_count(void)
{
	unsigned count;

	gorgon_lock();
	count = alive;
	gorgon_unlock();
	return count;
}

struct gorgon_ns *gorgon_interp_ns(struct gorgon_interp *interp)
{
	return interp->ns;
}

const struct gorgon_python *gorgon_interp_python(const struct gorgon_interp *interp)
{
	return &interp->python;
}

// Names of the C API are defined by libpython itself, so no other object is searched. The look-up
// needs neither the loader's lock nor memory: callers find functions even when memory has run out.
void *gorgon_interp_find_api(const struct gorgon_interp *interp, const char *name)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(name, NULL);
	const Elf64_Sym *symbol = NULL;

	if (!strncmp(name, "Py", 2) || !strncmp(name, "_Py", 3))
		symbol = gorgon_symbol_find(interp->libpython->image, &query);
	if (!symbol || (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC &&
			ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT))
		return NULL;
	return (void *)(uintptr_t)(interp->libpython->bias + symbol->st_value);
}

bool gorgon_interp_says_yes(const struct gorgon_interp *interp, const char *name)
{
	int (*function)(void) = (int (*)(void))gorgon_interp_find_api(interp, name);

	return function && function();
}

bool gorgon_interp_is_finalizing(const struct gorgon_interp *interp)
{
	return gorgon_interp_says_yes(interp, "Py_IsFinalizing") ||
	       gorgon_interp_says_yes(interp, "_Py_IsFinalizing");
}

void *gorgon_interp_find_symbol(struct gorgon_interp *interp, const char *name)
{
	if (interp->own)
		return interp->find(name);
	return gorgon_interp_find_api(interp, name)
		       ?: gorgon_object_find_symbol(interp->libpython, name, NULL);
}
