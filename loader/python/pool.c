// SPDX-License-Identifier: MIT
// A pool: interpreters on threads of their own, and a queue of calls for them.
//
// Each worker thread starts its interpreter. So it is Python's main thread there, and
// a cancelled job is interrupted in blocking calls, too. After a job that may have left the
// interpreter in disorder (interrupted, exit(), no memory) the worker makes a new interpreter. An
// interpreter that cannot be destroyed yet, because threads of its libraries still run, is
// kept until the pool ends.
//
// The pool and its jobs have one lock. No other lock is held when it is taken. Under it,
// gorgon_job_cancel() takes the locks of an interrupt (call.c). It is not held while code of an
// interpreter runs.

#define _GNU_SOURCE
#include "value.h"
#include "base/clock.h"
#include "base/error.h"
#include "ns/ns.h"
#include "base/sized.h"
#include "process/files.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// CPython's recursion limits are made for what a main thread has.
#define STACK_SIZE (8u << 20)

enum job_state {
	JOB_QUEUED,
	JOB_RUNNING,
	JOB_DONE,
};

struct gorgon_job {
	struct gorgon_job *next; // in the queue
	struct gorgon_pool *pool;
	char *module, *function;
	struct gorgon_value args, kwargs; // None: there are none
	enum job_state state;
	bool cancelled;
	struct gorgon_interp *interp; // while RUNNING
	struct gorgon_value result;
	struct gorgon_error *err;
};

struct worker {
	struct gorgon_pool *pool;
	pthread_t thread;
	struct gorgon_starting_place place; // of its first interpreter
	struct gorgon_interp *interp;  // NULL: could not be made; the next job tries again
	struct gorgon_error *err;      // of the first time
};

// An interpreter that could not be destroyed.
struct retired {
	struct retired *next;
	struct gorgon_interp *interp;
};

struct gorgon_pool {
	struct gorgon_interp_opts interp;
	struct gorgon_ns_opts ns; // of `interp`
	struct gorgon_start_opts start;
	char *warm_up;
	struct worker *workers;
	unsigned worker_count; // workers whose threads run
	unsigned ready_count;  // workers that have tried to make their first interpreter
	unsigned queue_size;
	uint64_t replaced_count;

	pthread_mutex_t lock; // of all that follows, and of the jobs' states
	pthread_cond_t changed;
	bool ending;
	struct gorgon_job *first, *last; // the queue
	unsigned queued_count;
	unsigned job_count; // not given back by the host
	struct retired *retired;
};

// --- interpreters of workers ----------------------------------------------------------------

static struct gorgon_error *make_interp(struct gorgon_pool *pool, struct gorgon_interp **ret)
{
	struct gorgon_interp *interp;
	struct gorgon_error *err = gorgon_interp_create(&pool->interp, &interp);

	if (err)
		return err;
	err = gorgon_interp_start(interp, &pool->start);
	if (!err && pool->warm_up)
		err = gorgon_interp_run_string(interp, pool->warm_up, "<warm-up>");
	if (!err) {
		*ret = interp;
		return NULL;
	}
	// Threads that the warm-up has left keep it mapped, for good.
	gorgon_error_destroy(gorgon_interp_destroy(interp));
	return err;
}

static void retire(struct gorgon_pool *pool, struct gorgon_interp *interp)
{
	struct gorgon_error *err = gorgon_interp_destroy(interp);
	struct retired *retired;

	if (!err)
		return;
	gorgon_error_destroy(err);
	// Without memory it stays mapped, for good.
	retired = malloc(sizeof(*retired));
	if (!retired)
		return;
	pthread_mutex_lock(&pool->lock);
	*retired = (struct retired){pool->retired, interp};
	pool->retired = retired;
	pthread_mutex_unlock(&pool->lock);
}

// --- jobs -------------------------------------------------------------------------------------

static void job_free(struct gorgon_job *job)
{
	free(job->module);
	free(job->function);
	gorgon_value_deinit(&job->args);
	gorgon_value_deinit(&job->kwargs);
	gorgon_value_deinit(&job->result);
	gorgon_error_destroy(job->err);
	free(job);
}

