// SPDX-License-Identifier: MIT
// A pool: interpreters on threads of their own, and a queue of calls for them.
//
// Each worker thread starts its interpreter. So it is Python's main thread there, and a cancelled
// job is interrupted in blocking calls, too. After a job that may have left the interpreter in
// disorder (interrupted, exit(), no memory), or that has used up its processor time, the worker
// makes a new interpreter. An interpreter that cannot be destroyed yet, because threads of its
// libraries still run, is kept until the pool ends.
//
// With a limit of time for jobs a thread, the watcher, looks at running jobs. A job that is late is
// interrupted, again and again. If that does not help, its interpreter is abandoned, and the worker
// makes a new interpreter when it comes back from the call. A worker that does not come back is in
// C code: it is lost, its job ends with an error, and another thread takes its place.
//
// The pool and its jobs have one lock. No other lock is held when it is taken. Under it,
// gorgon_job_cancel() takes the locks of an interrupt (call.c). It is not held while code of an
// interpreter runs.

#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "ns/ns.h"
#include "process/kernel/files.h"
#include "process/kernel/signals.h"
#include "process/threads/parking.h"
#include "python/calls/abandon.h"
#include "python/calls/cpu_limit.h"
#include "python/template/state.h"
#include "python/values/value.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS	 UINT64_C(1000000)
#define GRACE_MS 500 // for a job that was interrupted, and for the end of its interpreter
#define AGAIN_MS 20  // between interrupts
#define BACK_MS	 100 // for a thread of an abandoned interpreter to come back

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

// A job on a worker's thread, in a pool with a limit. The worker, when it comes back, and the
// watcher each try to change the state; only the first succeeds.
struct run {
	enum {
		RUNNING,
		BACK,
		LOST, // the thread does not belong to the pool any more
	} state; // atomic
};

struct worker {
	struct gorgon_pool *pool;
	pthread_t thread;
	// Of the job that runs on it, in a pool with a limit; under the pool's lock.
	struct run *run;
	struct gorgon_job *job;
	uint64_t begun;
	bool is_late;
	uint64_t until; // when it is late: the job, and then the thread, has so long to come back
	struct gorgon_patience patience;
	bool abandoned; // its interpreter was
	bool watched;	// the watcher uses its interpreter without the lock
	bool ended;	// its thread is at its end
	bool joined;	// there is no thread to join
	struct gorgon_starting_directory place; // of its first interpreter
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
	uint64_t job_limit; // in nanoseconds; 0: none
	pid_t process;	    // that has the threads
	pthread_t watcher;
	bool has_watcher;

	pthread_mutex_t lock; // of all that follows, and of the jobs' states
	pthread_cond_t changed;
	bool ending, watcher_ends;
	struct gorgon_job *first, *last; // the queue
	unsigned queued_count;
	unsigned job_count; // not given back by the host
	struct retired *retired;
};

// --- interpreters of workers ----------------------------------------------------------------

static struct gorgon_error *make_pool_interp(struct gorgon_pool *pool, struct gorgon_interp **ret)
{
	struct gorgon_interp *interp;
	struct gorgon_error *err = gorgon_interp_create(&pool->interp, &interp);

