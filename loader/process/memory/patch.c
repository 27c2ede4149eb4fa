// SPDX-License-Identifier: MIT
// Code and tables that belong to everybody: libraries that patch the process may not.
//
// UCX, Open MPI, libfabric, allocators and profilers watch calls by writing into code that is
// not theirs: a jump at the start of the C library's munmap(), or the address of a function of
// their own into other libraries' tables. That is made for a process with one copy of the
// writer. With several the last one wins and the others miss calls; when a copy ends, everybody
// jumps into unmapped memory.
//
// Such code has to be made writable before it is written to. So mprotect() of private code refuses
// to make the following memory writable, with EACCES, as the kernel does when a file forbids it:
//
// - what a library of the system has read-only: its code, constants, and what the linker has
//   made read-only after relocation;
// - the part of its data that has the addresses of functions bound lazily (DT_PLTGOT);
// - code and data of another namespace.
//
// The writers take that for a system that forbids it, as SELinux does: they say so and go on
// without, or have a setting not to try, which process.c makes for libraries that are known to need
// it. A namespace may write to its own objects. Each refusal is a line of the host's log.
//
// Who looks for such tables by dl_iterate_phdr() is shown those of the namespace only
// (dl/dl_info.c).
//
// Not handled: what is written without asking (a table that is not read-only), by the kernel
// (/proc/self/mem, process_vm_writev()) or by system calls that do not go through the C library's
// names; a mapping placed over a library (MAP_FIXED); a range that begins before a library and
// ends behind it.

#define _GNU_SOURCE
#include "patch.h"

#include "base/lock.h"
#include "ns/ns.h"
#include "jit_mirror.h"
#include "ns/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

struct range {
	uint64_t start, end;
};

static bool overlap(struct range a, struct range b)
{
	return a.start < b.end && b.start < a.end;
}

// --- protected memory of the system's libraries -----------------------------------------------

// The memory with addresses of lazily bound functions. The tags hold addresses, except DT_PLTRELSZ.
static struct range table_of(const ElfW(Dyn) *dynamic)
{
	struct range ret = {0};
	uint64_t size = 0;

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_PLTGOT)
			ret.start = dynamic->d_un.d_ptr;
		else if (dynamic->d_tag == DT_PLTRELSZ)
			size = dynamic->d_un.d_val;
	}
	ret.end = ret.start + (3 + size / sizeof(ElfW(Rela))) * sizeof(void *);
	return ret;
}

static bool is_kept(const struct dl_phdr_info *info, const ElfW(Phdr) *phdr, struct range range)
{
	struct range segment = {info->dlpi_addr + phdr->p_vaddr,
				info->dlpi_addr + phdr->p_vaddr + phdr->p_memsz};

	if (phdr->p_type == PT_DYNAMIC)
		return overlap(table_of((const ElfW(Dyn) *)segment.start), range);
	if (phdr->p_type != PT_GNU_RELRO && (phdr->p_type != PT_LOAD || phdr->p_flags & PF_W))
		return false;
	return overlap(segment, range);
}

struct question {
	struct range range;
	const char *file; // of the library that the memory belongs to, or NULL
};

static int ask_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct question *question = ctx;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (!is_kept(info, &info->dlpi_phdr[i], question->range))
			continue;
		question->file = *info->dlpi_name ? info->dlpi_name : "the program";
		return 1;
	}
	return 0;
}

// Whether the system has loaded something there. Takes no lock: this is asked for every page that
// a compiler makes executable.
static bool is_systems(uint64_t addr)
{
	struct dl_find_object found;

	return !gorgon_unwind_ns_at(addr) &&
	       !gorgon_unwind_find_object((void *)(uintptr_t)addr, &found);
}

// For a namespace that the system's linker loads: the loader's tables do not have its objects.
static bool is_linked_own(struct gorgon_ns *ns, uint64_t addr)
{
	bool ret;

	if (!ns->linked)
		return false;
	gorgon_lock();
	ret = gorgon_ns_object_at(ns, addr) != NULL;
	gorgon_unlock();
	return ret;
}

static bool is_anothers(const struct gorgon_ns *ns, uint64_t addr)
{
	const struct gorgon_ns *owner = gorgon_unwind_ns_at(addr);

	return owner && owner != ns;
}

// The owner of @range, when @ns may not write to it; otherwise NULL.
static const char *keeper(struct gorgon_ns *ns, struct range range)
{
	struct question question = {.range = range};

	if (is_anothers(ns, range.start) || is_anothers(ns, range.end - 1))
		return "another interpreter";
	if ((is_systems(range.start) || is_systems(range.end - 1)) &&
	    !is_linked_own(ns, range.start))
		dl_iterate_phdr(ask_object, &question);
	return question.file;
}

// --- the replacement --------------------------------------------------------------------------

static const char *name_of(uint64_t caller)
{
	const struct gorgon_object *object = gorgon_unwind_object_at(caller);

	return object ? object->path : "private code";
}

// False: errno says why. @caller is in code that runs, which is not unloaded.
static bool is_allowed(struct gorgon_ns *ns, const void *addr, size_t size, int prot, void *caller)
{
	struct range range = {(uintptr_t)addr, (uintptr_t)addr + size};
	const char *file;

	if (!(prot & PROT_WRITE) || range.end <= range.start)
		return true;
	if (!(file = keeper(ns, range)))
		return true;
	gorgon_ns_log(ns, "%s was kept from writing to code or tables of %s, which all share",
		      name_of((uintptr_t)caller), file);
	errno = EACCES;
	return false;
}

static int protect(void *addr, size_t size, int prot, struct gorgon_ns *ns)
{
	if (!is_allowed(ns, addr, size, prot, __builtin_return_address(0)))
		return -1;
	if (prot & PROT_EXEC)
		gorgon_jit_mirror_look(ns);
	return mprotect(addr, size, prot);
}

static int protect_with_key(void *addr, size_t size, int prot, int key, struct gorgon_ns *ns)
{
	if (!is_allowed(ns, addr, size, prot, __builtin_return_address(0)))
		return -1;
	if (prot & PROT_EXEC)
		gorgon_jit_mirror_look(ns);
	return pkey_mprotect(addr, size, prot, key);
}

static const struct gorgon_bound bound[] = {
	{"mprotect", protect, 3, 0, GORGON_OWN,
	 "code and tables of shared libraries and of other copies stay read-only (EACCES): a patch "
	 "would lead all into one copy; what compilers make is told to debuggers before it can "
	 "run"},
	{"pkey_mprotect", protect_with_key, 4, 0, GORGON_OWN, "as mprotect"},
};

const struct gorgon_part gorgon_patch_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
};
