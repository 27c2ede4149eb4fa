// SPDX-License-Identifier: MIT
// Interpreters: a private libpython, its number, and running one program in it.
//
// The copy is driven through its exported functions, found by name at run time:
// nothing here knows a structure of CPython, so one build drives every version.
// PyConfig_SetBytesArgv() and Py_RunMain() reproduce python3's command line, virtual
// environments and exit status; the latter finalises at the end.
//
// Py_RunMain() calls exit() for sys.exit() in -c programs, and libraries call it
// when they give up: see call.c. A host that wants to call functions itself starts
// Python in another way: see start.c.

#define _GNU_SOURCE
#include "python/calls/interp.h"
#include "config.h"
#include "ending.h"
#include "find.h"
#include "program_thread.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/sized.h"
#include "base/thunk.h"
#include "dl/namespace.h"
#include "image/symbol.h"
#include "ns/ns.h"
#include "process/kernel/files.h"
#include "process/kernel/signals.h"
#include "process/libc/environment.h"
#include "process/memory/malloc_family.h"
#include "process/process.h"
#include "python/arrays/charges.h"
#include "python/calls/abandon.h"
#include "python/calls/cpu_limit.h"
#include "python/calls/held.h"
#include "python/calls/import_locks.h"
#include "python/calls/interrupt.h"
#include "python/calls/limits.h"
#include "python/calls/remote.h"
#include "python/calls/traceback.h"
#include "python/lines/lines.h"
#include "python/template/state.h"
#include "python/values/function.h"
#include "python/values/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned next_number; // under the loader's lock

// Free what creation has made, except the namespace, which is destroyed already.
static void interp_free(struct gorgon_interp *interp)
{
	for (char **p = interp->argv; p && *p; p++)
		free(*p);
	free(interp->argv);
	if (!interp->in_zone) {
		free(interp->module);
		free(interp->array_methods);
	}
	gorgon_data_handlers_free(interp->data_handlers);
	free(interp->api);
	gorgon_import_locks_free(interp);
	gorgon_calls_deinit(&interp->calls);
	gorgon_python_deinit(&interp->python);
	gorgon_template_drop(interp->template);
	free(interp);
}

_Static_assert(offsetof(struct gorgon_usage, limit) - offsetof(struct gorgon_usage, heap_bytes) ==
		       offsetof(struct gorgon_debug_usage, limit), "what debuggers read");

static void describe_interp(struct gorgon_interp *interp)
{
	struct gorgon_debug_ns *debug = &interp->ns->debug;

	gorgon_debug_begin();
	interp->number = next_number++;
	debug->interp = interp->number;
	debug->python_minor = interp->python.minor;
	debug->usage = (uintptr_t)&interp->ns->usage.heap_bytes;
	debug->activity = (uintptr_t)&interp->calls.state;
	debug->label = (uintptr_t)interp->label;
	debug->job = (uintptr_t)interp->calls.job;
	debug->copy_of = (uintptr_t)(*interp->copy_of ? interp->copy_of : NULL);
	debug->python_lines = interp->lacks_lines ? GORGON_DEBUG_LINES_UNKNOWN
			      : interp->python_lines != GORGON_PYTHON_LINES_OFF
				      ? GORGON_DEBUG_LINES_ON
				      : GORGON_DEBUG_LINES_OFF;
	gorgon_debug_touch(debug);
	gorgon_debug_end();
}

// PYTHONHOME of the process is meant for the host's Python: with it this interpreter would take the
// host's standard library. An interpreter that finds no standard library without it gets it all the
// same.
void gorgon_interp_hide_home(struct gorgon_interp *interp)
{
	if (gorgon_python_is_whole(&interp->python))
		gorgon_environment_hide(interp->ns->environment, "PYTHONHOME");
}

