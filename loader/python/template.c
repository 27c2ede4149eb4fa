// SPDX-License-Identifier: MIT
// Templates: interpreters that are copies of one that has started and run a program.
//
// The program runs four times, one after the other. The first time it finds out what the process
// remembers of files, and is thrown away. The others stop at a point where fork() could copy them,
// and stay there until they have been compared (template/map.c). If what they did differs, the
// program runs again. Then the memory of the first of
// them is kept, and all of them end as every interpreter.
//
// Each has a thread of its own with descriptors of its own, so that it is seen which ones it leaves
// open, and that a number that only this thread has is seen as such.

#define _GNU_SOURCE
#include "api.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/sized.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/kernel/fork.h"
#include "process/kernel/signals.h"
#include "process/memory/zone_heap.h"
#include "python/template/hash.h"
#include "python/template/keep.h"
#include "python/template/state.h"
#include "python/template/zeros.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS	  1000 // for threads that were told to end
#define RUNS	  3    // that are compared
#define RUNS_MORE 4    // when they differ

struct making {
	struct gorgon_interp_opts interp;
	struct gorgon_ns_opts ns;
	struct gorgon_start_opts start;
	const char *program;
	struct gorgon_zone_seed seed; // of each run
};

// One run of the program.
struct run {
	const struct making *making;
	struct gorgon_template_run result;
	struct gorgon_interp *interp;
	struct gorgon_zeros zeros;
	struct gorgon_error *err;
	pthread_t thread;
	bool begun;
	sem_t stopped, go_on; // at the point where it can be copied
};

// --- before the program and after it ----------------------------------------------------------

// What fork()'s child would draw anew; no generator's state must differ. Caches that the collector
// empties hold old values, and importlib's have the names of files that come and go.
//
// All runs get the same first random bytes and begin in the same second
// (../process/memory/zone_heap.c), so that hashes of strings do not differ, nor those of libraries.
// A generator of numpy's that took its seed from them would give the same numbers in each copy, and
// nothing would differ.
static const char settling[] = "def settle(drawn, sys=__import__('sys'), gc=__import__('gc')):\n"
			       "    for name in 'random', 'numpy.random':\n"
			       "        if name in sys.modules: sys.modules[name].seed(0)\n"
			       "    for finder in sys.path_importer_cache.values():\n"
			       "        if hasattr(finder, '_path_cache'):\n"
			       "            finder._path_mtime = -1\n"
			       "            finder._path_cache = set()\n"
			       "            finder._relaxed_path_cache = set()\n"
			       "    gc.collect()\n"
			       "    gc.collect()\n"
			       "    numpy = sys.modules.get('numpy.random')\n"
			       "    if not hasattr(numpy, 'BitGenerator'): return\n"
			       "    for each in gc.get_objects():\n"
			       "        if not issubclass(type(each), numpy.BitGenerator) or \\\n"
			       "           each is numpy.mtrand._rand._bit_generator: continue\n"
			       "        seeds = getattr(each, 'seed_seq', None) or each._seed_seq\n"
			       "        seed = getattr(seeds, 'entropy', None)\n"
			       "        if type(seed) is int and not seed >> 128 and \\\n"
			       "           seed.to_bytes(16, 'big') in drawn:\n"
			       "            raise RuntimeError(type(each).__name__)\n"
			       "settle(bytes.fromhex('%s'))\n"
			       "del settle\n";

// The calling thread's descriptors: the lowest one that is not in @before, or -1; without @before
// all are put into @ret.
static int list_descriptors(const fd_set *before, fd_set *ret)
{
	DIR *dir = opendir("/proc/thread-self/fd");
	struct dirent *entry;
	int found = -1;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (*entry->d_name == '.' || fd == dirfd(dir) || fd >= FD_SETSIZE)
			continue;
		if (!before)
			FD_SET(fd, ret);
		else if (!FD_ISSET(fd, before) && (found < 0 || fd < found))
			found = fd;
	}
	if (dir)
		closedir(dir);
	return found;
}

static struct gorgon_error *check_descriptors(const fd_set *before)
{
	char path[64], name[256] = "";
	int fd = list_descriptors(before, NULL);

	if (fd < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	if (readlink(path, name, sizeof(name) - 1) < 0)
		strcpy(name, "?");
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "template: it leaves a descriptor open: %d (%s), expected none",
				   fd, name);
}

// Of a thread that still runs: the library whose function it runs. Python's own run one of ours.
static const char *name_thread(const struct gorgon_interp *interp)
{
	const struct gorgon_thread *thread = gorgon_thread_next(NULL);
	const struct gorgon_object *object;

	while (thread && __atomic_load_n(&thread->ns, __ATOMIC_ACQUIRE) != interp->ns)
		thread = gorgon_thread_next(thread);
	object = thread ? gorgon_ns_object_at(interp->ns, (uintptr_t)thread->start) : NULL;
	return object ? object->path : interp->python.libpython;
}

static struct gorgon_error *check_threads(struct gorgon_interp *interp)
{
	const struct gorgon_ns *ns = interp->ns;
	struct gorgon_error *err = NULL;
	const struct timespec a_moment = {0, 1000000};
	unsigned left = WAIT_MS;

