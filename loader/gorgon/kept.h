/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_KEPT_H
#define GORGON_KEPT_H

#include "api.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kept: what stays for the next interpreter ------------------------- */

/** What is kept unless gorgon_keep() says something else. @{ */
#define GORGON_KEEP_FILE_BYTES	 (UINT64_C(256) << 20)
#define GORGON_KEEP_MEMORY_BYTES (UINT64_C(32) << 20) /**< of memory */
#define GORGON_KEEP_SECONDS      300u                 /**< and for how long, in seconds */
#define GORGON_KEEP_DATA_BYTES	 (UINT64_C(8) << 20)  /**< of which so much is memory at most */
/** All of it, for a variable of struct gorgon_keep_opts of which some members are changed then. */
#define GORGON_KEEP_DEFAULTS                                                                       \
	{                                                                                          \
		sizeof(struct gorgon_keep_opts), GORGON_KEEP_FILE_BYTES, GORGON_KEEP_MEMORY_BYTES, \
			GORGON_KEEP_SECONDS                                                        \
	}
/** @} */

/** Limits of gorgon_keep(). Of each kind, what was used last is kept. */
struct gorgon_keep_opts {
	size_t size;	     /**< sizeof(struct gorgon_keep_opts) */
	/** Bytes of libraries' files that stay mapped read-only: address space, and pages that are
	 * the page cache's; and of pages of data, which are memory, GORGON_KEEP_DATA_BYTES at most.
	 * 0: no file. */
	uint64_t file_bytes;
	uint64_t memory_bytes; /**< Bytes of what debuggers are told. 0: nothing. */
	/** Since its last use. What is older goes when something is loaded or unloaded, or by
	 * gorgon_trim(). */
	unsigned seconds;
};

/**
 * Limit what the process keeps for the next interpreter.
 *
 * Of libraries that no namespace has any more: their files, mapped, how their symbols were bound,
 * and what debuggers are told of them. Thanks to that a host that replaces its only interpreter
 * pays what a second interpreter beside the first would cost. Of libraries whose data has many
 * pages, libpython for example, pages of one copy that was unloaded stay for the next one, which
 * has the file's bytes in them. A library whose file has changed (its device, inode, size, or the
 * time of its last modification or status change) is read again.
 * Nothing that is kept needs a descriptor. As long as a file is kept its contents stay on disk even
 * if it is deleted, and its file system cannot be unmounted.
 *
 * The limits hold at once.
 *
 * @param opts  NULL for GORGON_KEEP_DEFAULTS.
 * @return GORGON_ERROR_ARGUMENT: a structure of a wrong size; nothing has changed. Since 1.0.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_keep(const struct gorgon_keep_opts *opts);

/** Drop all that is kept, at once. The limits stay, and libraries are kept again from then on. The
 * loader does so itself before it refuses to load one for lack of memory or addresses.
 * Since 0.1. */
GORGON_API void gorgon_trim(void);

/** What is kept at this moment; see gorgon_kept_get_stats(). */
struct gorgon_kept_stats {
	size_t size;	       /**< sizeof(struct gorgon_kept_stats), set by the caller */
	uint64_t file_count;   /**< libraries that no namespace has */
	uint64_t file_bytes;   /**< bytes of their files, and of pages of data */
	/** symfiles for debuggers that no object has: of single libraries, and of sets of them */
	uint64_t symfile_count;
	uint64_t memory_bytes; /**< bytes of the symfiles */
};

/**
 * What is kept at this moment.
 *
 * @return GORGON_ERROR_ARGUMENT: a structure of a wrong size. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_kept_get_stats(struct gorgon_kept_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
