/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The in-memory object file that debuggers read. Internal to jitreg.
 *
 * A model is built once per file: the finished bytes for a bias of 0, and the
 * places that the bias is added to. A symfile is a copy of the first part of these bytes
 * for one private copy of the object; it shares the rest with other symfiles (slabs.c).
 */
#ifndef JITREG_SYMFILE_H
#define JITREG_SYMFILE_H

#include "jitreg.h"
#include "file/object.h"
#include "slabs.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/** @c count addresses of eight bytes, @c stride bytes apart, the first one at @c off. */
struct jitreg_fixup {
	uint64_t off;
	uint64_t stride;
	uint64_t count;
};

enum {
	JITREG_FIXUP_ENTRY,    /**< e_entry */
	JITREG_FIXUP_SECTIONS, /**< sh_addr of the allocated sections */
	JITREG_FIXUP_SEGMENTS, /**< p_vaddr */
	JITREG_FIXUP_COUNT
};

/** The file on disk that a pack or the symfile of a library refers to, if any (companion.c,
 * debug_copy.c). */
struct jitreg_companion {
	char *path; /**< malloc()ed; NULL: none. */
	dev_t dev;
	ino_t ino;
	off_t size;
	/** A mapping of the file, which keeps the lock on it. NULL: the file is not locked. */
	void *hold;
};

struct jitreg_model {
	/* Key and cache, guarded by jitreg_lock(). */
	struct jitreg_model *next;
	size_t ref_count;
	char *path;
	struct stat st; /**< Of the file, when it was read. */
	bool settled; /**< Nobody had changed the file for a while when it was read. */
	size_t keeper_count; /**< How many of its references are those of kept packs. */
	size_t told_count;   /**< Of how many of its images debuggers know (remains.c). */
	int64_t kept_at;     /**< Seconds of CLOCK_MONOTONIC. */
	enum jitreg_symfile_kind kind;
	struct jitreg_member *members; /**< Of a pack (pack.c), which has no path. */
	size_t member_count;
	bool with_lines; /**< A pack whose symfiles get lines for LLDB. */
	struct jitreg_slab *slabs; /**< Slabs with an empty slot. */
	/** Its lines have been looked for. Also guarded by the mutex of prepare.c. */
	bool prepared;
	/** Lines as DWARF; NULL until they are wanted (relocated_lines.c). */
	struct jitreg_dwarf *lines;

	/* Constant once built, but for the hold on the companions (packs.c). */
	struct jitreg_companion companion;
	/** The companion without lines, when @c companion has some. */
	struct jitreg_companion bare;
	struct jitreg_debug debug;
	struct stat debug_st; /**< Of jitreg_debuginfo_file(). */
	uint8_t *bytes;
	size_t size;
	size_t private_size; /**< Size of the first part, which is different in each copy. */
	struct jitreg_fixup fixups[JITREG_FIXUP_COUNT];
	/* An .eh_frame that relocation changes: its place in the symfile and in memory. */
	uint64_t live_off, live_vaddr, live_size;
	bool packable; /**< Its unwind data can be moved to another section. */
};

/** Write the object file (model.c). The result is in no cache. */
int jitreg_model_create(struct jitreg_object *object, enum jitreg_symfile_kind kind,
			struct jitreg_model **ret);

/** Free what the model has; it does not release the models of a pack's members. */
void jitreg_model_free(struct jitreg_model *model);

/** The symfile of one copy. */
struct jitreg_symfile {
	struct jitreg_slot slot;
	const void *bytes;
	size_t size;
};

/**
 * Make the symfile of one copy, in anonymous memory that stays writable.
 *
 * @retval -EINVAL  unwind data must come from memory and lies outside the image
 * @retval -ENOMEM
 */
int jitreg_symfile_create(struct jitreg_model *model, const struct jitreg_image *image,
			  struct jitreg_symfile *ret);

void jitreg_symfile_destroy(struct jitreg_model *model, struct jitreg_symfile *symfile);

#endif