static struct gorgon_error *check_template(const struct gorgon_interp *interp,
					   const struct gorgon_ns_opts *opts)
{
	const struct gorgon_template *template = interp->template;

	if (template && strcmp(template->libpython, interp->python.libpython))
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"gorgon_interp_opts: template is of %s, expected one of %s",
			template->libpython, interp->python.libpython);
	if (template && template->end != interp->end)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"gorgon_interp_opts: end is %d, expected that of the template, %d",
			(int)interp->end, (int)template->end);
	if (!interp->isolation->counts_memory)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"gorgon_interp_opts: template: isolation by %s has no place "
			"for copies, by the loader has",
			interp->isolation->name);
	if (gorgon_lines_are_wanted(interp))
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"gorgon_interp_opts: python_lines: not for a copy of a template");
	if (opts->provider || opts->environment)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"gorgon_interp_opts: template: copies have the template's environment and "
			"the C library's malloc(), expected no provider and no environment");
	return NULL;
}

static struct gorgon_error *load_interp(struct gorgon_interp *interp, enum gorgon_isolate isolate,
					const char *label, const struct gorgon_ns_opts *opts,
					const struct gorgon_zone_seed *seed)
{
	struct gorgon_symbol_query entry = gorgon_symbol_query("Py_BytesMain", NULL);
	struct gorgon_thunk thunks[GORGON_MODULE_THUNKS];
	struct gorgon_error *err;

	if (label && strlen(label) >= sizeof(interp->label))
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"gorgon_interp_opts: label has %zu bytes, expected %zu at most",
			strlen(label), sizeof(interp->label) - 1);
	if (label)
		strcpy(interp->label, label);
	if (interp->end > GORGON_END_QUICK)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "gorgon_interp_opts: end is %d, expected 0 to %d",
					   (int)interp->end, (int)GORGON_END_QUICK);
	interp->isolation = gorgon_isolation_find(isolate);
	if (!interp->isolation)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"gorgon_interp_opts: isolate is %d, no strategy has that number",
			(int)isolate);
	if (interp->end == GORGON_END_QUICK && !interp->isolation->counts_memory)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"gorgon_interp_opts: end: isolation by %s cannot give back "
			"what a quick end leaves; by the loader can",
			interp->isolation->name);
	if ((err = interp->isolation->check(opts)) || (err = gorgon_cpu_limit_check(interp)) ||
	    (err = gorgon_limits_check(interp, interp->memory_limit, interp->memory_hard_limit)) ||
	    (err = gorgon_lines_check(interp)) ||
	    (interp->in_zone && (err = check_template(interp, opts))))
		return err;
	gorgon_module_thunks(interp, thunks);
	err = gorgon_ns_create_with(opts, thunks, GORGON_MODULE_THUNKS, &interp->ns);
	if (err)
		return err;
	if (!opts->environment)
		gorgon_interp_hide_home(interp);
	// The number comes before the load: a breakpoint in libpython's constructors
	// already shows it.
	gorgon_lock();
	gorgon_interp_join_fork(NULL);
	interp->ns->user = (struct gorgon_ns_user){
		interp,           gorgon_call_exit,   gorgon_traceback_write,
		gorgon_call_park, gorgon_charges_end, gorgon_abandon_on_fault};
	describe_interp(interp);
	gorgon_unlock();
	if (interp->in_zone && !gorgon_malloc_begin_zone(interp->ns, seed))
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "interpreter %u: no zone is left for it",
					   interp->number);
	err = interp->isolation->open(interp->ns, interp->python.libpython, &interp->libpython);
	if (!err && !gorgon_symbol_find(interp->libpython->image, &entry))
		err = gorgon_error_create(GORGON_ERROR_PYTHON,
					  "%s: has no Py_BytesMain: not a libpython",
					  interp->python.libpython);
	return err;
}

static struct gorgon_error *unload_interp(struct gorgon_interp *interp)
{
	struct gorgon_error *err = interp->ns ? interp->isolation->close(interp->ns) : NULL;

