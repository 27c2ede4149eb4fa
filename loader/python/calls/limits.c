// SPDX-License-Identifier: MIT
// The limit of an interpreter's memory: what happens when it is passed.
//
// A thread that allocates beyond the soft limit is inside malloc(), where no Python code may run.
// So Python is asked to call us on its main thread before the next bytecode. There the host may
// raise the limit; if it does not, garbage is collected, also for a program that has switched its
// collector off; and if that does not help, MemoryError is raised. Allocations beyond the hard
// limit fail at once. base/usage.c counts what an interpreter holds.

#include "limits.h"
#include "base/error.h"
#include "ns/ns.h"
#include "process/threads/shield.h"
#include "python/api.h"

#include <string.h>

static bool ends_with(struct gorgon_interp *interp, PyObject *code, const char *attribute,
		      const char *end)
{
	PyObject *value = code ? interp->api->PyObject_GetAttrString(code, attribute) : NULL;
	const char *text = value ? interp->api->PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
	size_t size = text ? strlen(text) : 0, end_size = strlen(end);
	bool ret = size >= end_size && !strcmp(text + size - end_size, end);

	interp->api->Py_DecRef(value);
	return ret;
}

// Whether the program's code has ended: Python waits for its threads, or makes pending calls for
// the last time. MemoryError would end the wait, or be shown as an error of CPython's.
static bool is_at_end(struct gorgon_interp *interp)
{
	PyFrameObject *frame = API(interp, PyEval_GetFrame)();
	PyObject *code = frame ? (PyObject *)API(interp, PyFrame_GetCode)(frame) : NULL;
	bool ret = !frame || (ends_with(interp, code, "co_name", "_shutdown") &&
			      ends_with(interp, code, "co_filename", "/threading.py"));

	interp->api->Py_DecRef(code);
	interp->api->PyErr_Clear();
	return ret;
}

// Between two bytecodes of the main thread.
static int pass_limit(void *ctx)
{
	struct gorgon_interp *interp = ctx;
	struct gorgon_usage *usage = &interp->ns->usage;
	const struct gorgon_api *api = interp->api;
	bool enabled;

	if (gorgon_shield_is_up(NULL)) {
		interp->limit_waits = true;
		return 0;
	}
	if (interp->near_memory_limit && gorgon_usage_is_exceeded(usage)) {
		uint64_t soft =
			interp->near_memory_limit(interp->limit_ctx, gorgon_usage_held(usage));

		if (soft)
			gorgon_limits_set(interp, soft, interp->memory_hard_limit);
	}
	if (!gorgon_usage_is_exceeded(usage))
		return 0;
	// A collector that is switched off collects nothing, even if PyGC_Collect() asks.
	enabled = api->PyGC_Enable();
	api->PyGC_Collect();
	if (!enabled)
		api->PyGC_Disable();
	if (!gorgon_usage_is_exceeded(usage) || is_at_end(interp))
		return 0;
	api->PyErr_NoMemory();
	return -1;
}

void gorgon_limits_catch_up(struct gorgon_interp *interp)
{
	if (interp->limit_waits)
		interp->api->Py_AddPendingCall(pass_limit, interp);
	interp->limit_waits = false;
}

// Called from inside an allocation, with no lock but perhaps CPython's.
static void ask_to_pass_limit(void *ctx)
{
	struct gorgon_interp *interp = ctx;

	// While Python is being finalised it takes no pending calls.
	if (API(interp, Py_IsInitialized)())
		interp->api->Py_AddPendingCall(pass_limit, interp);
}

struct gorgon_error *gorgon_limits_check(const struct gorgon_interp *interp, uint64_t soft,
					 uint64_t hard)
{
	if (soft && !interp->isolation->counts_memory)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"interpreter %u: memory_limit: isolation by %s does not know "
			"what it allocates; by the loader does",
			interp->number, interp->isolation->name);
	if (hard && (!soft || hard < soft))
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "interpreter %u: memory_hard_limit is %lu, expected 0, "
					   "or memory_limit (%lu) "
					   "or more",
					   interp->number, hard, soft);
	return NULL;
}

void gorgon_limits_set(struct gorgon_interp *interp, uint64_t soft, uint64_t hard)
{
	struct gorgon_usage *usage = &interp->ns->usage;

	usage->exceeded = ask_to_pass_limit;
	usage->ctx = interp;
	gorgon_usage_set_limit(usage, soft, hard > soft ? hard : soft + soft / 4);
}

void gorgon_limits_end(struct gorgon_interp *interp)
{
	gorgon_usage_set_limit(&interp->ns->usage, 0, 0);
}
