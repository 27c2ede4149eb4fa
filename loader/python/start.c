// SPDX-License-Identifier: MIT
// Starting Python for a host; stop.c stops it again.
//
// Python starts as python3 does, with a command line that is made from the host's options
// (config.c).

#define _GNU_SOURCE
#include "config.h"
#include "ending.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "ns/ns.h"
#include "python/calls/import_locks.h"
#include "python/calls/interrupt.h"
#include "python/calls/limits.h"
#include "python/calls/remote.h"
#include "python/calls/state.h"
#include "python/calls/traceback.h"
#include "python/lines/lines.h"
#include "python/template/copy.h"
#include "python/template/state.h"
#include "python/values/module.h"
#include "python/values/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct start {
	struct gorgon_start_opts opts;
	struct gorgon_config_api config;
};

// --- start ----------------------------------------------------------------------------------

static size_t count_strings(const char *const *list)
{
	size_t ret = 0;

	while (list && list[ret])
		ret++;
	return ret;
}

// python3's command line for the options, with an empty program that nobody runs.
static struct gorgon_error *make_command_line(struct gorgon_interp *interp,
					      const struct gorgon_start_opts *opts)
{
	char **argv = calloc(count_strings(opts->options) + 7, sizeof(*argv));
	const char *const *option = opts->options;
	size_t count = 0;
	bool whole;

	if (!argv)
		return &gorgon_error_nomem;
	whole = (argv[count++] = strdup(interp->python.executable));
	if (opts->isolated)
		whole &= !!(argv[count++] = strdup("-I"));
	if (opts->ignore_environment)
		whole &= !!(argv[count++] = strdup("-E"));
	if (opts->no_site)
		whole &= !!(argv[count++] = strdup("-S"));
	for (; option && *option; option++)
		whole &= !!(argv[count++] = strdup(*option));
	whole &= !!(argv[count++] = strdup("-c"));
	whole &= !!(argv[count++] = strdup(""));
	interp->argv = argv;
	return whole ? NULL : &gorgon_error_nomem;
}

static struct gorgon_error *refused_to_start(const struct gorgon_interp *interp,
					     const struct gorgon_python_status *status)
{
	if (status->type == 2)
		return gorgon_error_create(GORGON_ERROR_PYTHON,
					   "interpreter %u: Python ended with status %d instead of "
					   "starting",
					   interp->number, status->exit_status);
	return gorgon_error_create(GORGON_ERROR_PYTHON, "interpreter %u: Python did not start: %s",
				   interp->number, status->message ?: "no reason given");
}

static struct gorgon_error *initialize_at_start(struct gorgon_interp *interp,
						const struct gorgon_config_api *config)
{
	struct gorgon_python_status status;
	struct gorgon_error *err = gorgon_config_initialize(
		config, count_strings((const char *const *)interp->argv), interp->argv, &status);

	return err || !status.type ? err : refused_to_start(interp, &status);
}

// A list of str from strings of a command line: as in python3, bytes that cannot be decoded become
// surrogates.
static PyObject *list_of_strings(const struct gorgon_api *api, const char *const *strings)
{
	PyObject *list = api->PyList_New(0);

	for (; list && *strings; strings++) {
		PyObject *string = api->PyUnicode_DecodeFSDefault(*strings);
		bool failed = !string || api->PyList_Append(list, string);

		api->Py_DecRef(string);
		if (failed) {
			api->Py_DecRef(list);
			return NULL;
		}
	}
	return list;
}

// sys.argv, and what comes before the rest of sys.path.
static struct gorgon_error *set_up_sys_at_start(struct gorgon_interp *interp,
						const struct gorgon_start_opts *opts)
{
	static const char *const no_argv[] = {"", NULL}, *const no_path[] = {NULL};
	const struct gorgon_api *api = interp->api;
	PyObject *argv = list_of_strings(api, opts->argv ?: no_argv);
	PyObject *path = list_of_strings(api, opts->path ?: no_path),
		 *old = api->PySys_GetObject("path");
	PyObject *extended = NULL;
	bool done;

	if (path && old)
		extended = api->PySequence_InPlaceConcat(path, old);
	done = argv && extended && !api->PySys_SetObject("argv", argv) &&
	       !api->PySys_SetObject("path", extended);
	api->Py_DecRef(argv);
	api->Py_DecRef(path);
	api->Py_DecRef(extended);
	return done ? NULL : gorgon_call_fail(interp);
}