	return err ?: gorgon_ns_destroy(interp->ns);
}

// In a zone what operator new gives is in the zone, too, so libstdc++ is private there, unless the
// host shares libraries, which may need it. NULL: no memory.
static const char **private_in_zone(const struct gorgon_ns_opts *opts)
{
	const char *const *given = opts->keep_private;
	const char **ret;
	size_t count = 0;

	while (given && given[count])
		count++;
	if (!(ret = calloc(count + 2, sizeof(*ret))))
		return NULL;
	for (size_t i = 0; i < count; i++)
		ret[i] = given[i];
	if (!opts->share || !*opts->share)
		ret[count] = "libstdc++.so.6";
	return ret;
}

static struct gorgon_error *create_interp(const struct gorgon_interp_opts *opts,
					  const struct gorgon_zone_seed *seed,
					  struct gorgon_interp **ret)
{
	struct gorgon_interp_opts given;
	struct gorgon_ns_opts ns_opts;
	const char **keep_private = NULL;
	struct gorgon_interp *interp;
	struct gorgon_error *err;

	if ((err = gorgon_sized_read("gorgon_interp_opts", opts, &given, sizeof(given))) ||
	    (err = gorgon_sized_read("gorgon_ns_opts", given.ns, &ns_opts, sizeof(ns_opts))))
		return err;
	interp = calloc(1, sizeof(*interp));
	if (!interp)
		return &gorgon_error_nomem;
	gorgon_shared_refs_init(&interp->shared_refs);
	gorgon_calls_init(&interp->calls);
	gorgon_held_init(interp);
	gorgon_link_init(&interp->functions);
	interp->timing = given.timing;
	interp->python_lines = given.python_lines;
	interp->files = given.files;
	interp->end = given.end;
	if (given.from) {
		interp->template = gorgon_template_hold((struct gorgon_template *)given.from);
		ns_opts.pool_threads = ns_opts.pool_threads ?: given.from->pool_threads;
		given.label = given.label ?: given.from->label;
		strcpy(interp->copy_of, given.from->label);
	}
	interp->in_zone = seed || given.from;
	interp->memory_limit = given.memory_limit;
	interp->memory_hard_limit = given.memory_hard_limit;
	interp->near_memory_limit = given.near_memory_limit;
	interp->limit_ctx = given.limit_ctx;
	interp->cpu_limit = (struct gorgon_cpu_limit){.soft_ms = given.cpu_limit_ms,
						      .hard_ms = given.cpu_hard_limit_ms,
						      .near = given.near_cpu_limit};
	// The host's functions would find the interpreter's descriptors in place of the host's.
	if (given.files == GORGON_FILES_AUTO && (ns_opts.write_output || ns_opts.provider))
		interp->files = GORGON_FILES_SHARED;
	if (interp->files > GORGON_FILES_THREAD)
		err = gorgon_error_create(GORGON_ERROR_ARGUMENT,
					  "gorgon_interp_opts: files is %d, expected 0 to %d",
					  (int)interp->files, (int)GORGON_FILES_THREAD);
	else
		err = gorgon_python_find(given.python, &interp->python);
	if (!err && interp->in_zone &&
	    !(ns_opts.keep_private = keep_private = private_in_zone(&ns_opts)))
		err = &gorgon_error_nomem;
	if (!err)
		err = load_interp(interp, given.isolate, given.label, &ns_opts, seed);
	free(keep_private);
	if (!err)
		err = gorgon_cpu_limit_begin(interp);
	if (err) {
		// No thread has run in it, so this cannot be refused.
		gorgon_error_destroy(unload_interp(interp));
		interp_free(interp);
		return err;
	}
	gorgon_lock();
	gorgon_debug_begin();
	interp->ns->debug.python_object = (uintptr_t)&interp->libpython->debug;
	gorgon_debug_touch(&interp->ns->debug);
	gorgon_debug_end();
	gorgon_interp_counted(1);
	gorgon_unlock();
	*ret = interp;
	return NULL;
}

