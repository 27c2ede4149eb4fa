/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_POOLS_H
#define GORGON_POOLS_H

#include "api.h"
#include "calls.h"
#include "errors.h"
#include "interpreters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pools: warmed interpreters for work from any thread ---------------- */

/** Options of gorgon_pool_create(). */
struct gorgon_pool_opts {
	size_t size; /**< sizeof(struct gorgon_pool_opts) */
	/** Of each interpreter; NULL for defaults. The structures are copied, their strings are
	 * not and must live as long as the pool. Signals of the process do not reach a pool:
	 * no_signals in struct gorgon_ns_opts is always set. */
	const struct gorgon_interp_opts *interp;
	const struct gorgon_start_opts *start;
	unsigned count;	     /**< interpreters; 0 for as many as there are processors */
	unsigned queue_size; /**< jobs that may wait; 0 for twice @c count */
	/** Statements to run in each interpreter before its first job, as
	 * gorgon_interp_run_string() does: imports, definitions. NULL for none. */
	const char *warm_up;
};

/**
 * Make a pool: interpreters, each on a thread of its own, that do what is submitted. Returns
 * when all are warm.
 *
 * An interpreter is replaced by a new one, warmed like the first, when its job was cancelled
 * while it ran, called exit(), or ended with MemoryError. If that fails, the next job that
 * the worker takes gets the error, and it tries again. A child that the process forks has no
 * workers: it must leave the pool alone.
 *
 * @param opts  NULL for defaults.
 * @return GORGON_ERROR_ARGUMENT, GORGON_ERROR_OS (a thread), GORGON_ERROR_NOMEM, every error of
 *         gorgon_interp_create(), gorgon_interp_start() and gorgon_interp_run_string().
 *         Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pool_create(const struct gorgon_pool_opts *opts, struct gorgon_pool **ret);

/**
 * End a pool: cancel the jobs that wait, let those that run end (cancel them before, if they
 * would not), stop and destroy the interpreters.
 *
 * @return GORGON_ERROR_BUSY: jobs have not been given to gorgon_job_finish(), or threads that
 *         libraries of an interpreter have started still run. It takes no more jobs; the
 *         call may be repeated. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_pool_destroy(struct gorgon_pool *pool);

/** How many interpreters have been replaced so far. Since 0.1. */
GORGON_API uint64_t gorgon_pool_replaced_count(const struct gorgon_pool *pool);

/**
 * Let an interpreter of the pool call a function, as gorgon_interp_call() does. Any thread,
 * but for code that runs in the pool: it would wait for itself.
 *
 * @param      args,kwargs  Copied.
 * @param      timeout_ms   How long to wait while the queue is full: 0 not at all, -1 for ever.
 * @param[out] ret          To be given to gorgon_job_finish().
 * @return GORGON_ERROR_BUSY (the queue was full all the time, or the pool is being destroyed),
 *         GORGON_ERROR_ARGUMENT (a value exceeds the limits), GORGON_ERROR_NOMEM. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pool_submit(struct gorgon_pool *pool, const char *module, const char *function,
		   const struct gorgon_value *args, const struct gorgon_value *kwargs,
		   int timeout_ms, struct gorgon_job **ret);

/** Wait until a job has ended, at most so long (-1 for ever). Whether it has. Since 0.1. */
GORGON_API bool gorgon_job_wait(struct gorgon_job *job, int timeout_ms);

/**
 * A job is not wanted any more. One that waits ends with GORGON_ERROR_CANCELLED; one that runs
 * is interrupted as gorgon_interp_interrupt() says, and ends with KeyboardInterrupt unless its
 * code catches that: the call may be repeated. To one that has ended nothing happens.
 *
 * @return every error of gorgon_interp_interrupt(). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_job_cancel(struct gorgon_job *job);

/**
 * Wait for the end of a job, take its result, and release it. No other thread may use it
 * at that time or afterwards.
 *
 * @param[out] ret  To be given back with gorgon_value_deinit(); NULL: dropped.
 * @return every error of gorgon_interp_call(); GORGON_ERROR_CANCELLED; an error of making an
 *         interpreter to replace one. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_job_finish(struct gorgon_job *job,
								    struct gorgon_value *ret);

#ifdef __cplusplus
}
#endif

#endif