	while (__atomic_load_n(&ns->thread_count, __ATOMIC_ACQUIRE) && left--)
		nanosleep(&a_moment, NULL);
	gorgon_lock();
	if (ns->thread_count)
		err = gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					  "template: %s: %u threads that it has started still run, "
					  "expected none",
					  name_thread(interp), ns->thread_count);
	gorgon_unlock();
	return err;
}

// With the GIL, on the thread of the run: come to the point where fork() would copy, and wait
// there.
static struct gorgon_error *stop_here(struct gorgon_interp *interp, void *ctx)
{
	void (*before)(void) = (void (*)(void))gorgon_interp_find_api(interp, "PyOS_BeforeFork");
	void (*after)(void) =
		(void (*)(void))gorgon_interp_find_api(interp, "PyOS_AfterFork_Parent");
	struct run *run = ctx;

	before();
	gorgon_zeros_end(&run->zeros);
	run->err = gorgon_tables_collect(interp, &run->result.tables);
	gorgon_fork_rehearse(interp->ns, GORGON_FORK_PREPARE);
	if (!run->err)
		run->err = check_threads(interp);
	run->result.interp = interp;
	run->result.thread = gorgon_thread_get();
	run->result.frame = (uintptr_t)__builtin_frame_address(0);
	sem_post(&run->stopped);
	while (sem_wait(&run->go_on) && errno == EINTR)
		continue;
	gorgon_fork_rehearse(interp->ns, GORGON_FORK_PARENT);
	after();
	return NULL;
}

static struct gorgon_error *check_layout(struct gorgon_interp *interp, void *ctx)
{
	const struct run *run = ctx;

	if (!gorgon_zeros_are_used(&run->zeros))
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"template: Python has other allocators (PYTHONMALLOC, -X "
			"dev), expected its own");
	return gorgon_tables_check(interp);
}

// With the names of the error's exception, which is the only one that the program raises.
static struct gorgon_error *settle(struct gorgon_interp *interp, const struct making *making)
{
	char hex[2 * sizeof(making->seed.random) + 1], *program;
	struct gorgon_error *err, *ret;
	const char *name;

	for (size_t i = 0; i < sizeof(making->seed.random); i++)
		sprintf(hex + 2 * i, "%02x", making->seed.random[i]);
	if (asprintf(&program, settling, hex) < 0)
		return &gorgon_error_nomem;
	err = gorgon_interp_run_string(interp, program, "<template>");
	free(program);
	name = err ? strstr(gorgon_error_message(err), "RuntimeError: ") : NULL;
	if (!name)
		return err;
	name += strlen("RuntimeError: ");
	ret = gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				  "template: numpy.random: a %.*s has a seed that was drawn, with "
				  "which all copies would draw the same numbers",
				  (int)strcspn(name, "\n"), name);
	gorgon_error_destroy(err);
	return ret;
}

static struct gorgon_error *start_run(struct run *run)
{
	const struct making *making = run->making;
	struct gorgon_interp *interp;
	struct gorgon_error *err =
		gorgon_interp_create_in_zone(&making->interp, &making->seed, &interp);

	if (err)
		return err;
	run->interp = interp;
	gorgon_signals_be_worker(interp->ns->signals); // Ctrl-C is the host's matter
	if (!gorgon_zeros_begin(interp, &run->zeros))
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: has no PyMem_SetAllocator",
					   interp->python.libpython);
	if (!gorgon_hash_begin(interp))
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: has no hash of addresses that templates know",
					   interp->python.libpython);
	if ((err = gorgon_interp_start(interp, &making->start)) ||
	    (err = gorgon_call_python(interp, check_layout, run)))
		return err;
	if (making->program &&
	    (err = gorgon_interp_run_string(interp, making->program, "<template>")))
		return err;
	return settle(interp, making);
}

static void *do_run(void *arg)
{
	struct run *run = arg;
	fd_set before;

	FD_ZERO(&before);
	if (unshare(CLONE_FILES))
		run->err = gorgon_error_create_os(errno, "template: no descriptors of its own");
	list_descriptors(NULL, &before);
	if (!run->err)
		run->err = start_run(run);
	if (!run->err)
		run->err = check_descriptors(&before);
	if (!run->err)
		gorgon_error_destroy(gorgon_call_python(run->interp, stop_here, run));
	else
		sem_post(&run->stopped);
	if (run->interp)
		gorgon_error_destroy(gorgon_interp_destroy(run->interp));
	return NULL;
}

// --- all runs -----------------------------------------------------------------------------------

// Returns when it has stopped, or failed.
static struct gorgon_error *begin_run(struct run *run, const struct making *making)
{
	pthread_attr_t attr;
	int errnum;

	run->making = making;
	sem_init(&run->stopped, 0, 0);
	sem_init(&run->go_on, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, GORGON_PYTHON_STACK_SIZE);
	errnum = pthread_create(&run->thread, &attr, do_run, run);
	pthread_attr_destroy(&attr);
	if (errnum)
		return gorgon_error_create_os(errnum, "template: no thread");
	run->begun = true;
	while (sem_wait(&run->stopped) && errno == EINTR)
		continue;
	return run->err;
}