struct gorgon_error *gorgon_interp_create(const struct gorgon_interp_opts *opts,
					  struct gorgon_interp **ret)
{
	return create_interp(opts, NULL, ret);
}

struct gorgon_error *gorgon_interp_create_in_zone(const struct gorgon_interp_opts *opts,
						  const struct gorgon_zone_seed *seed,
						  struct gorgon_interp **ret)
{
	return create_interp(opts, seed, ret);
}

// argv of the program: the executable's name, then the caller's arguments.
static struct gorgon_error *copy_argv(struct gorgon_interp *interp, int argc,
				      const char *const *argv)
{
	interp->argv = calloc((size_t)argc + 2, sizeof(*interp->argv));
	if (!interp->argv || !(interp->argv[0] = strdup(interp->python.executable)))
		return &gorgon_error_nomem;
	for (int i = 0; i < argc; i++)
		if (!(interp->argv[i + 1] = strdup(argv[i])))
			return &gorgon_error_nomem;
	return NULL;
}

// The program starts with one of the events cpython.run_command, run_file, ...; all
// start-up is before it (PEP 578).
static int note_first_event(const char *event, void *args, void *ctx)
{
	struct gorgon_interp *interp = ctx;

	(void)args;
	if (!interp->first_event_ns && !strncmp(event, "cpython.run_", 12))
		gorgon_interp_stamp(&interp->first_event_ns);
	return 0;
}

// What gorgon_interp_main() was asked to do.
struct program {
	int argc;
	const char *const *argv;
	int status;
};

// What Py_BytesMain() does, in steps: Python is started, its end is prepared, then it runs what the
// command line says.
static struct gorgon_error *run_python(struct gorgon_interp *interp, int argc, int *ret)
{
	void (*exit_with)(struct gorgon_python_status) = (void (*)(struct gorgon_python_status))
		gorgon_interp_find_symbol(interp, "Py_ExitStatusException");
	int (*run_main)(void) = (int (*)(void))gorgon_interp_find_symbol(interp, "Py_RunMain");
	bool hidden = gorgon_traceback_is_hidden(interp);
	struct gorgon_config_api config;
	struct gorgon_python_status status;
	struct gorgon_error *err;

	if (!exit_with || !run_main)
		return gorgon_api_missing(interp,
					  exit_with ? "Py_RunMain" : "Py_ExitStatusException");
	if ((err = gorgon_api_init(interp)) || (err = gorgon_config_find(interp, &config)) ||
	    (err = gorgon_config_initialize(&config, (size_t)argc, interp->argv, &status)))
		return err;
	if (status.type)
		exit_with(status); // does not return: prints Python's own message and calls exit()
	if ((err = gorgon_ending_prepare(interp)) ||
	    (interp->isolation->counts_memory && (err = gorgon_interrupt_prepare(interp))))
		return err;
	gorgon_remote_prepare(interp);
	gorgon_import_locks_begin(interp);
	if (hidden)
		gorgon_traceback_prepare(interp);
	if (interp->memory_limit)
		gorgon_limits_set(interp, interp->memory_limit, interp->memory_hard_limit);
	*ret = run_main();
	gorgon_limits_end(interp);
	return NULL;
}

static struct gorgon_error *run_program(struct gorgon_interp *interp, void *ctx)
{
	int (*add_hook)(int (*)(const char *, void *, void *), void *);
	struct program *program = ctx;
	struct gorgon_error *err;

