// SPDX-License-Identifier: MIT
// This file asks sys.monitoring, which CPython has from 3.12 on, for events of functions that have
// breakpoints.

#define _GNU_SOURCE
#include "state.h"

// Clears the error of a call whose result nobody needs.
static bool drop(const struct gorgon_lines *lines, PyObject *result)
{
	lines->interp->api->Py_DecRef(result);
	if (!result)
		lines->interp->api->PyErr_Clear();
	return result;
}

// Tools 3 and 4 have no purpose that is agreed on. A program may have one of them, or both.
static bool take_tool(struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;

	for (lines->tool = 4; lines->tool >= 3; lines->tool--)
		if (drop(lines, api->PyObject_CallMethod(lines->monitoring, "use_tool_id", "is",
							 lines->tool, "gorgon")))
			return true;
	return false;
}

// sys.monitoring's numbers for the events of lines that are its own, or for later ones.
static int numbers_of(const struct gorgon_lines *lines, int events)
{
	const int later = events & ~(PY_RAISE - 1);

	return (events - later) | later << lines->layout.later_events;
}

// What a frame that is unwound does is no event of a single code object.
bool gorgon_lines_monitor_all(struct gorgon_lines *lines)
{
	const int events = PY_UNWIND | (lines->raising ? PY_RAISE : 0) |
			   (lines->awaited ? PY_START | PY_RESUME | PY_RETURN | PY_YIELD : 0);
	const struct gorgon_api *api = lines->interp->api;

	if (lines->awaited)
		drop(lines, api->PyObject_CallMethod(lines->monitoring, "restart_events", NULL));
	return drop(lines, api->PyObject_CallMethod(lines->monitoring, "set_events", "ii",
						    lines->tool, numbers_of(lines, events)));
}

bool gorgon_lines_begin_monitoring(struct gorgon_lines *lines)
{
	static const int events[] = {PY_START, PY_RESUME, PY_RETURN, PY_YIELD,
				     PY_LINE,  PY_RAISE,  PY_UNWIND};
	const struct gorgon_api *api = lines->interp->api;
	bool done;

	if (lines->tool)
		return lines->tool > 0;
	lines->monitoring = api->PySys_GetObject("monitoring"); // borrowed; sys holds it
	api->Py_IncRef(lines->monitoring);
	done = lines->monitoring && take_tool(lines) &&
	       (lines->disable = api->PyObject_GetAttrString(lines->monitoring, "DISABLE"));
	for (size_t i = 0; done && i < sizeof(events) / sizeof(*events); i++) {
		PyObject *number = api->PyLong_FromLongLong(events[i]);
		PyObject *function =
			number ? lines->api.new_function(&lines->callback, number, NULL) : NULL;

		done = function && drop(lines, api->PyObject_CallMethod(
						       lines->monitoring, "register_callback",
						       "iiO", lines->tool,
						       numbers_of(lines, events[i]), function));
		api->Py_DecRef(function);
		api->Py_DecRef(number);
	}
	api->PyErr_Clear();
	if (done && gorgon_lines_monitor_all(lines))
		return true;
	lines->tool = -1;
	gorgon_lines_complain(lines, "tools 3 and 4 of sys.monitoring are taken: debuggers do not "
				     "stop at its Python lines");
	return false;
}

// A line that was disabled is enabled by taking all events of its function away.
void gorgon_lines_monitor(struct gorgon_lines *lines, struct gorgon_lines_function *function)
{
	const struct gorgon_api *api = lines->interp->api;
	int wanted = function->wanted ? PY_START | PY_RETURN | PY_YIELD | PY_LINE : 0;

	if (!function->code || (!lines->tool && !wanted) || !gorgon_lines_begin_monitoring(lines))
		return;
	if (function->quiet || !wanted)
		drop(lines, api->PyObject_CallMethod(lines->monitoring, "set_local_events", "iOi",
						     lines->tool, function->code, 0));
	function->quiet = false;
	if (wanted)
		drop(lines, api->PyObject_CallMethod(lines->monitoring, "set_local_events", "iOi",
						     lines->tool, function->code, wanted));
}
