/* SPDX-License-Identifier: MIT */
/* Native frames of a target's threads, by libdwfl; for stacks.c and native.c. */
#ifndef GORGON_SYMDUMP_UNWIND_H
#define GORGON_SYMDUMP_UNWIND_H

#include "symdump.h"

#include <elfutils/libdwfl.h>

struct unwinder {
	struct dump *dump;
	Dwfl *dwfl;
	struct aarch64_core *core; /* or NULL */
	struct file *files;
	size_t file_count;
	bool *known; /* of each object: libdwfl has been told of it */
};

/* Of the dump's snapshot and mappings, which must outlive it and not change. */
void unwinder_init(struct unwinder *unwinder, struct dump *dump);
void unwinder_deinit(struct unwinder *unwinder);
/*
 * Attach libdwfl to the target; the threads of a process are stopped by libdwfl while it reads
 * them, or with
 * @is_stopped by the caller. NULL: dwfl_errmsg() says why.
 */
Dwfl *unwinder_begin(struct unwinder *unwinder, bool is_stopped);
void unwinder_end(struct unwinder *unwinder);
/*
 * Where a frame's code is, and whether that is @after a call. libdwfl is told of the object that
 * the code is in.
 */
bool unwinder_frame(struct unwinder *unwinder, Dwfl_Frame *state, uint64_t *pc, bool *after);

/* generated.c: an object file with unwind data of generated code, or NULL; both are the caller's.
 */
Elf *generated_elf(const struct target *target, const struct object *object, void **data);

/*
 * aarch64.c: cores of a machine whose return addresses may be signed. The threads of @target's core
 * become those of
 * @dwfl; NULL: they cannot be read. Free after dwfl_end().
 */
struct aarch64_core *aarch64_core_attach(Dwfl *dwfl, const struct target *target,
					 const struct snapshot *snapshot);
void aarch64_core_free(struct aarch64_core *core);

#endif