	if ((err = gorgon_interp_take_files(interp)))
		return err;
	// Not before this point: CPython frees its table of built-in modules only if it was
	// started.
	if ((err = copy_argv(interp, program->argc, program->argv)) ||
	    (err = gorgon_module_add(interp)))
		return err;
	gorgon_interp_stamp(&interp->calls.start_ns);
	add_hook = (int (*)(int (*)(const char *, void *, void *),
			    void *))gorgon_interp_find_symbol(interp, "PySys_AddAuditHook");
	if (interp->timing && add_hook && add_hook(note_first_event, interp))
		return gorgon_error_create(
			GORGON_ERROR_PYTHON,
			"interpreter %u: refused the audit hook that --timing needs",
			interp->number);
	if (interp->python_lines != GORGON_PYTHON_LINES_OFF &&
	    (err = gorgon_lines_begin(interp)))
		return err;
	gorgon_interp_show_thread(interp, (uint64_t)gettid());
	err = run_python(interp, program->argc + 1, &program->status);
	// CPython 3.14 and newer return all bits of the argument of sys.exit(); a process has the
	// lowest eight.
	program->status &= 0xff;
	return err;
}

// What gorgon_interp_main() does, on the thread where the program is to run.
struct main {
	struct gorgon_interp *interp;
	struct program program;
	struct gorgon_error *err;
};

static void run_main(void *ctx)
{
	static const struct gorgon_transition states = {GORGON_INTERP_CREATED,
							GORGON_INTERP_RUNNING, GORGON_INTERP_ENDED,
							GORGON_INTERP_ENDED};
	struct main *main = ctx;
	struct gorgon_interp *interp = main->interp;
	int missed;

	main->err = gorgon_call_protect(interp, &states, run_program, &main->program,
					&main->program.status);
	if (main->err)
		return;
	// The end of the program in a child that it forked: of the host only this thread
	// is there, and nobody waits for it. Do what python3 does.
	if (gorgon_call_is_forked(interp))
		gorgon_process_leave(interp->ns, main->program.status);
	gorgon_interp_show_thread(interp, 0);
	gorgon_ns_end_program(interp->ns, main->program.status);
	gorgon_parts_stop(interp->ns->parts);
	gorgon_interp_stamp(&interp->calls.end_ns);
	if ((missed = gorgon_signals_missed(interp->ns->signals)))
		main->program.status = 128 + missed; // a process would have ended by it
}

struct gorgon_error *gorgon_interp_main(struct gorgon_interp *interp, int argc,
					const char *const *argv, int *status)
{
	struct main main = {.interp = interp, .program = {argc, argv, 0}};
	struct gorgon_error *err;

	if (interp->template)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"interpreter %u: is a copy of a template, which is for calls "
			"of the host: expected gorgon_interp_start()",
			interp->number);
	if (interp->files != GORGON_FILES_AUTO)
		run_main(&main);
	else if ((err = gorgon_program_thread_run(run_main, &main)))
		return err;
	if (!main.err)
		*status = main.program.status;
	return main.err;
}

// GORGON_ERROR_BUSY while a program runs, or Python is being started or stopped. Otherwise @started
// says whether the interpreter is started.
static struct gorgon_error *check_idle(struct gorgon_interp *interp, bool *started)
{
	enum gorgon_interp_state state;
	bool busy;

	pthread_mutex_lock(&interp->calls.lock);
	state = interp->calls.state;
	while (interp->calls.abandoning)
		pthread_cond_wait(&interp->calls.ended, &interp->calls.lock);
	busy = state == GORGON_INTERP_RUNNING || state == GORGON_INTERP_STARTING ||
	       state == GORGON_INTERP_STOPPING || state == GORGON_INTERP_FINALISING ||
	       ((state == GORGON_INTERP_ENDED || state == GORGON_INTERP_ABANDONED) &&
		(interp->calls.newest || interp->calls.finishers));
	pthread_mutex_unlock(&interp->calls.lock);
	*started = state == GORGON_INTERP_STARTED;
	if (busy && state == GORGON_INTERP_ABANDONED)
		return gorgon_error_create(
			GORGON_ERROR_BUSY,
			"interpreter %u: was abandoned, and calls are still in it: %s",
			interp->number, interp->calls.why);
	return busy ? gorgon_call_refusal(interp, state) : NULL;
}