	if (err)
		return err;
	gorgon_signals_be_worker(interp->ns->signals);
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

static void retire_from_pool(struct gorgon_pool *pool, struct gorgon_interp *interp)
{
	struct gorgon_error *err;
	struct retired *retired;

	// Threads and functions of atexit that a late job has left must not hold up the worker.
	if (pool->job_limit)
		gorgon_error_destroy(gorgon_interp_stop_within(interp, GRACE_MS));
	err = gorgon_interp_destroy(interp);

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

// A forked child has none of the threads, and one of them may have had the lock: there the pool is
// left as it is.
static struct gorgon_error *refuse_in_child(const struct gorgon_pool *pool)
{
	return pool->process == getpid()
		       ? NULL
		       : gorgon_error_create(GORGON_ERROR_BUSY, "pool: this process was forked: it "
								"has none of the pool's threads");
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
static void append_job(struct gorgon_pool *pool, struct gorgon_job *job)
{
	if (pool->last)
		pool->last->next = job;
	else
		pool->first = job;
	pool->last = job;
	pool->queued_count++;
	pthread_cond_broadcast(&pool->changed);
}

static void take_job_out(struct gorgon_pool *pool, struct gorgon_job *job)
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

static void finish_job(struct gorgon_job *job, struct gorgon_error *err)
{
	job->state = JOB_DONE;
	job->interp = NULL;
	job->err = err;
	pthread_cond_broadcast(&job->pool->changed);
}

static void cancel_queued_job(struct gorgon_pool *pool, struct gorgon_job *job)
{
	take_job_out(pool, job);
	finish_job(job, gorgon_error_create(GORGON_ERROR_CANCELLED, "%s: cancelled before it began",
					    job->function));
}

// --- workers ----------------------------------------------------------------------------------

// Whether the interpreter may go on after a job.
static bool is_job_sound(const struct gorgon_job *job, const struct gorgon_error *err)
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

static struct gorgon_error *call_job(struct gorgon_job *job, struct gorgon_value *ret)
{
	const struct gorgon_value *args = job->args.kind ? &job->args : NULL;
	const struct gorgon_value *kwargs = job->kwargs.kind ? &job->kwargs : NULL;

	return gorgon_interp_call(job->interp, job->module, job->function, args, kwargs, ret);
}

static void replace_interp(struct worker *worker)
{
	if (worker->interp)
		retire_from_pool(worker->pool, worker->interp);
	worker->interp = NULL;
	gorgon_files_go_back(&worker->place);
	worker->err = make_pool_interp(worker->pool, &worker->interp);
	__atomic_add_fetch(&worker->pool->replaced_count, !worker->err, __ATOMIC_RELAXED);
}

// The next job, or NULL: the pool ends.
static struct gorgon_job *next_job(struct worker *worker)
{
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_job *job;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->first && !pool->ending)
			pthread_cond_wait(&pool->changed, &pool->lock);
		// Threads that a job has left may have used up the processor time meanwhile.
		if (!pool->first || !worker->interp || !gorgon_cpu_limit_is_reached(worker->interp))
			break;
		pthread_mutex_unlock(&pool->lock);
		replace_interp(worker);
		pthread_mutex_lock(&pool->lock);
	}
	job = pool->first;
	if (job) {
		take_job_out(pool, job);
		job->state = JOB_RUNNING;
		job->interp = worker->interp;
	}
	pthread_mutex_unlock(&pool->lock);
	return job;
}

// False: no memory; the job runs without a limit.
static bool begin_run(struct worker *worker, struct gorgon_job *job)
{
	struct gorgon_pool *pool = worker->pool;

	if (!pool->job_limit || !job->interp)
		return false;
	pthread_mutex_lock(&pool->lock);
	worker->run = calloc(1, sizeof(*worker->run));
	worker->job = job;
	worker->begun = gorgon_now();
	worker->is_late = worker->abandoned = false;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return worker->run;
}

static bool change_run(struct run *run, int state)
{
	int running = RUNNING;

	return __atomic_compare_exchange_n((int *)&run->state, &running, state, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void end_run(struct worker *worker)
{
	while (worker->watched)
		pthread_cond_wait(&worker->pool->changed, &worker->pool->lock);
	free(worker->run);
	worker->run = NULL;
	worker->job = NULL;
}

enum outcome {
	SOUND,	 // the worker's interpreter may go on
	UNSOUND,
	GONE,	 // the thread was replaced; the worker and the job are another thread's now
};

static enum outcome run_job(struct worker *worker, struct gorgon_job *job)
{
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_value result = {.kind = GORGON_VALUE_NONE};
	struct run *run = begin_run(worker, job) ? worker->run : NULL;
	struct gorgon_error *err;
	bool sound;

	if (job->interp)
		err = call_job(job, &result);
	else
		err = gorgon_error_prefix(worker->err, "no interpreter for it");
	if (run && !change_run(run, BACK)) {
		gorgon_error_destroy(err);
		gorgon_value_deinit(&result);
		free(run);
		return GONE;
	}
	worker->err = NULL;
	pthread_mutex_lock(&pool->lock);
	if (run)
		end_run(worker);
	sound = is_job_sound(job, err) &&
		!(worker->interp && gorgon_cpu_limit_is_reached(worker->interp));
	job->result = result;
	finish_job(job, err);
	pthread_mutex_unlock(&pool->lock);
	return sound ? SOUND : UNSOUND;
}

// The functions that the host has given would run on the workers' threads.
static bool has_pool_own_files(const struct gorgon_pool *pool)
{
	if (pool->interp.files != GORGON_FILES_AUTO)
		return pool->interp.files == GORGON_FILES_THREAD;
	return !pool->ns.write_output && !pool->ns.provider && !pool->start.progress;
}

static struct gorgon_error *take_pool_files(struct worker *worker)
{
	int err = gorgon_files_unshare();

	if (err)
		return gorgon_error_create_os(-err,
					      "pool: a worker cannot have descriptors of its own");
	gorgon_files_note_place(&worker->place);
	return NULL;
}

static void *work_in_pool(void *arg)
{
	struct worker *worker = arg;
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_job *job;

	worker->err = has_pool_own_files(pool) ? take_pool_files(worker) : NULL;
	if (!worker->err)
		worker->err = make_pool_interp(pool, &worker->interp);
	pthread_mutex_lock(&pool->lock);
	pool->ready_count++;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	while ((job = next_job(worker))) {
		enum outcome outcome = run_job(worker, job);

		if (outcome == GONE)
			return NULL;
		if (outcome == SOUND && worker->interp)
			continue;
		replace_interp(worker);
	}
	if (worker->interp)
		retire_from_pool(pool, worker->interp);
	free(worker->place.directory);
	pthread_mutex_lock(&pool->lock);
	worker->ended = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static int start_worker(struct worker *worker)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	pthread_attr_setstacksize(&attr, GORGON_PYTHON_STACK_SIZE);
	err = pthread_create(&worker->thread, &attr, work_in_pool, worker);
	pthread_attr_destroy(&attr);
	return err;
}

// --- jobs that are late -----------------------------------------------------------------------

static void abandon_worker(struct worker *worker)
{
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_interp *interp = worker->job->interp;
	char why[1024], names[900];

	worker->abandoned = worker->watched = true;
	pthread_mutex_unlock(&pool->lock);
	gorgon_abandon_name_threads(interp, 0, gorgon_now() + BACK_MS * MS, names, sizeof(names));
	snprintf(why, sizeof(why), "its job did not end within %lu ms: %s", pool->job_limit / MS,
		 names);
	gorgon_abandon(interp, why);
	pthread_mutex_lock(&pool->lock);
	worker->watched = false;
	pthread_cond_broadcast(&pool->changed);
}

// The worker's thread is in C code for good. It never touches the pool again.
static void replace_worker(struct worker *worker)
{
	struct retired *retired = malloc(sizeof(*retired));
	struct gorgon_pool *pool = worker->pool;
	struct gorgon_job *job = worker->job;

	if (retired && change_run(worker->run, LOST)) {
		*retired = (struct retired){pool->retired, worker->interp};
		pool->retired = retired;
		finish_job(
			job,
			gorgon_error_create(
				GORGON_ERROR_ABANDONED,
				"%s: did not end within %lu ms: interpreter %u was abandoned: %s",
				job->function, pool->job_limit / MS,
				gorgon_interp_number(worker->interp), worker->interp->calls.why));
		pthread_detach(worker->thread);
		*worker = (struct worker){.pool = pool};
		worker->ended = worker->joined = start_worker(worker) != 0;
		__atomic_add_fetch(&pool->replaced_count, 1, __ATOMIC_RELAXED);
	} else {
		free(retired);
	}
}

static void be_patient(struct worker *worker, uint64_t until, uint64_t limit_ns)
{
	worker->is_late = true;
	worker->until = until;
	gorgon_abandon_patiently(&worker->patience, worker->job->interp, 0, limit_ns);
}

// Returns when to look again.
static uint64_t look_at_worker(struct worker *worker)
{
	uint64_t now = gorgon_now(), late = worker->begun + worker->pool->job_limit;

	if (!worker->job)
		return UINT64_MAX;
	if (now < late)
		return late;
	if (!worker->is_late)
		be_patient(worker, late + GRACE_MS * MS, GRACE_MS * MS);
	else
		worker->until += gorgon_abandon_later(&worker->patience, worker->job->interp, 0);
	if (now < worker->until) {
		if (!worker->abandoned) {
			worker->job->cancelled = true;
			gorgon_error_destroy(gorgon_call_interrupt_job(worker->job->interp));
		}
		return now + AGAIN_MS * MS;
	}
	if (worker->abandoned) {
		replace_worker(worker);
	} else {
		abandon_worker(worker);
		be_patient(worker, gorgon_now() + BACK_MS * MS, BACK_MS * MS);
	}
	return gorgon_now() + AGAIN_MS * MS;
}

static void *watch_pool(void *arg)
{
	struct gorgon_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	while (!pool->watcher_ends) {
		uint64_t next = gorgon_now() + 3600000 * MS;
		struct timespec until;

		for (unsigned i = 0; i < pool->worker_count; i++) {
			uint64_t again = look_at_worker(&pool->workers[i]);

			next = again < next ? again : next;
		}
		until = (struct timespec){(time_t)(next / 1000000000), (long)(next % 1000000000)};
		pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void end_pool_watcher(struct gorgon_pool *pool)
{
	if (!pool->has_watcher)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->watcher_ends = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	pthread_join(pool->watcher, NULL);
	pool->has_watcher = false;
}

// --- the pool ---------------------------------------------------------------------------------

// Until all threads that were made have ended.
static void end_workers(struct gorgon_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	while (pool->first)
		cancel_queued_job(pool, pool->first);
	pthread_cond_broadcast(&pool->changed);
	// The watcher may put another thread in a worker's place as long as a job runs.
	for (unsigned i = 0; i < pool->worker_count; i++)
		while (!pool->workers[i].ended)
			pthread_cond_wait(&pool->changed, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	end_pool_watcher(pool);
	for (unsigned i = 0; i < pool->worker_count; i++) {
		if (!pool->workers[i].joined)
			pthread_join(pool->workers[i].thread, NULL);
		gorgon_error_destroy(pool->workers[i].err);
	}
	pool->worker_count = 0;
}

static struct gorgon_error *destroy_retired_from_pool(struct gorgon_pool *pool)
{
	while (pool->retired) {
		struct retired *retired = pool->retired;
		struct gorgon_error *err = gorgon_interp_destroy(retired->interp);

		// The threads of an abandoned interpreter do not end: it stays, and is counted.
		if (err && !gorgon_parking_is_abandoned(retired->interp->ns))
			return err;
		gorgon_error_destroy(err);
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
	gorgon_template_drop((struct gorgon_template *)pool->interp.from);
	free(pool);
}

static struct gorgon_error *start_workers(struct gorgon_pool *pool, unsigned count)
{
	struct gorgon_error *err = NULL;
	int errnum = 0;

	while (!errnum && pool->worker_count < count) {
		struct worker *worker = &pool->workers[pool->worker_count];

		worker->pool = pool;
		errnum = start_worker(worker);
		pool->worker_count += !errnum;
	}
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

static struct gorgon_error *read_pool_options(struct gorgon_pool *pool,
					      const struct gorgon_pool_opts *opts)
{
	struct gorgon_error *err = gorgon_sized_read("gorgon_interp_opts", opts->interp,
						     &pool->interp, sizeof(pool->interp));

	if (!err)
		err = gorgon_sized_read("gorgon_ns_opts", pool->interp.ns, &pool->ns,
					sizeof(pool->ns));
	if (!err)
		err = gorgon_sized_read("gorgon_start_opts", opts->start, &pool->start,
					sizeof(pool->start));
	pool->interp.ns = &pool->ns;
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
	if ((err = read_pool_options(pool, &given))) {
		free(pool);
		return err;
	}
	if (given.job_limit_ms && pool->interp.isolate != GORGON_ISOLATE_LOADER) {
		free(pool);
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "gorgon_pool_opts: job_limit_ms is %u: only "
					   "interpreters that the loader isolates can be abandoned",
					   given.job_limit_ms);
	}
	if (pool->interp.from)
		gorgon_template_hold((struct gorgon_template *)pool->interp.from);
	pool->process = getpid();
	pool->job_limit = given.job_limit_ms * MS;
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
	if (!err && pool->job_limit) {
		int errnum = pthread_create(&pool->watcher, NULL, watch_pool, pool);

		pool->has_watcher = !errnum;
		if (errnum)
			err = gorgon_error_create_os(
				errnum, "pool: cannot create a thread that watches jobs");
	}
	if (!err) {
		*ret = pool;
		return NULL;
	}
	end_workers(pool);
	// An interpreter that threads of its libraries keep busy stays mapped, and with it the pool
	// that knows it.
	gorgon_error_destroy(destroy_retired_from_pool(pool));
	if (!pool->retired)
		pool_free(pool);
	return err;
}

struct gorgon_error *gorgon_pool_destroy(struct gorgon_pool *pool)
{
	struct gorgon_error *err;
	unsigned job_count;

	if (!pool || pool->process != getpid())
		return NULL;
	end_workers(pool);
	pthread_mutex_lock(&pool->lock);
	job_count = pool->job_count;
	pthread_mutex_unlock(&pool->lock);
	if (job_count)
		return gorgon_error_create(
			GORGON_ERROR_BUSY,
			"pool: %u jobs have not been given to gorgon_job_finish()", job_count);
	if ((err = destroy_retired_from_pool(pool)))
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
static bool wait_for_pool_change(struct gorgon_pool *pool, int timeout_ms,
				 const struct timespec *until)
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
	struct gorgon_error *err = refuse_in_child(pool);
	bool in_time = true;

	if (err || (err = job_create(pool, module, function, args, kwargs, &job)))
		return err;
	pthread_mutex_lock(&pool->lock);
	while (pool->queued_count >= pool->queue_size && !pool->ending && in_time)
		in_time = wait_for_pool_change(pool, timeout_ms, &until);
	if (pool->ending)
		err = gorgon_error_create(GORGON_ERROR_BUSY, "pool: is being destroyed");
	else if (pool->queued_count >= pool->queue_size)
		err = gorgon_error_create(GORGON_ERROR_BUSY, "pool: %u jobs wait already",
					  pool->queued_count);
	if (!err) {
		pool->job_count++;
		append_job(pool, job);
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

	if (job->pool->process != getpid())
		return job->state == JOB_DONE;
	pthread_mutex_lock(&job->pool->lock);
	while (job->state != JOB_DONE && in_time)
		in_time = wait_for_pool_change(job->pool, timeout_ms, &until);
	ret = job->state == JOB_DONE;
	pthread_mutex_unlock(&job->pool->lock);
	return ret;
}

struct gorgon_error *gorgon_job_cancel(struct gorgon_job *job)
{
	struct gorgon_pool *pool = job->pool;
	struct gorgon_error *err = refuse_in_child(pool);

	if (err)
		return err;
	pthread_mutex_lock(&pool->lock);
	if (job->state == JOB_QUEUED)
		cancel_queued_job(pool, job);
	if (job->state == JOB_RUNNING && job->interp) {
		job->cancelled = true;
		err = gorgon_call_interrupt_job(job->interp);
	}
	pthread_mutex_unlock(&pool->lock);
	return err;
}

struct gorgon_error *gorgon_job_finish(struct gorgon_job *job, struct gorgon_value *ret)
{
	struct gorgon_pool *pool = job->pool;
	struct gorgon_error *err = refuse_in_child(pool);

	if (err)
		return err;
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