// The module `threading` takes the thread that imports it first for the main one.
static struct gorgon_error *import_threading(struct gorgon_interp *interp)
{
	PyObject *module = interp->api->PyImport_ImportModule("threading");

	interp->api->Py_DecRef(module);
	return module ? NULL : gorgon_call_fail(interp);
}

static struct gorgon_error *start_python(struct gorgon_interp *interp, void *ctx)
{
	const struct start *start = ctx;
	struct gorgon_error *err;
	void *state;

	gorgon_interp_stamp(&interp->calls.start_ns);
	interp->progress = start->opts.progress;
	interp->progress_ctx = start->opts.progress_ctx;
	if ((err = gorgon_interp_take_files(interp)) || (err = gorgon_api_init(interp)) ||
	    (err = make_command_line(interp, &start->opts)) || (err = gorgon_module_add(interp)) ||
	    (interp->python_lines != GORGON_PYTHON_LINES_OFF && (err = gorgon_lines_begin(interp))))
		return err;
	gorgon_interp_show_thread(interp, (uint64_t)gettid());
	if ((err = initialize_at_start(interp, &start->config)))
		return err;
	if (gorgon_traceback_is_hidden(interp))
		gorgon_traceback_prepare(interp);
	gorgon_import_locks_begin(interp);
	err = gorgon_ending_prepare(interp);
	if (!err && !(err = set_up_sys_at_start(interp, &start->opts)))
		err = import_threading(interp);
	if (!err && interp->isolation->counts_memory)
		err = gorgon_interrupt_prepare(interp);
	if (!err) {
		gorgon_remote_prepare(interp);
		if (!interp->ask) // not of an executor, which calls its own modules first
			gorgon_lines_started(interp);
	}
	state = interp->api->PyEval_SaveThread();
	if (interp->python.minor >= GORGON_STATE_MINOR)
		gorgon_state_remember(interp, state);
	return err;
}

// Instead of a start of Python.
static struct gorgon_error *copy_python(struct gorgon_interp *interp, void *ctx)
{
	const struct start *start = ctx;
	struct gorgon_error *err;

	gorgon_interp_stamp(&interp->calls.start_ns);
	interp->progress = start->opts.progress;
	interp->progress_ctx = start->opts.progress_ctx;
	if ((err = gorgon_interp_take_files(interp)) || (err = gorgon_api_init(interp)))
		return err;
	gorgon_interp_show_thread(interp, (uint64_t)gettid());
	if ((err = gorgon_template_copy(interp)))
		return err;
	if (start->opts.argv || start->opts.path)
		err = set_up_sys_at_start(interp, &start->opts);
	gorgon_remote_prepare(interp);
	gorgon_template_copied(interp);
	return err;
}

// What its command line says was said to the template.
static struct gorgon_error *check_start_of_copy(const struct gorgon_start_opts *opts)
{
	if (!opts->options && !opts->isolated && !opts->ignore_environment && !opts->no_site)
		return NULL;
	return gorgon_error_create(
		GORGON_ERROR_ARGUMENT,
		"gorgon_start_opts: options for a copy of a template, expected argv, "
		"path and progress at most");
}

struct gorgon_error *gorgon_interp_start(struct gorgon_interp *interp,
					 const struct gorgon_start_opts *opts)
{
	static const struct gorgon_transition states = {GORGON_INTERP_CREATED,
							GORGON_INTERP_STARTING,
							GORGON_INTERP_STARTED, GORGON_INTERP_ENDED};
	struct start ctx;
	struct gorgon_error *err =
		gorgon_sized_read("gorgon_start_opts", opts, &ctx.opts, sizeof(ctx.opts));

	if (err)
		return err;
	if ((err = gorgon_limits_check(interp, interp->memory_limit, interp->memory_hard_limit)))
		return err;
	if ((err = gorgon_config_find(interp, &ctx.config)))
		return err;
	if (interp->template && (err = check_start_of_copy(&ctx.opts)))
		return err;
	err = gorgon_call_protect(interp, &states, interp->template ? copy_python : start_python,
				  &ctx, NULL);
	gorgon_template_drop(interp->template);
	interp->template = NULL;
	if (err) {
		gorgon_interp_show_thread(interp, 0);
		return err;
	}
	if (interp->memory_limit)
		gorgon_limits_set(interp, interp->memory_limit, interp->memory_hard_limit);
	return NULL;
}
