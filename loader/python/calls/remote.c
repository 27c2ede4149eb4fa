// SPDX-License-Identifier: MIT Python code that another process asks an interpreter to run
// (`gorgon exec`), for every CPython what PEP 768 is for 3.14.
//
// Whoever may write to the memory of a process may ask: the debug root has a place for a request
// (ns/debug_root.h). A signal then tells a thread of the process, and nothing in the process
// waits for it before. The handler of a signal can neither run Python nor make a thread, so there
// are two ways:
// - Python's main thread is told that a signal has come which no program can have
//   (process/interruption.c); a blocking call ends with EINTR. The thread takes the request when
//   Python looks for signals, and goes on as if nothing had been. If the thread is in another
//   interpreter, that makes a thread which enters this one;
// - a started interpreter in which nothing runs never looks. Who asks sees a thread that waits in a
//   system call in which the C library holds no lock, and says where. The handler compares, makes a
//   thread, and lets the call begin anew.
//
// Either way Python's own function makes the thread that runs the code, so it is a thread of the
// interpreter's as any other: of its descriptors, its limits, its end. The code comes through a
// pipe after it was made, so what was withdrawn never runs.
//
// The request is anybody's memory: nothing is believed but numbers that are compared. Who can
// write it can write all.

#define _GNU_SOURCE
#include "remote.h"
#include "interrupt.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/interruption.h"
#include "process/kernel/restart.h"
#include "process/kernel/signals.h"
#include "process/registers.h"
#include "python/api.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PLACE_AT   32 // of a struct gorgon_debug_place in a siginfo_t
#define SOURCE_MAX (UINT64_C(1) << 30)

static struct gorgon_debug_request *const request = &gorgon_debug_request;

static bool refused; // atomic

static bool is_for(const struct gorgon_interp *interp)
{
	return __atomic_load_n(&request->id, __ATOMIC_ACQUIRE) &&
	       request->target == (uintptr_t)interp->ns->signals &&
	       !__atomic_load_n(&refused, __ATOMIC_ACQUIRE);
}

// --- the thread that runs the code ------------------------------------------------------------

struct service {
	struct gorgon_interp *interp;
	uint64_t id, timeout_ms;
};

static void answer(uint64_t id, uint64_t tid, int input, int output)
{
	__atomic_store_n(&request->answered, 0, __ATOMIC_SEQ_CST);
	request->tid = tid;
	request->input = input;
	request->output = output;
	__atomic_store_n(&request->answered, id, __ATOMIC_RELEASE);
}

// False: the other end of the pipe was closed before.
static bool read_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t done = read(fd, at, size);

		if (!done || (done < 0 && errno != EINTR))
			return false;
		at += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

// NULL: nobody came, or there is no memory.
static char *receive_source(int input, uint64_t timeout_ms, int *unused)
{
	struct pollfd wait = {.fd = input, .events = POLLIN};
	bool came = poll(&wait, 1, timeout_ms < INT32_MAX ? (int)timeout_ms : INT32_MAX) == 1;
	uint64_t size = 0;
	char *ret = NULL;

	// From here on a pipe that nobody has open any more is at its end.
	close(unused[0]);
	close(unused[1]);
	if (came && read_all(input, &size, sizeof(size)) && size < SOURCE_MAX &&
	    (ret = malloc(size + 1))) {
		ret[size] = 0;
		if (read_all(input, ret, size))
			return ret;
		free(ret);
	}
	return NULL;
}

static PyObject *remote_interrupt(PyObject *none, PyObject *ident)
{
	struct gorgon_interp *interp = gorgon_interp_at(__builtin_return_address(0));
	unsigned long thread = API(interp, PyLong_AsUnsignedLong)(ident);

	if (interp->api->PyErr_Occurred())
		return NULL;
	gorgon_interrupt_thread(interp, (pthread_t)thread);
	interp->api->Py_IncRef(none);
	return none;
}

static PyObject *remote_on_main(PyObject *none, PyObject *function)
{
	struct gorgon_interp *interp = gorgon_interp_at(__builtin_return_address(0));

	gorgon_interrupt_call_on_main(interp, function);
	interp->api->Py_IncRef(none);
	return none;
}