static void end_run(struct run *run)
{
	if (!run->begun)
		return;
	sem_post(&run->go_on);
	pthread_join(run->thread, NULL);
	sem_destroy(&run->stopped);
	sem_destroy(&run->go_on);
	gorgon_tables_free(&run->result.tables);
}

// Compare the newest three of all runs, of which the first in @runs is @oldest.
static struct gorgon_error *keep_runs(struct run *runs, int oldest, struct gorgon_template **ret,
				      bool *differs)
{
	struct gorgon_template_run results[RUNS];
	struct gorgon_error *err;

	for (int i = 0; i < RUNS; i++)
		results[i] = runs[(oldest + i) % RUNS].result;
	err = gorgon_template_keep(results, ret, differs);
	if (!err)
		runs[oldest].result.tables = (struct gorgon_tables){0}; // it has them
	return err;
}

// What the program looks at may change between its runs: importlib lists the folders of sys.path
// anew, for example. Then a further run takes the place of the oldest one.
static struct gorgon_error *make_template(const struct making *making, struct gorgon_template **ret)
{
	struct run first = {0}, runs[RUNS] = {0};
	struct gorgon_error *err = begin_run(&first, making);
	bool differs = true;
	int oldest = 0;

	end_run(&first);
	for (int i = 0; i < RUNS && !err; i++)
		err = begin_run(&runs[i], making);
	for (int more = RUNS_MORE; !err && differs; more--) {
		err = keep_runs(runs, oldest, ret, &differs);
		if (!differs || !more)
			break;
		gorgon_error_destroy(err);
		end_run(&runs[oldest]);
		runs[oldest] = (struct run){0};
		err = begin_run(&runs[oldest], making);
		oldest = (oldest + 1) % RUNS;
	}
	for (int i = RUNS; i-- > 0;)
		end_run(&runs[i]);
	return err;
}

// The label of its copies, in which debuggers and `gorgon list` show it.
static char *make_label(const char *program)
{
	const char *title = *program ? "template: " : "template";
	char *ret = malloc(GORGON_DEBUG_TEXT_SIZE);

	if (ret)
		snprintf(ret, GORGON_DEBUG_TEXT_SIZE, "%s%.*s", title, (int)strcspn(program, "\n"),
			 program);
	return ret;
}

static struct gorgon_error *check_python(const struct making *making)
{
	struct gorgon_python python;
	struct gorgon_error *err = gorgon_python_find(making->interp.python, &python);

	if (err)
		return err;
	if (!gorgon_layout_is_known(python.minor) || python.debug)
		err = gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					  "%s: templates are not known of this CPython 3.%u, of "
					  "3.11 and 3.13 without Py_DEBUG they are",
					  python.libpython, python.minor);
	gorgon_python_deinit(&python);
	return err;
}

struct gorgon_error *gorgon_template_create(const struct gorgon_template_opts *opts,
					    struct gorgon_template **ret)
{
	struct gorgon_template_opts given;
	struct gorgon_template *template;
	struct making making = {0};
	struct gorgon_error *err;

	if ((err = gorgon_sized_read("gorgon_template_opts", opts, &given, sizeof(given))) ||
	    (err = gorgon_sized_read("gorgon_interp_opts", given.interp, &making.interp,
				     sizeof(making.interp))) ||
	    (err = gorgon_sized_read("gorgon_ns_opts", making.interp.ns, &making.ns,
				     sizeof(making.ns))) ||
	    (err = gorgon_sized_read("gorgon_start_opts", given.start, &making.start,
				     sizeof(making.start))))
		return err;
	making.program = given.program;
	making.interp.size = sizeof(making.interp);
	making.interp.ns = &making.ns;
	making.ns.size = sizeof(making.ns);
	making.ns.pool_threads = making.ns.pool_threads ?: 1; // copies may be many
	making.start.size = sizeof(making.start);
	making.interp.files = GORGON_FILES_SHARED; // as its thread has them
	making.interp.from = NULL;
	making.interp.memory_limit = making.interp.memory_hard_limit = 0; // copies have theirs
	making.interp.cpu_limit_ms = making.interp.cpu_hard_limit_ms = 0;
	making.interp.python_lines = GORGON_PYTHON_LINES_OFF;
	if ((err = check_python(&making)))
		return err;
	making.seed.time = time(NULL);
	if (getrandom(making.seed.random, sizeof(making.seed.random), 0) !=
	    sizeof(making.seed.random))
		return gorgon_error_create_os(errno, "template: no random bytes");
	if ((err = make_template(&making, &template)))
		return err;
	template->label = making.interp.label ? strdup(making.interp.label)
					      : make_label(making.program ?: "");
	template->end = making.interp.end;
	template->pool_threads = making.ns.pool_threads;
	if (!template->label) {
		gorgon_template_drop(template);
		return &gorgon_error_nomem;
	}
	*ret = template;
	return NULL;
}

void gorgon_template_free(struct gorgon_template *template)
{
	gorgon_template_drop(template);
}
