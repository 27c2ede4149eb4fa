/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
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
	/** Options of each interpreter; NULL for defaults. The structures are copied; the strings
	 * and lists in them are not, and must live as long as the pool; a template (@c from) is
	 * held. Jobs have signals as programs have: handlers, alarms, what they send to
	 * themselves, SIGCHLD of their children; unless @c no_signals in struct gorgon_ns_opts
	 * is set. A SIGINT to the process is the host's. */
	const struct gorgon_interp_opts *interp;
	const struct gorgon_start_opts *start; /**< for each worker; NULL for defaults */
	unsigned count;	     /**< interpreters; 0 for as many as there are processors */
	unsigned queue_size; /**< jobs that may wait; 0 for twice @c count */
	/** Statements to run in each interpreter before its first job, as
	 * gorgon_interp_run_string() does: imports, definitions. NULL for none. */
	const char *warm_up;
	/**
	 * How long a job may run, in milliseconds; 0 for no limit. A late job is interrupted again
	 * and again, as gorgon_job_cancel() does, and ends with KeyboardInterrupt. After 500 ms
	 * more its interpreter is abandoned, as gorgon_interp_stop_within() says, and replaced; the
	 * job ends with GORGON_ERROR_ABANDONED, which names what it was doing, after 200 ms more at
	 * the latest. Interpreters are stopped with a limit of 500 ms then. On a busy machine these
	 * 500 ms are longer, as the limit of gorgon_interp_stop_within(). Only with
	 * GORGON_ISOLATE_LOADER.
	 */
	unsigned job_limit_ms;
};

/**
 * Make a pool: interpreters, each on a thread of its own, that run the jobs which are submitted.
 * Returns when all have run their warm-up.
 *
 * An interpreter is replaced by a new one, with a warm-up of its own, when its job was cancelled
 * while it ran, called exit(), ended with MemoryError, or had a fault that the host survives (@c
 * abandon in struct gorgon_fault_opts), and when the interpreter has used up its processor time (@c
 * cpu_limit_ms in struct gorgon_interp_opts). If no new one can be made, the next job that this
 * thread takes ends with the error, and the thread tries again.
 *
 * A child that the process forks has none of these threads. There gorgon_pool_destroy() returns at
 * once, and what the pool has stays allocated; gorgon_job_wait() says whether the job had ended
 * before the fork; gorgon_pool_submit(), gorgon_job_cancel() and gorgon_job_finish() return
 * GORGON_ERROR_BUSY, and the job stays allocated. A child may make pools of its own.
 *
 * @param opts  NULL for defaults.
 * @return GORGON_ERROR_OS (a thread cannot be made), every error of gorgon_interp_create(),
 *         gorgon_interp_start() and gorgon_interp_run_string(). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pool_create(const struct gorgon_pool_opts *opts, struct gorgon_pool **ret);

/**
 * End a pool: cancel the jobs that wait, wait for the jobs that run (the host cancels those that
 * would run on), stop and destroy the interpreters. NULL is ignored.
 *
 * @return GORGON_ERROR_BUSY: jobs have not been given to gorgon_job_finish(), or threads that
 *         libraries of an interpreter have started still run. The pool takes no more jobs; the
 *         call may be repeated. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_pool_destroy(struct gorgon_pool *pool);

/** How many interpreters have been replaced so far. Since 0.1. */
GORGON_API uint64_t gorgon_pool_replaced_count(const struct gorgon_pool *pool);

/**
 * Let an interpreter of the pool call a function, as gorgon_interp_call() does. Code that runs in
 * the pool must not submit to it: it could wait for itself.
 *
 * @param      module,function  As for gorgon_interp_call().
 * @param      args,kwargs      As for gorgon_interp_call(). Copied; arrays in them are held.
 * @param      timeout_ms       How long to wait while the queue is full, in milliseconds: 0 not at
 *                              all, -1 for ever.
 * @param[out] ret              To be given to gorgon_job_finish().
 * @return GORGON_ERROR_BUSY (the queue was full all the time, or the pool is being destroyed),
 *         GORGON_ERROR_ARGUMENT (a value exceeds the limits). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_pool_submit(struct gorgon_pool *pool, const char *module, const char *function,
		   const struct gorgon_value *args, const struct gorgon_value *kwargs,
		   int timeout_ms, struct gorgon_job **ret);

/**
 * Wait until a job has ended.
 *
 * @param timeout_ms  How long, in milliseconds: 0 not at all, -1 for ever.
 * @return whether the job has ended. Since 0.1.
 */
GORGON_API bool gorgon_job_wait(struct gorgon_job *job, int timeout_ms);

/**
 * Cancel a job. If it waits, it ends with GORGON_ERROR_CANCELLED. If it runs, it is interrupted as
 * gorgon_interp_interrupt() says, and ends with KeyboardInterrupt unless its code catches that: the
 * call may be repeated. If it has ended, nothing happens.
 *
 * @return every error of gorgon_interp_interrupt(). Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_job_cancel(struct gorgon_job *job);

/**
 * Wait for the end of a job, take its result, and release the job. No other thread may use the job
 * at that time or later.
 *
 * @param[out] ret  The result, to be given back with gorgon_value_deinit(); NULL: it is dropped.
 * @return every error of gorgon_interp_call(); GORGON_ERROR_CANCELLED; every error of
 *         gorgon_pool_create(), if there was no interpreter for the job. The job is released in any
 *         case. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_job_finish(struct gorgon_job *job,
								    struct gorgon_value *ret);

#ifdef __cplusplus
}
#endif

#endif
