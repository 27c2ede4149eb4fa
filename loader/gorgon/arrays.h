/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_ARRAYS_H
#define GORGON_ARRAYS_H

#include "api.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays: memory that interpreters look at together ------------------ */

/*
 * An array lies in memory that the host and any number of interpreters look at at once,
 * without a copy. Holders are counted, atomically: the last to let go frees, in its own
 * thread. An interpreter that is destroyed lets go of what it held; nothing else of it
 * matters to the others. Programs inside say gorgon.share() and gorgon.receive().
 *
 * Items are not guarded: who writes while others read sees to the order of it.
 */

/** What the memory of an array means: the words of the array interface and PEP 3118. */
struct gorgon_array_layout {
	/** Of an item: a typestr (`<f8`, `|S5`, `<M8[ns]`) or a PEP 3118 format (`d`,
	 * `T{d:x:}`). Python objects (`O`) are refused. */
	const char *format;
	size_t item_size;         /**< bytes; 0 in options: the format says it (not of structures) */
	unsigned ndim;            /**< dimensions, 64 at most */
	const ptrdiff_t *shape;   /**< items in each */
	const ptrdiff_t *strides; /**< bytes from one item to the next in each; NULL in options:
				       without gaps, the last dimension's items side by side */
};

/** Options of gorgon_array_create(). */
struct gorgon_array_opts {
	size_t size; /**< sizeof(struct gorgon_array_opts) */
	struct gorgon_array_layout layout; /**< Copied. */
	/** Who receives it may ask for an array to write to. Whoever has the memory already
	 * (the host, the interpreter that shares) is never kept from writing. */
	bool writable;
	/** For new memory of 2 MiB and more: begin at a huge page, and tell the system to use huge
	 * pages (madvise(2), MADV_HUGEPAGE). A wish: a system without them gives others. */
	bool huge_pages;
	/** For new memory: the NUMA nodes that its pages come from, bit 0 for node 0; 0 for what
	 * the process's policy says (mbind(2), MPOL_BIND). GORGON_ERROR_UNSUPPORTED where the
	 * kernel has no such policies, GORGON_ERROR_ARGUMENT if none of them is a node that the
	 * process may use, or with @c data. */
	uint64_t numa_nodes;
	/** Memory of the host's, or NULL for new memory: zeroed, aligned to 64 bytes. It
	 * begins with the item of the lowest address, the first one unless strides are
	 * negative. */
	void *data;
	/** Called once when nobody holds @c data any more, or NULL. Called without any lock, on
	 * the thread of the last holder, which may hold the GIL of an interpreter: it must not
	 * run Python code. */
	void (*destroy)(void *ctx, void *data);
	void *ctx;
	/** For new memory: in memory from the beginning, and never on a swap device (mlock(2)).
	 * GORGON_ERROR_OS where RLIMIT_MEMLOCK forbids that, GORGON_ERROR_ARGUMENT with @c data. */
	bool locked;
	/** For new memory: what the address of the lowest item is a multiple of; a power of two, 2^30 at
	 * most. Less than 64 means 64. GORGON_ERROR_ARGUMENT for other numbers, or with @c data. */
	size_t alignment;
};

/**
 * Create an array over new memory or the host's own.
 *
 * @param[out] ret  Held once, by the caller: to be given back with gorgon_array_release().
 * @return GORGON_ERROR_ARGUMENT (options of a wrong size; a format that is not one, has Python
 *         objects or contradicts item_size; a negative shape; more than 64 dimensions; more
 *         bytes than there are addresses), GORGON_ERROR_NOMEM. After a failure @c destroy
 *         has not been called and will not be. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_array_create(const struct gorgon_array_opts *opts, struct gorgon_array **ret);

/** Hold it once more, which the caller must do already. Returns it. */
GORGON_API struct gorgon_array *gorgon_array_retain(struct gorgon_array *array);
/** Let go. The last holder frees. NULL is ignored. */
GORGON_API void gorgon_array_release(struct gorgon_array *array);

/** What is known of an array; it never changes. Pointers live as long as the array is held. */
struct gorgon_array_info {
	void *data; /**< the first item */
	struct gorgon_array_layout layout;
	bool writable;
};

/** Describe an array. */
GORGON_API void gorgon_array_get_info(const struct gorgon_array *array,
				      struct gorgon_array_info *ret);

/**
 * Give an array a name, by which the host and every interpreter can receive it. The name
 * holds the array until it is withdrawn, also when whoever shared it is gone.
 *
 * @return GORGON_ERROR_BUSY (the name is taken), GORGON_ERROR_NOMEM. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_share(struct gorgon_array *array,
								     const char *name);

/**
 * The array that was shared under a name.
 *
 * @param[out] ret  Held once, by the caller.
 * @return GORGON_ERROR_MISSING: nobody has shared it. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_receive(const char *name,
								       struct gorgon_array **ret);

/**
 * Take a name back, whoever gave it. Those who have received the array keep it.
 *
 * @return GORGON_ERROR_MISSING: nobody has shared it. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_withdraw(const char *name);

#ifdef __cplusplus
}
#endif

#endif