static struct gorgon_error *job_create(struct gorgon_pool *pool, const char *module,
				       const char *function, const struct gorgon_value *args,
				       const struct gorgon_value *kwargs, struct gorgon_job **ret)
{
	struct gorgon_job *job = calloc(1, sizeof(*job));
	struct gorgon_error *err = NULL;

	if (!job)
		return &gorgon_error_nomem;
	job->pool = pool;
	job->function = strdup(function);
	job->module = module ? strdup(module) : NULL;
	if (!job->function || (module && !job->module))
		err = &gorgon_error_nomem;
	if (!err && args)
		err = gorgon_value_copy(args, "args", &job->args);
	if (!err && kwargs)
		err = gorgon_value_copy(kwargs, "kwargs", &job->kwargs);
	if (err)
		job_free(job);
	else
		*ret = job;
	return err;
}

// The lock is held, here and below.
static void append(struct gorgon_pool *pool, struct gorgon_job *job)
{
	if (pool->last)
		pool->last->next = job;
	else
		pool->first = job;
	pool->last = job;
	pool->queued_count++;
	pthread_cond_broadcast(&pool->changed);
}

static void take_out(struct gorgon_pool *pool, struct gorgon_job *job)
{
	struct gorgon_job **p = &pool->first, *before = NULL;

	for (; *p != job; p = &before->next)
		before = *p;
	*p = job->next;
	if (pool->last == job)
		pool->last = before;
	pool->queued_count--;
	pthread_cond_broadcast(&pool->changed);
}

static void finish(struct gorgon_job *job, struct gorgon_error *err)
{
	job->state = JOB_DONE;
	job->interp = NULL;
	job->err = err;
	pthread_cond_broadcast(&job->pool->changed);
}

static void cancel_queued(struct gorgon_pool *pool, struct gorgon_job *job)
{
	take_out(pool, job);
	finish(job, gorgon_error_create(GORGON_ERROR_CANCELLED, "%s: cancelled before it began",
					job->function));
}

// --- workers ----------------------------------------------------------------------------------

// Whether the interpreter may go on after a job.
static bool is_sound(const struct gorgon_job *job, const struct gorgon_error *err)
{
	const struct gorgon_exception *exception = gorgon_error_exception(err);

	switch (gorgon_error_code(err)) {
	case GORGON_ERROR_PYTHON: // exit()
	case GORGON_ERROR_BUSY:	  // it had ended before
	case GORGON_ERROR_ABANDONED: // after a fault
		return false;
	default:
		return !job->cancelled && !(exception && !strcmp(exception->type, "MemoryError"));
	}
}

static struct gorgon_error *call(struct gorgon_job *job, struct gorgon_value *ret)
{
	const struct gorgon_value *args = job->args.kind ? &job->args : NULL;
	const struct gorgon_value *kwargs = job->kwargs.kind ? &job->kwargs : NULL;

	return gorgon_interp_call(job->interp, job->module, job->function, args, kwargs, ret);
}

// The next job, or NULL: the pool ends.
static struct gorgon_job *next_job(struct worker *worker)
{
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_job *job;

	pthread_mutex_lock(&pool->lock);
	while (!pool->first && !pool->ending)
		pthread_cond_wait(&pool->changed, &pool->lock);
	job = pool->first;
	if (job) {
		take_out(pool, job);
		job->state = JOB_RUNNING;
		job->interp = worker->interp;
	}
	pthread_mutex_unlock(&pool->lock);
	return job;
}

// Returns whether the worker's interpreter may go on.
static bool run_job(struct worker *worker, struct gorgon_job *job)
{
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_value result = {.kind = GORGON_VALUE_NONE};
	struct gorgon_error *err;
	bool sound;

	if (job->interp)
		err = call(job, &result);
	else
		err = gorgon_error_prefix(worker->err, "no interpreter for it");
	worker->err = NULL;
	pthread_mutex_lock(&pool->lock);
	sound = is_sound(job, err);
	job->result = result;
	finish(job, err);
	pthread_mutex_unlock(&pool->lock);
	return sound;
}

// The functions that the host has given would run on the workers' threads.
static bool has_own_files(const struct gorgon_pool *pool)
{
	if (pool->interp.files != GORGON_FILES_AUTO)
		return pool->interp.files == GORGON_FILES_THREAD;
	return !pool->ns.write_output && !pool->ns.provider && !pool->start.progress;
}

static struct gorgon_error *take_files(struct worker *worker)
{
	int err = gorgon_files_unshare();

	if (err)
		return gorgon_error_create_os(-err,
					      "pool: a worker cannot have descriptors of its own");
	gorgon_files_note_place(&worker->place);
	return NULL;
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_job *job;
	sigset_t interrupt;