// A started interpreter is stopped; one that is busy is refused.
static struct gorgon_error *end_interp(struct gorgon_interp *interp)
{
	bool started;
	struct gorgon_error *err;

	gorgon_call_abandon_lost(interp);
	err = check_idle(interp, &started);
	return err || !started ? err : gorgon_interp_try_stop(interp);
}

struct gorgon_error *gorgon_interp_destroy(struct gorgon_interp *interp)
{
	struct gorgon_error *err;

	if (!interp)
		return NULL;
	gorgon_cpu_limit_settle(interp);
	if ((err = end_interp(interp)))
		return err;
	gorgon_cpu_limit_end(interp);
	gorgon_call_settle(interp);
	// Nobody who holds a reference comes to a libpython that is being unloaded.
	gorgon_held_close(interp);
	gorgon_lines_stop(interp);
	if ((err = unload_interp(interp)))
		return err;
	gorgon_lock();
	gorgon_interp_counted(-1);
	gorgon_unlock();
	gorgon_lines_end(interp);
	gorgon_shared_refs_release(&interp->shared_refs);
	gorgon_held_end(interp, false);
	gorgon_functions_end(interp);
	interp_free(interp);
	return NULL;
}

static uint64_t read_interp_counter(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static bool count_interp_object(void *ctx, struct gorgon_object *object)
{
	struct gorgon_interp_stats *stats = ctx;

	stats->object_count++;
	stats->relaxed_count += object->relaxed;
	return true;
}

struct gorgon_error *gorgon_interp_get_stats(struct gorgon_interp *interp,
					     struct gorgon_interp_stats *ret)
{
	struct gorgon_interp_stats stats;
	struct gorgon_resident resident;
	struct gorgon_error *err;
	uint64_t start = read_interp_counter(&interp->calls.start_ns),
		 first = read_interp_counter(&interp->first_event_ns);
	uint64_t end = read_interp_counter(&interp->calls.end_ns);

	gorgon_lock();
	stats = (struct gorgon_interp_stats){
		.load_ns = interp->ns->load_ns,
		.relocate_ns = interp->ns->relocate_ns,
		.register_ns = interp->ns->register_ns,
		.heap_bytes = read_interp_counter(&interp->ns->usage.heap_bytes),
		.extension_bytes = gorgon_threads_extension_bytes(&interp->ns->usage),
		.block_bytes = read_interp_counter(&interp->ns->usage.block_bytes),
		.memory_limit = read_interp_counter(&interp->ns->usage.limit),
		.mapped_bytes = read_interp_counter(&interp->ns->usage.mapped_bytes),
		.call_count = read_interp_counter(&interp->calls.count),
		.cpu_ns = read_interp_counter(&interp->calls.cpu_ns),
		.gil_wait_ns = read_interp_counter(&interp->calls.gil_wait_ns),
		.state = gorgon_call_state(interp),
		.cpu_limit_ms = read_interp_counter(&interp->cpu_limit.soft_ms),
		.thread_count = interp->ns->thread_count,
	};
	gorgon_unlock();
	stats.total_cpu_ns = gorgon_interp_cpu_ns(interp);
	if (start && !end)
		end = gorgon_now();
	if (first)
		stats.init_ns = first - start;
	stats.run_ns = end - (first ?: start);
	gorgon_ns_for_each_object(interp->ns, count_interp_object, &stats);
	gorgon_lock();
	err = gorgon_stats_memory(interp->ns, &resident);
	gorgon_unlock();
	if (err)
		return err;
	gorgon_call_get_job(interp, stats.job);
	stats.private_bytes = resident.private_bytes;
	stats.shared_bytes = resident.shared_bytes;
	stats.stack_bytes = resident.stack_bytes;
	return gorgon_sized_write("gorgon_interp_stats", &stats, ret, sizeof(stats));
}
