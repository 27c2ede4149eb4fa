/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
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
#define GORGON_KEEP_MEMORY_BYTES (UINT64_C(32) << 20)
#define GORGON_KEEP_SECONDS	 300u
/** @} */

/**
 * Limits of what the process keeps of libraries that no namespace has any more. What was read of
 * them, how their symbols were bound, and what debuggers are told of them is kept, so that to
 * replace the only interpreter costs what a second one beside it does. It is of the file as it was:
 * one that has changed (its device, inode, size, or the times of its last modification and status
 * change) is read again.
 *
 * Nothing of it keeps a descriptor. As long as a file is kept its contents stay on disk although it
 * is deleted, and its file system cannot be unmounted.
 *
 * @param file_bytes    Of libraries' files that stay mapped read-only: of address space, and of
 *                      pages that are the page cache's. Those that were used last. 0: none.
 * @param memory_bytes  Of what debuggers are told. 0: nothing.
 * @param seconds       Since it was used. What is older goes when something is loaded or
 *                      unloaded, or by gorgon_trim(). Since 0.1.
 */
GORGON_API void gorgon_keep(uint64_t file_bytes, uint64_t memory_bytes, unsigned seconds);

/** Drop all that is kept, at once. What comes next is kept again. Since 0.1. */
GORGON_API void gorgon_trim(void);

/** What is kept at this moment; see gorgon_kept_get_stats(). */
struct gorgon_kept_stats {
	size_t size;	       /**< sizeof(struct gorgon_kept_stats), set by the caller */
	uint64_t file_count;   /**< libraries that no namespace has */
	uint64_t file_bytes;   /**< of their files */
	uint64_t symfile_count; /**< what debuggers are told: one for each library, and for sets of them */
	uint64_t memory_bytes; /**< of it */
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