	// It is how the interpreter is interrupted.
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
	worker->err = has_own_files(pool) ? take_files(worker) : NULL;
	if (!worker->err)
		worker->err = make_interp(pool, &worker->interp);
	pthread_mutex_lock(&pool->lock);
	pool->ready_count++;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	while ((job = next_job(worker))) {
		if (run_job(worker, job) && worker->interp)
			continue;
		if (worker->interp)
			retire(pool, worker->interp);
		worker->interp = NULL;
		gorgon_files_go_back(&worker->place);
		worker->err = make_interp(pool, &worker->interp);
		__atomic_add_fetch(&pool->replaced_count, !worker->err, __ATOMIC_RELAXED);
	}
	if (worker->interp)
		retire(pool, worker->interp);
	free(worker->place.directory);
	return NULL;
}

// --- the pool ---------------------------------------------------------------------------------

// Until all threads that were made have ended.
static void end_workers(struct gorgon_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	while (pool->first)
		cancel_queued(pool, pool->first);
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->worker_count; i++) {
		pthread_join(pool->workers[i].thread, NULL);
		gorgon_error_destroy(pool->workers[i].err);
	}
	pool->worker_count = 0;
}

static struct gorgon_error *destroy_retired(struct gorgon_pool *pool)
{
	while (pool->retired) {
		struct retired *retired = pool->retired;
		struct gorgon_error *err = gorgon_interp_destroy(retired->interp);

		if (err)
			return err;
		pool->retired = retired->next;
		free(retired);
	}
	return NULL;
}

static void pool_free(struct gorgon_pool *pool)
{
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	free(pool->workers);
	free(pool->warm_up);
	free(pool);
}

static struct gorgon_error *start_workers(struct gorgon_pool *pool, unsigned count)
{
	struct gorgon_error *err = NULL;
	pthread_attr_t attr;
	int errnum = pthread_attr_init(&attr);

	if (errnum)
		return gorgon_error_create_os(errnum, "pool: cannot create threads");
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	while (!errnum && pool->worker_count < count) {
		struct worker *worker = &pool->workers[pool->worker_count];

		worker->pool = pool;
		errnum = pthread_create(&worker->thread, &attr, work, worker);
		pool->worker_count += !errnum;
	}
	pthread_attr_destroy(&attr);
	pthread_mutex_lock(&pool->lock);
	while (pool->ready_count < pool->worker_count)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	if (errnum)
		return gorgon_error_create_os(errnum, "pool: cannot create thread %u of %u",
					      pool->worker_count + 1, count);
	// No job runs yet: the workers leave their errors alone.
	for (unsigned i = 0; i < count && !err; i++) {
		err = pool->workers[i].err;
		pool->workers[i].err = NULL;
	}
	return err;
}

