/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_ARRAYS_H
#define GORGON_ARRAYS_H

#include "api.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays: memory that interpreters look at together ------------------ */

/*
 * An array lies in memory that the host and any number of interpreters look at at the same
 * time, without a copy. Holders are counted, atomically: the last holder that lets go frees the
 * array, on its own thread. An interpreter that is destroyed lets go of the arrays that it held;
 * other holders do not notice. Programs use gorgon.share() and gorgon.receive().
 *
 * Nothing guards the items: programs that write while others read agree on an order themselves.
 */

/** What the memory of an array means: the words of the array interface and PEP 3118. */
struct gorgon_array_layout {
	/** The type of an item: a typestr (`<f8`, `|S5`, `<M8[ns]`) or a PEP 3118 format (`d`,
	 * `T{d:x:}`). Python objects (`O`) are refused. */
	const char *format;
	size_t item_size;         /**< bytes; 0 in options: as the format says, which a structure's
				       does not */
	unsigned ndim;            /**< number of dimensions, 64 at most */
	const ptrdiff_t *shape;   /**< number of items in each dimension */
	const ptrdiff_t *strides; /**< bytes from an item to the next in each dimension; NULL in
				       options: no gaps, items of the last dimension side by side */
};

/** Options of gorgon_array_create(). */
struct gorgon_array_opts {
	size_t size; /**< sizeof(struct gorgon_array_opts) */
	struct gorgon_array_layout layout; /**< Copied. */
	/** Whether those who receive the array may ask for a writable one. The host, and an
	 * interpreter that shares an array, have the memory already, and can write to it in any
	 * case. */
	bool writable;
	/** For new memory of 2 MiB and more: begin at a multiple of 2 MiB, and ask the system for
	 * huge pages (madvise(2), MADV_HUGEPAGE). A system without huge pages gives small ones. */
	bool huge_pages;
	/** For new memory: the NUMA nodes that its pages come from, bit 0 for node 0 (mbind(2),
	 * MPOL_BIND); 0 for the process's policy. GORGON_ERROR_UNSUPPORTED where the kernel has no
	 * such policies, GORGON_ERROR_ARGUMENT with @c data, or if the process may use none of the
	 * nodes. */
	uint64_t numa_nodes;
	/** Memory of the host, or NULL for new memory, which is zeroed and aligned to 64 bytes. It
	 * begins with the item of the lowest address: the first item, unless strides are
	 * negative. */
	void *data;
	/** Called once, when nobody holds memory of @c data any more; may be NULL. Called without
	 * any lock of this library, on the thread of the last holder, which may hold the GIL of an
	 * interpreter: it must not run Python code. */
	void (*destroy)(void *ctx, void *data);
	void *ctx; /**< passed to @c destroy */
	/** For new memory: all pages are resident from the beginning, and never on a swap device
	 * (mlock(2)). GORGON_ERROR_OS where RLIMIT_MEMLOCK forbids that, GORGON_ERROR_ARGUMENT with
	 * @c data. */
	bool locked;
	/** For new memory: the address of the lowest item is a multiple of this power of two, 2^30
	 * at most. Less than 64 means 64. GORGON_ERROR_ARGUMENT for other numbers, or with @c data.
	 */
	size_t alignment;
};

/**
 * Create an array over new memory or the host's own.
 *
 * @param      opts Not NULL: an array has a layout.
 * @param[out] ret  Held once, by the caller: to be given back with gorgon_array_release().
 * @return GORGON_ERROR_ARGUMENT (options of a wrong size; a format that is not one, has Python
 *         objects or contradicts @c item_size; a negative shape; more than 64 dimensions; more
 *         bytes than there are addresses), and what the options say. After a failure @c destroy
 *         has not been called and will not be. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_array_create(const struct gorgon_array_opts *opts, struct gorgon_array **ret);

/** Hold an array once more, for a further holder. The caller holds it already. Returns @p array. */
GORGON_API struct gorgon_array *gorgon_array_retain(struct gorgon_array *array);
/** Let go of an array. The last holder frees it. NULL is ignored. */
GORGON_API void gorgon_array_release(struct gorgon_array *array);

/** What is known of an array; it never changes. Pointers live as long as the array is held. */
struct gorgon_array_info {
	void *data; /**< the first item */
	struct gorgon_array_layout layout; /**< Lives as long as the array is held. */
	bool writable;                     /**< whether this holder may write */
};

/** Describe an array. */
GORGON_API void gorgon_array_get_info(const struct gorgon_array *array,
				      struct gorgon_array_info *ret);

/**
 * Give an array a name, by which the host and every interpreter can receive it. The name is a
 * holder of the array until it is withdrawn, whatever becomes of those who shared the array.
 *
 * @return GORGON_ERROR_BUSY: the name is taken. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_share(struct gorgon_array *array,
								     const char *name);

/**
 * Find the array that was shared under a name.
 *
 * @param[out] ret  Held once, by the caller.
 * @return GORGON_ERROR_MISSING: nobody has shared it. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_receive(const char *name,
								       struct gorgon_array **ret);

/**
 * Withdraw a name, whoever gave it. Those who have received the array keep it.
 *
 * @return GORGON_ERROR_MISSING: nobody has shared it. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_array_withdraw(const char *name);

#ifdef __cplusplus
}
#endif

#endif
