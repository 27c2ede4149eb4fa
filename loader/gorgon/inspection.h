/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_INSPECTION_H
#define GORGON_INSPECTION_H

#include "api.h"
#include "errors.h"
#include "interpreters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- inspection: what an interpreter is and holds ----------------------- */

/** Number of the interpreter, from 0. */
GORGON_API unsigned gorgon_interp_number(const struct gorgon_interp *interp);
/** Interpreters alive in the process. */
GORGON_API unsigned gorgon_interp_count(void);
/** Its namespace, which lives as long as the interpreter. Not to be destroyed. */
GORGON_API struct gorgon_ns *gorgon_interp_ns(struct gorgon_interp *interp);
/** The CPython it runs. Lives as long as the interpreter. */
GORGON_API const struct gorgon_python *gorgon_interp_python(const struct gorgon_interp *interp);
/** Run-time address of a name that this copy's libpython exports, or NULL. */
GORGON_API void *gorgon_interp_find_symbol(struct gorgon_interp *interp, const char *name);

/** What an interpreter is doing. */
enum gorgon_interp_activity {
	GORGON_INTERP_IS_CREATED = 0,
	GORGON_INTERP_IS_RUNNING = 1,  /**< a program, in gorgon_interp_main() */
	GORGON_INTERP_IS_STARTING = 2,
	GORGON_INTERP_IS_STARTED = 3,  /**< calls of the host run, or may come */
	GORGON_INTERP_IS_STOPPING = 4,
	GORGON_INTERP_IS_FINALISING = 5, /**< nobody gets its GIL any more */
	GORGON_INTERP_HAS_ENDED = 6,
	/** it did not end when it was stopped, and does not run any more */
	GORGON_INTERP_IS_ABANDONED = 7,
};

/** Where the time of one interpreter went, and what it holds; see gorgon_interp_get_stats(). */
struct gorgon_interp_stats {
	size_t size;          /**< sizeof(struct gorgon_interp_stats), set by the caller */
	uint64_t load_ns;     /**< reading, validating, mapping; of all objects so far */
	uint64_t relocate_ns; /**< symbol look-up, relocation, protection */
	uint64_t register_ns; /**< telling debuggers and the unwinder */
	uint64_t init_ns;     /**< Python's start-up; 0 without the option `timing` */
	uint64_t run_ns;      /**< the program, its imports and its finalisation; with
				   gorgon_interp_start() from the start to the end or until now */
	uint64_t object_count; /**< private objects loaded */
	uint64_t relaxed_count; /**< those of them without RELRO and separate constants, because
				     the process comes near the limit of mappings */
	uint64_t private_bytes; /**< resident pages of its objects that only it has */
	uint64_t shared_bytes;  /**< resident pages of its objects that are file-backed and clean */
	uint64_t heap_bytes;    /**< memory that CPython has from malloc(): its domain `raw`, and
				     large blocks of `mem` and `obj` */
	uint64_t mapped_bytes;  /**< anonymous memory that its code has mapped: arenas with the
				     small blocks of CPython's domains `mem` and `obj` */
	/** blocks that extensions have from malloc() and the like, arrays of numpy too. What shared
	 * libraries allocate for them does not count: strdup(), memalign() and others of the C
	 * library, `new` of the C++ library. A block that shared code frees counts until its
	 * address is given out again, or for good if the C library gives its memory back to the
	 * system or joins it with other memory. */
	uint64_t extension_bytes;
	/** calls of the host into it that have ended; start and stop count */
	uint64_t call_count;
	uint64_t cpu_ns;        /**< processor time of these calls, on the threads that called */
	/**
	 * Memory of arrays that interpreters can share: what numpy has from the host, by
	 * gorgon.use_data_handler(), and copies that gorgon.share() has made. Memory that several
	 * interpreters hold counts for each with its share: the bytes, divided by the number of
	 * these interpreters. An interpreter holds memory as long as an array of its lies in it,
	 * one that it has made or received, and as long as a name that it has given with
	 * gorgon.share() is not withdrawn. Whenever one begins or ceases to hold memory, the shares
	 * of all change at once; who is beyond a limit thereby notices when it allocates next.
	 * Memory of which an interpreter has a part, by a slice, counts whole. Not counted: what
	 * the host alone holds, names of interpreters that are gone included, and what the host has
	 * made (gorgon_array_create()), whoever holds it.
	 */
	uint64_t block_bytes;
	uint64_t memory_limit;  /**< that holds now, or 0 */
	uint64_t state;         /**< enum gorgon_interp_activity */
	/** how long calls of the host have waited for the GIL, those that have it by now; waiting
	 * of threads that Python has started does not count */
	uint64_t gil_wait_ns;
	/** processor time of all its code so far: of calls, or of the program, also those that run,
	 * and of threads that its code has started, also those that have ended */
	uint64_t total_cpu_ns;
	uint64_t thread_count;  /**< threads alive that its code has started */
	uint64_t cpu_limit_ms;  /**< of total_cpu_ns that holds now, or 0 */
	/** resident pages of stacks of threads that its code has started; no limit counts them */
	uint64_t stack_bytes;
	/** what the newest call of the host that runs, runs: "module.function", the file, the name
	 * of the code; cut off where it is longer. "" for none */
	char job[64];
};

/**
 * Read the counters, while the interpreter runs, too. Times are durations in nanoseconds, except
 * @c cpu_ns by CLOCK_MONOTONIC.
 *
 * @return GORGON_ERROR_ARGUMENT: a structure of a wrong size. GORGON_ERROR_OS: /proc/self/pagemap
 *         cannot be read.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_interp_get_stats(struct gorgon_interp *interp, struct gorgon_interp_stats *ret);

/** Interpreters that were abandoned; see gorgon_interp_stop_within(). */
struct gorgon_abandoned_stats {
	size_t size;	       /**< sizeof(struct gorgon_abandoned_stats), set by the caller */
	uint64_t count;	       /**< abandoned interpreters that are still there */
	/** threads that these have started and that have not ended; most are parked */
	uint64_t thread_count;
	/** What these hold of the process's memory: heap_bytes, extension_bytes, block_bytes,
	 * private_bytes and stack_bytes of struct gorgon_interp_stats, and resident pages of what
	 * mapped_bytes counts. */
	uint64_t bytes;
	uint64_t total_count;  /**< interpreters that were abandoned so far, destroyed ones too */
};

/**
 * Say how many interpreters are abandoned, and what they keep.
 *
 * @return GORGON_ERROR_ARGUMENT: a structure of a wrong size. GORGON_ERROR_OS: /proc/self/pagemap
 *         cannot be read. Since 1.0.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_abandoned_get_stats(struct gorgon_abandoned_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