static bool set_function(struct gorgon_interp *interp, PyObject *globals, PyMethodDef *method)
{
	PyObject *none = (PyObject *)interp->api->_Py_NoneStruct;
	PyObject *function = API(interp, PyCFunction_NewEx)(method, none, NULL);
	bool ret = function &&
		   !API(interp, PyDict_SetItemString)(globals, method->ml_name, function);

	interp->api->Py_DecRef(function);
	return ret;
}

static bool set_number(struct gorgon_interp *interp, PyObject *globals, const char *name, int value)
{
	PyObject *number = interp->api->PyLong_FromLongLong(value);
	bool ret = number && !API(interp, PyDict_SetItemString)(globals, name, number);

	interp->api->Py_DecRef(number);
	return ret;
}

static PyObject *make_globals(struct gorgon_interp *interp, int take, int give)
{
	static PyMethodDef interrupt = {"interrupt", remote_interrupt, METH_O, NULL};
	static PyMethodDef on_main = {"on_main", remote_on_main, METH_O, NULL};
	PyInterpreterState *state = API(interp, PyInterpreterState_Get)();
	PyObject *ret = interp->api->PyDict_New();

	if (ret && set_number(interp, ret, "take", take) && set_number(interp, ret, "give", give) &&
	    set_function(interp, ret, &interrupt) && set_function(interp, ret, &on_main) &&
	    !API(interp, PyDict_SetItemString)(ret, "interpreter",
					       API(interp, PyInterpreterState_GetDict)(state)) &&
	    !API(interp, PyDict_SetItemString)(ret, "__builtins__",
					       API(interp, PyEval_GetBuiltins)()))
		return ret;
	interp->api->Py_DecRef(ret);
	return NULL;
}

// What the source leaves as an error is nobody's: it tells who asks itself.
static void run_source(struct gorgon_interp *interp, const char *source, int take, int give)
{
	const struct gorgon_api *api = interp->api;
	PyGILState_STATE gil = api->PyGILState_Ensure();
	PyObject *code = api->Py_CompileString(source, "<gorgon exec>", Py_file_input);
	PyObject *globals = code ? make_globals(interp, take, give) : NULL;

	if (globals)
		api->Py_DecRef(api->PyEval_EvalCode(code, globals, globals));
	api->PyErr_Clear();
	gorgon_interrupt_take_back(interp);
	api->Py_DecRef(globals);
	api->Py_DecRef(code);
	api->PyGILState_Release(gil);
}

static void serve(void *arg)
{
	struct service service = *(struct service *)arg;
	int in[2], out[2] = {-1, -1}, errnum;
	char *source;

	free(arg);
	if (pipe2(in, O_CLOEXEC)) {
		answer(service.id, 0, errno, 0);
		return;
	}
	if (pipe2(out, O_CLOEXEC)) {
		errnum = errno;
		close(in[0]);
		close(in[1]);
		answer(service.id, 0, errnum, 0);
		return;
	}
	answer(service.id, (uint64_t)gettid(), in[0], out[1]);
	source = receive_source(in[0], service.timeout_ms, (int[]){in[1], out[0]});
	if (source)
		run_source(service.interp, source, in[0], out[1]);
	free(source);
	close(in[0]);
	close(out[1]);
}

// --- taking a request ---------------------------------------------------------------------------