static unsigned cpu_count(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

static struct gorgon_error *read_options(struct gorgon_pool *pool, const struct gorgon_pool_opts *opts)
{
	struct gorgon_error *err = gorgon_sized_read("gorgon_interp_opts", opts->interp, &pool->interp,
						     sizeof(pool->interp));

	if (!err)
		err = gorgon_sized_read("gorgon_ns_opts", pool->interp.ns, &pool->ns, sizeof(pool->ns));
	if (!err)
		err = gorgon_sized_read("gorgon_start_opts", opts->start, &pool->start,
					sizeof(pool->start));
	pool->interp.ns = &pool->ns;
	pool->ns.no_signals = true;
	return err;
}

struct gorgon_error *gorgon_pool_create(const struct gorgon_pool_opts *opts,
					struct gorgon_pool **ret)
{
	struct gorgon_pool_opts given;
	struct gorgon_error *err;
	struct gorgon_pool *pool;
	pthread_condattr_t attr;
	unsigned count;

	if ((err = gorgon_sized_read("gorgon_pool_opts", opts, &given, sizeof(given))))
		return err;
	count = given.count ?: cpu_count();
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return &gorgon_error_nomem;
	if ((err = read_options(pool, &given))) {
		free(pool);
		return err;
	}
	pool->queue_size = given.queue_size ?: 2 * count;
	pool->workers = calloc(count, sizeof(*pool->workers));
	pool->warm_up = given.warm_up ? strdup(given.warm_up) : NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (!pool->workers || (given.warm_up && !pool->warm_up))
		err = &gorgon_error_nomem;
	else
		err = start_workers(pool, count);
	if (!err) {
		*ret = pool;
		return NULL;
	}
	end_workers(pool);
	// What its libraries' threads keep busy stays mapped, with the pool that knows of it.
	gorgon_error_destroy(destroy_retired(pool));
	if (!pool->retired)
		pool_free(pool);
	return err;
}

struct gorgon_error *gorgon_pool_destroy(struct gorgon_pool *pool)
{
	struct gorgon_error *err;
	unsigned job_count;

	if (!pool)
		return NULL;
	end_workers(pool);
	pthread_mutex_lock(&pool->lock);
	job_count = pool->job_count;
	pthread_mutex_unlock(&pool->lock);
	if (job_count)
		return gorgon_error_create(GORGON_ERROR_BUSY,
					   "pool: %u jobs have not been given to gorgon_job_finish()",
					   job_count);
	if ((err = destroy_retired(pool)))
		return err;
	pool_free(pool);
	return NULL;
}

uint64_t gorgon_pool_replaced_count(const struct gorgon_pool *pool)
{
	return __atomic_load_n(&pool->replaced_count, __ATOMIC_RELAXED);
}

// --- jobs, for the host -----------------------------------------------------------------------

// False: the time is over. @timeout_ms as in the interface.
static bool wait_for_change(struct gorgon_pool *pool, int timeout_ms, const struct timespec *until)
{
	if (timeout_ms < 0)
		return !pthread_cond_wait(&pool->changed, &pool->lock);
	return pthread_cond_timedwait(&pool->changed, &pool->lock, until) != ETIMEDOUT;
}

struct gorgon_error *gorgon_pool_submit(struct gorgon_pool *pool, const char *module,
					const char *function, const struct gorgon_value *args,
					const struct gorgon_value *kwargs, int timeout_ms,
					struct gorgon_job **ret)
{
	struct timespec until = gorgon_deadline(timeout_ms);
	struct gorgon_job *job;
	struct gorgon_error *err = job_create(pool, module, function, args, kwargs, &job);
	bool in_time = true;

	if (err)
		return err;
	pthread_mutex_lock(&pool->lock);
	while (pool->queued_count >= pool->queue_size && !pool->ending && in_time)
		in_time = wait_for_change(pool, timeout_ms, &until);
	if (pool->ending)
		err = gorgon_error_create(GORGON_ERROR_BUSY, "pool: is being destroyed");
	else if (pool->queued_count >= pool->queue_size)
		err = gorgon_error_create(GORGON_ERROR_BUSY, "pool: %u jobs wait already",
					  pool->queued_count);
	if (!err) {
		pool->job_count++;
		append(pool, job);
	}
	pthread_mutex_unlock(&pool->lock);
	if (err)
		job_free(job);
	else
		*ret = job;
	return err;
}

bool gorgon_job_wait(struct gorgon_job *job, int timeout_ms)
{
	struct timespec until = gorgon_deadline(timeout_ms);
	bool in_time = true, ret;

	pthread_mutex_lock(&job->pool->lock);
	while (job->state != JOB_DONE && in_time)
		in_time = wait_for_change(job->pool, timeout_ms, &until);
	ret = job->state == JOB_DONE;
	pthread_mutex_unlock(&job->pool->lock);
	return ret;
}

struct gorgon_error *gorgon_job_cancel(struct gorgon_job *job)
{
	struct gorgon_pool *pool = job->pool;
	struct gorgon_error *err = NULL;

	pthread_mutex_lock(&pool->lock);
	if (job->state == JOB_QUEUED)
		cancel_queued(pool, job);
	if (job->state == JOB_RUNNING && job->interp) {
		job->cancelled = true;
		err = gorgon_call_interrupt(job->interp, true);
	}
	pthread_mutex_unlock(&pool->lock);
	return err;
}

struct gorgon_error *gorgon_job_finish(struct gorgon_job *job, struct gorgon_value *ret)
{
	struct gorgon_pool *pool = job->pool;
	struct gorgon_error *err;

	gorgon_job_wait(job, -1);
	pthread_mutex_lock(&pool->lock);
	pool->job_count--;
	pthread_mutex_unlock(&pool->lock);
	err = job->err;
	job->err = NULL;
	if (!err && ret) {
		*ret = job->result;
		job->result = (struct gorgon_value){.kind = GORGON_VALUE_NONE};
	}
	job_free(job);
	return err;
}