// With the GIL.
static void take_request(struct gorgon_interp *interp)
{
	struct service service = {interp, __atomic_load_n(&request->id, __ATOMIC_ACQUIRE),
				  request->timeout_ms},
		       *copy;

	// It may be for an interpreter in which nothing runs, and here a thread can be begun.
	if (!is_for(interp) && service.id)
		gorgon_signals_pass_ring((const void *)(uintptr_t)request->target);
	if (!is_for(interp) || !__atomic_compare_exchange_n(&request->id, &service.id, 0, false,
							    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	copy = malloc(sizeof(*copy));
	if (copy)
		*copy = service;
	if (copy && API(interp, PyThread_start_new_thread)(serve, copy) != (unsigned long)-1)
		return;
	free(copy);
	answer(service.id, 0, EAGAIN, 0);
}

static struct gorgon_error *take_in_call(struct gorgon_interp *interp, void *ctx)
{
	(void)ctx;
	take_request(interp);
	return NULL;
}

static void *come(void *arg)
{
	struct gorgon_interp *interp = arg;

	gorgon_error_destroy(gorgon_call_python(interp, take_in_call, NULL));
	gorgon_call_came(interp);
	return NULL;
}

// --- in the handler of the signal ---------------------------------------------------------------

// Whether the signal has met the thread in the system call in which it was seen.
static bool is_at_place(const ucontext_t *context, const struct gorgon_debug_place *place)
{
	uint64_t registers[REGISTERS];

	gorgon_arch_read_context(context, registers);
	// A call that the kernel is about to restart is an instruction further back.
	return registers[SP] == place->sp && place->pc - registers[PC] <= 4;
}

// The thread has the mask of the thread that the signal has met, or of the calling one.
static void begin_to_come(struct gorgon_interp *interp, const ucontext_t *context)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t mask;

	if (!gorgon_call_come(interp))
		return;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	if (context)
		memcpy(&mask, &context->uc_sigmask,
		       sizeof(uint64_t)); // all that the kernel has written
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setsigmask_np(&attr, &mask);
	if (pthread_create(&thread, &attr, come, interp))
		gorgon_call_came(interp);
	pthread_attr_destroy(&attr);
}

// Python of an interpreter is to look for signals soon. If its main thread is not in it:
// @otherwise's. False: neither is.
static bool trip(struct gorgon_interp *interp, struct gorgon_interp *otherwise)
{
	bool is_inside;

	// The thread may be changing what the lock guards.
	if (pthread_mutex_trylock(&interp->calls.lock))
		return false;
	is_inside = interp->calls.state == GORGON_INTERP_RUNNING ||
		    __atomic_load_n(&interp->calls.main_entries, __ATOMIC_ACQUIRE);
	if (is_inside && interp->calls.interruptible)
		gorgon_interruption_trip(
			gorgon_parts_state(interp->ns->parts, &gorgon_interruption_part));
	pthread_mutex_unlock(&interp->calls.lock);
	return is_inside || (otherwise && otherwise != interp && trip(otherwise, NULL));
}

// The signal may come when the request was taken already. The call is repeated all the same.
static void ring(void *ctx, const siginfo_t *info, void *context, void *here)
{
	struct gorgon_interp *interp = ctx;
	struct gorgon_debug_place place;
	bool wanted = is_for(interp);

	if (!context) {
		if (wanted)
			begin_to_come(interp, NULL);
		return;
	}
	memcpy(&place, (const char *)info + PLACE_AT, sizeof(place));
	if (!place.pc) {
		if (wanted && trip(interp, here))
			gorgon_restart_prevent(context);
	} else if (is_at_place(context, &place)) {
		if (wanted)
			begin_to_come(interp, context);
		gorgon_arch_repeat_call(context, (uint64_t)info->si_errno, request->argument);
	}
}

// --- whether requests are taken -----------------------------------------------------------------

// What Python's own remote debugging goes by.
static bool is_refused(void)
{
	const char *no = getenv("PYTHON_DISABLE_REMOTE_DEBUG");

	if (getauxval(AT_SECURE) || (no && *no))
		__atomic_store_n(&refused, true, __ATOMIC_RELEASE);
	return __atomic_load_n(&refused, __ATOMIC_ACQUIRE);
}

static void show_request(struct gorgon_debug_ns *debug, uint64_t place, uint64_t target)
{
	gorgon_threads_lock();
	gorgon_debug_begin();
	gorgon_debug_root.request = place;
	if (debug) {
		debug->requests = target;
		gorgon_debug_touch(debug);
	}
	gorgon_debug_end();
	gorgon_threads_unlock();
}

void gorgon_exec_refuse(void)
{
	__atomic_store_n(&refused, true, __ATOMIC_RELEASE);
	show_request(NULL, 0, 0);
}

void gorgon_remote_prepare(struct gorgon_interp *interp)
{
	if (!interp->isolation->counts_memory || is_refused())
		return;
	interp->take_request = take_request;
	gorgon_signals_on_ring(interp->ns->signals, ring, interp);
	show_request(&interp->ns->debug, (uintptr_t)request, (uintptr_t)interp->ns->signals);
}
