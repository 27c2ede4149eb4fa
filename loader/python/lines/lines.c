// SPDX-License-Identifier: MIT
// Python lines that have addresses: plain debuggers show Python frames, and stop at Python lines.
//
// `python_frame`, some bytes of code of ours (lines/machine.h), is called in place of CPython's
// evaluator. It leaves a record on the stack, calls the evaluator, and returns. A rule for
// debuggers says that its caller is the line that the newest frame of this evaluator has reached
// (lines/rules.c), so a backtrace has Python's frames between those of C.
//
// The evaluator begins with a jump to that code. A function that calls another one in the same
// evaluator needs no code of ours, and costs what it costs without lines: rules follow CPython's
// own chain of frames. Where the evaluator begins with code that cannot be moved, nothing is made.
//
// Each line has a stub, some bytes of code that nobody runs. When a debugger has written a
// breakpoint into a stub, CPython tells of the lines of that function (lines/events.c), and the
// stub of a line that has one is run before the line is (lines/stops.c). The debugger stops there;
// the frame that it sees is that of the record. When the stub is left, it ends with a call, so that
// a debugger that steps over the line puts a breakpoint behind the call and waits there for the
// same frame. That place is run at the frame's next line, or at its end, and jumps to the line from
// where the debugger is to go on.
//
// Stubs and symfiles are made when a module's code is about to run, or a function is made of code
// that comes by value, as from an executor's host. CPython tells an audit hook (PEP 578) of both. A
// debugger that is attached binds its pending breakpoints then, before the first line runs, or, for
// packages that are installed, when their import has ended (lines/files.c).
// Breakpoints that come later are seen where functions are called (lines/events.c), by a thread of
// ours that compares stubs with their contents while the process is traced, and by whoever leaves a
// stub.
//
// In CPython 3.11, while a program, or a debugger like pdb, has a trace function itself, the
// thread's breakpoints are not hit. All that a program can see of this is the C stack, and, with
// gdb, SIGURG (lines/alarms.c); from 3.12 on also a tool of sys.monitoring.
//
// Structures of CPython have other layouts in each version. Offsets are in a table. They are
// checked with a code object of ours in each interpreter; if one is wrong, or a version unknown,
// nothing is made.

#define _GNU_SOURCE
#include "lines.h"
#include "alarms.h"
#include "state.h"
#include "strings.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "python/calls/abandon.h"

#include <jitreg.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// What versions have in common.
#define ALL .frame_instruction = 56, .object_frame = 24
#define FROM_3_12 \
	ALL, .frame_code = 0, .frame_globals = 24, .frame_previous = 8

static const struct gorgon_lines_layout layouts[] = {
	{ALL,
	 .minor = 11,
	 .frame_code = 32,
	 .frame_globals = 8,
	 .frame_values = 72,
	 .code_units = 184,
	 .code_extra = 176,
	 .first_instruction = -2,
	 .state_interpreter = 16,
	 .state_remaining = 32,
	 .state_limit = 36,
	 .state_cframe = 56,
	 .state_profile = 64,
	 .state_trace = 72,
	 .cframe_frame = 8,
	 .cframe_previous = 16,
	 .frame_previous = 48,
	 .frame_entry = 68},
	{FROM_3_12,
	 .minor = 12,
	 .frame_values = 72,
	 .code_units = 192,
	 .code_extra = 184,
	 .first_instruction = -2,
	 .frame_owner = 70,
	 .state_frame = 56},
	{FROM_3_12,
	 .minor = 13,
	 .frame_values = 72,
	 .code_units = 200,
	 .code_extra = 192,
	 .frame_owner = 70,
	 .state_frame = 72},
	{FROM_3_12,
	 .minor = 14,
	 .frame_values = 80,
	 .code_units = 208,
	 .code_extra = 200,
	 .later_events = 1,
	 .frame_owner = 74,
	 .state_frame = 72},
	{FROM_3_12,
	 .minor = 15,
	 .frame_values = 80,
	 .code_units = 208,
	 .code_extra = 200,
	 .later_events = 1,
	 .frame_owner = 74,
	 .state_frame = 72,
	 .state_yields = 1040},
};

// How often stubs are compared while the process is traced, and how often it is asked whether it
// is.
#define LOOK_MS 5
#define ASK_MS  200
#define BUSY_NS UINT64_C(1000000000)

// How far from the beginning of an interpreter's state its evaluator is looked for, in bytes.
#define STATE_SIZE 65536

// How often memory for code is looked for, and at which distances.
#define NEAR_TRIES 32
#define NEAR_STEP  (1u << 20)

// How far from there the state of the first thread is, which is a part of that, in CPython 3.11.
#define FIRST_STATE_MAX (256u << 10)

// The watching thread calls functions of CPython under it, which take locks of CPython's and, for
// the first thread-local variable that the thread has there, the loader's. Not held around fork().
static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static struct gorgon_lines *all; // under the lock
static pid_t watched;            // the process that has the thread; under the lock
static pid_t watcher;            // the thread, since its first look; under the lock
static bool has_come;            // another interpreter, since the thread has looked; atomic

// --- the watching thread
// ---------------------------------------------------------------------------------

// A thread may be in a loop that calls no Python function.
static int update_this_thread(void *ctx)
{
	if (!gorgon_lines_is_busy)
		gorgon_lines_update_thread(ctx);
	return 0;
}

// CPython 3.11 has the main thread alone make calls that are pending. From 3.12 on any thread of
// the interpreter does, and events are those of code, whichever thread asks for them.
static void ask_a_thread(struct gorgon_lines *lines)
{
	if (lines->api.add_call)
		lines->api.add_call(lines->interpreter, update_this_thread, lines, 0);
	else
		lines->interp->api->Py_AddPendingCall(update_this_thread, lines);
}

// Where an interpreter's state has its evaluator: CPython's own function that writes there wants a
// thread of the interpreter from 3.13 on. That function puts our code there, and takes it away.
static bool find_evaluator(struct gorgon_lines *lines)
{
	void *ours = lines->code + GORGON_LINES_FRAME, **word = lines->interpreter;
	void **end = word + STATE_SIZE / sizeof(*word);

	lines->api.set_evaluator(lines->interpreter, ours);
	while (word < end && *word != ours)
		word++;
	lines->api.set_evaluator(lines->interpreter, lines->default_evaluator);
	if (word == end || *word == ours)
		return false;
	lines->evaluator = word;
	lines->own_evaluator = *word;
	return true;
}

// True: a debugger has stopped this thread meanwhile, and let it go on just now. Linux ends this
// system call then, unlike those that sleep. A machine that lets this thread wait longer than it
// wants is taken for busy for a while.
static bool wait_for_debugger(unsigned ms, uint64_t *busy_until)
{
	const struct timespec limit = {.tv_nsec = ms * 1000000L};
	const uint64_t begin = gorgon_now();
	uint64_t end;
	sigset_t none;
	bool stopped;

	sigemptyset(&none);
	stopped = sigtimedwait(&none, NULL, &limit) < 0 && errno == EINTR;
	end = gorgon_now();
	if (!stopped && end - begin > (ms + LOOK_MS) * UINT64_C(1000000))
		*busy_until = end + BUSY_NS;
	return stopped;
}

bool gorgon_lines_are_wanted(const struct gorgon_interp *interp)
{
	return interp->python_lines == GORGON_PYTHON_LINES_ON ||
	       interp->python_lines == GORGON_PYTHON_LINES_ALL;
}

// Threads that are in an interpreter, and threads that it has started.
static size_t list_threads(struct gorgon_interp *interp, pid_t *threads, size_t count)
{
	size_t ret = gorgon_call_list(interp, threads, count);

	return ret + gorgon_abandon_list_own(interp, threads + ret, count - ret);
}

// gdb counts a breakpoint in C code twice if an alarm comes at it, which somebody who debugs C code
// must not notice. Without alarms a breakpoint that is set at a stop in C code may count late.
static bool needs_alarms(const struct gorgon_lines *lines)
{
	return gorgon_lines_are_wanted(lines->interp) ||
	       __atomic_load_n(&lines->was_used, __ATOMIC_ACQUIRE);
}

static void *watch(void *arg)
{
	static pid_t threads[GORGON_LINES_ALARMS_MAX];
	enum jitreg_tracer tracer = jitreg_find_tracer();
	uint64_t busy_until = 0;
	bool alarms = false;

	(void)arg;
	pthread_setname_np(pthread_self(), "gorgon-lines");
	for (unsigned rounds = 0;; rounds++) {
		bool stopped = wait_for_debugger(tracer ? LOOK_MS : ASK_MS, &busy_until);
		bool find = __atomic_exchange_n(&has_come, false, __ATOMIC_ACQ_REL) || stopped ||
			    rounds % (ASK_MS / LOOK_MS) == 0;
		size_t count = 0;

		gorgon_lines_alarms_note();
		if (!stopped && (!tracer || rounds % (ASK_MS / LOOK_MS) == 0))
			tracer = jitreg_find_tracer();
		pthread_mutex_lock(&list);
		watcher = all ? gettid() : 0;
		if (!all) {
			gorgon_lines_alarms_end();
			watched = 0;
			pthread_mutex_unlock(&list);
			return NULL;
		}
		for (struct gorgon_lines *lines = all; lines; lines = lines->next) {
			if (__atomic_load_n(&lines->state, __ATOMIC_ACQUIRE) !=
				    GORGON_LINES_READY ||
			    __atomic_load_n(&lines->interp->ns->abandoned, __ATOMIC_ACQUIRE) ||
			    lines->interp->calls.lost) // the parent's threads had it
				continue;
			if (find && needs_alarms(lines) && tracer == JITREG_TRACER_GDB)
				count += list_threads(lines->interp, threads + count,
						      GORGON_LINES_ALARMS_MAX - count);
			alarms |= needs_alarms(lines);
			if (gorgon_lines_changed(lines)) {
				gorgon_lines_notice(lines);
				ask_a_thread(lines);
			}
		}
		pthread_mutex_unlock(&list);
		gorgon_lines_alarms_note();
		if (stopped && !tracer)
			tracer = jitreg_find_tracer();
		if (tracer != JITREG_TRACER_GDB || !alarms)
			gorgon_lines_alarms_end();
		else if (find)
			gorgon_lines_alarms_find(threads, count);
		gorgon_lines_alarms_put_off(gorgon_now() < busy_until);
	}
	return NULL;
}

// Under the lock. Without a thread, breakpoints that are set after a module's import are
// seen only at the next stop, and AUTO does not see that a debugger comes.
static void start_watching(void)
{
	sigset_t every, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (watched == getpid() || pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, &before);
	if (!pthread_create(&thread, &attr, watch, NULL))
		watched = getpid();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

// --- setting up
// ---------------------------------------------------------------------------------------------

static bool find_api(struct gorgon_lines *lines)
{
	const struct name {
		const char *name, *other;
		void *to;
	} names[] = {
		{"PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex",
		 &lines->api.request_extra},
		{"PyUnstable_Code_SetExtra", "_PyCode_SetExtra", &lines->api.set_extra},
		{"PyInterpreterState_Get", NULL, &lines->api.interpreter},
		{"_PyInterpreterState_SetEvalFrameFunc", NULL, &lines->api.set_evaluator},
		{"PyThreadState_Get", NULL, &lines->api.thread_state},
		{"PyEval_SetTrace", NULL, &lines->api.set_trace},
		{"PyEval_GetFrame", NULL, &lines->api.frame},
		{"PyException_GetTraceback", NULL, &lines->api.traceback_of},
		{"PyCFunction_NewEx", NULL, &lines->api.new_function},
		{"PyFrame_GetLineNumber", NULL, &lines->api.line_number},
		{"PyCode_Type", NULL, &lines->api.code_type},
		{"PyFunction_Type", NULL, &lines->api.function_type},
		{"PyErr_Restore", NULL, &lines->api.restore},
		{"_PyEval_EvalFrameDefault", NULL, &lines->links->evaluator},
		{"PyInterpreterState_ThreadHead", NULL, &lines->api.first_thread},
		{"PyThreadState_Next", NULL, &lines->api.next_thread},
		{"_PyEval_AddPendingCall", NULL, &lines->api.add_call},
	};
	// CPython 3.11 lets nobody call the last one
	const size_t count = sizeof(names) / sizeof(*names) - (lines->layout.state_cframe ? 1 : 0);

	for (size_t i = 0; i < count; i++) {
		void *found = gorgon_interp_find_symbol(lines->interp, names[i].name);

		if (!found && names[i].other)
			found = gorgon_interp_find_symbol(lines->interp, names[i].other);
		if (!found)
			return false;
		memcpy(names[i].to, &found, sizeof(found));
	}
	return true;
}

// A frame has returned to its caller.
static void after_frame(void *ctx, struct gorgon_lines_record *record)
{
	struct gorgon_lines *lines = ctx;
	uint32_t yields;

	if (lines->state != GORGON_LINES_READY || gorgon_lines_is_busy)
		return;
	yields = gorgon_lines_yields(lines); // a program's audit hooks may run
	gorgon_lines_returned(lines, record);
	gorgon_lines_after_frame(lines, record);
	gorgon_lines_set_yields(lines, yields);
}

static bool write_code(uint8_t *at, const uint8_t *bytes, size_t size)
{
	uintptr_t page = (uintptr_t)getpagesize(), start = (uintptr_t)at / page * page;
	size_t length = (uintptr_t)at + size - start;

	if (mprotect((void *)start, length, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy(at, bytes, size);
	__builtin___clear_cache((char *)at, (char *)at + size);
	mprotect((void *)start, length, PROT_READ | PROT_EXEC);
	return true;
}

static bool put_jump(struct gorgon_lines_patch *patch, uint8_t *function, const uint8_t *jump)
{
	memcpy(patch->original, function, sizeof(patch->original));
	if (write_code(function, jump, GORGON_LINES_JUMP_SIZE))
		patch->at = function;
	return patch->at;
}

static void take_jump_back(const struct gorgon_lines_patch *patch)
{
	if (patch->at)
		write_code(patch->at, patch->original, sizeof(patch->original));
}

// Let the evaluator begin with a jump to our code. No thread is in these bytes: the interpreter is
// about to run its first module.
static bool take_evaluator(struct gorgon_lines *lines)
{
	uint8_t jump[GORGON_LINES_JUMP_SIZE];
	uint8_t *evaluator = lines->default_evaluator;

	lines->layout.records = calloc(GORGON_LINES_RECORDS, sizeof(*lines->layout.records));
	return lines->layout.records &&
	       gorgon_lines_write_evaluator(lines->code, lines->links, evaluator, jump) &&
	       put_jump(&lines->evaluator_patch, evaluator, jump);
}

// Where the state of the interpreter has its limit of recursion. NULL: not as the layout says.
static const int *find_limit(struct gorgon_lines *lines)
{
	enum {
		UNLIKELY = 0x5a3c1e7
	};
	int (*get)(void) = (int (*)(void))gorgon_interp_find_symbol(lines->interp,
								    "Py_GetRecursionLimit");
	void (*set)(int) = (void (*)(int))gorgon_interp_find_symbol(lines->interp,
								    "Py_SetRecursionLimit");
	const int *word = lines->interpreter, *end = word + STATE_SIZE / sizeof(*word);
	const int *own = (const int *)(uintptr_t)(lines->api.thread_state() +
						  lines->layout.state_limit);
	int before;
	bool known;

	if (!get || !set)
		return NULL;
	before = get();
	set(UNLIKELY);
	known = *own == UNLIKELY;
	while (word < end && *word != UNLIKELY)
		word++;
	set(before);
	if ((uintptr_t)own - (uintptr_t)lines->interpreter < FIRST_STATE_MAX)
		lines->first_limit = own;
	return known && word < end && *word == before && *own == before ? word : NULL;
}

// Let CPython 3.11's function of the limit of recursion begin with a jump to our code, too. Without
// that each function gets an evaluator of its own while there are breakpoints.
static void take_depth(struct gorgon_lines *lines)
{
	static const uint32_t never = 0;
	uint8_t jump[GORGON_LINES_JUMP_SIZE];
	uint8_t *function = gorgon_interp_find_symbol(lines->interp, "_Py_CheckRecursiveCall");

	lines->links->depth = (uintptr_t)gorgon_lines_count;
	if (lines->layout.state_limit && function &&
	    gorgon_lines_write_depth(lines->code, lines->links, function, jump) &&
	    put_jump(&lines->depth_patch, function, jump))
		lines->limit = find_limit(lines);
	if (lines->limit)
		lines->links->watched = (uintptr_t)&never;
}

// Unused memory that the evaluator can jump to. Where there is other code already, it is below.
static void *map_near(const void *evaluator, size_t size)
{
	char *hint = (char *)((uintptr_t)evaluator & -(uintptr_t)getpagesize());
	void *ret = MAP_FAILED;

	for (unsigned i = 0; i < NEAR_TRIES && ret == MAP_FAILED; i++)
		ret = mmap(hint - (64u << 20) - i * NEAR_STEP, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return ret;
}

// The links are writable.
static size_t code_size(void)
{
	return GORGON_LINES_PAGE_SIZE + (size_t)getpagesize();
}

static bool make_code(struct gorgon_lines *lines)
{
	const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
	uint8_t *code =
		map_near(gorgon_interp_find_symbol(lines->interp, "_PyEval_EvalFrameDefault"),
			 code_size());

	if (code == MAP_FAILED)
		return false;
	lines->code = code;
	lines->links = (struct gorgon_lines_links *)(void *)(code + GORGON_LINES_PAGE_SIZE);
	gorgon_lines_events_init(lines);
	lines->links->after = (uintptr_t)after_frame;
	lines->links->evaluate = (uintptr_t)gorgon_lines_evaluate;
	gorgon_lines_write_code(code, gorgon_lines_newest_offset());
	if (!find_api(lines))
		return false;
	lines->default_evaluator = (void *)(uintptr_t)lines->links->evaluator;
	lines->layout.none = (uintptr_t)lines->interp->api->_Py_NoneStruct;
	lines->layout.end = UINT64_C(2) << (63 - __builtin_clzll((uintptr_t)code | stack));
	lines->interpreter = lines->api.interpreter();
	return true;
}

static bool take_functions(struct gorgon_lines *lines)
{
	uint8_t *code = lines->code;

	if (!take_evaluator(lines))
		return false;
	take_depth(lines);
	__builtin___clear_cache((char *)code, (char *)lines->links);
	return !mprotect(code, GORGON_LINES_PAGE_SIZE, PROT_READ | PROT_EXEC) &&
	       (lines->values_api = gorgon_lines_values_api_create(lines->interp));
}

// A code object is freed; NULL: one that has no lines.
static void forget_code(void *function)
{
	if (function)
		((struct gorgon_lines_function *)function)->code = NULL;
}

// The code object calls us, too.
static bool add_check(struct gorgon_lines *lines, PyObject *globals)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *number = api->PyLong_FromLongLong(0);
	PyObject *function =
		number ? lines->api.new_function(&lines->callback, number, NULL) : NULL;
	bool done =
		function && !API(lines->interp, PyDict_SetItemString)(globals, "check", function);

	api->Py_DecRef(function);
	api->Py_DecRef(number);
	return done;
}

// Run a code object and look at its frame: is the layout as the table says?
static bool check_layout(struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *globals = api->PyDict_New(), *result = NULL;

	lines->checked_globals = globals;
	lines->checked = api->Py_CompileString("check(next(None for _ in (1,)))\n(lambda: 0)()\n",
					       "<gorgon>", Py_file_input);
	lines->extra_index = lines->api.request_extra(forget_code);
	lines->correct = false;
	if (globals && lines->checked && add_check(lines, globals) && lines->extra_index >= 0 &&
	    lines->extra_index < 15 &&
	    !lines->api.set_extra(lines->checked, lines->extra_index, &lines->check)) {
		lines->layout.extra = (uint8_t)(8 + 8 * lines->extra_index);
		gorgon_lines_notice(lines);
		result = api->PyEval_EvalCode(lines->checked, globals, globals);
		gorgon_lines_update(lines);
		lines->correct &= gorgon_lines_events_check(lines) && lines->layout.entry_record;
		lines->api.set_extra(lines->checked, lines->extra_index, NULL);
	}
	api->Py_DecRef(result);
	api->Py_DecRef(lines->checked);
	api->Py_DecRef(globals);
	api->PyErr_Clear();
	return lines->correct;
}

// `gorgon list` says it anyway.
static void complain_if_on(const struct gorgon_lines *lines, const char *text)
{
	if (gorgon_lines_are_wanted(lines->interp))
		gorgon_lines_complain(lines, text);
}

// The code of an interpreter that has ended, and the entry by which gdb knows it (lines/files.c).
struct left_code {
	struct jitreg_entry *jit;
	uint8_t *code;
};

static void free_code(struct left_code code)
{
	jitreg_unregister(code.jit);
	if (code.code)
		munmap(code.code, code_size());
}

// Free the code of the interpreter that has ended last, for which @code is left.
static void leave_code(struct left_code code)
{
	static struct left_code last; // under the lock
	struct left_code before;

	pthread_mutex_lock(&list);
	before = last;
	last = code;
	pthread_mutex_unlock(&list);
	free_code(before);
}

static void set_up(struct gorgon_lines *lines)
{
	struct gorgon_lines_bytes symfile = {0};

	lines->state = GORGON_LINES_OFF; // whatever happens, once
	lines->interp->ns->debug.python_lines = GORGON_DEBUG_LINES_FAILED;
	if (!make_code(lines)) {
		complain_if_on(
			lines, "no Python lines: its libpython lacks a function that is needed");
		return;
	}
	if (!take_functions(lines)) {
		complain_if_on(lines, "no Python lines: its evaluator begins with code that "
				      "cannot be moved");
		return;
	}
	// CPython 3.11 calls our code for each function that has breakpoints
	if (!lines->layout.state_cframe || find_evaluator(lines))
		lines->state = GORGON_LINES_CHECKING;
	if (lines->state != GORGON_LINES_CHECKING || !check_layout(lines)) {
		lines->state = GORGON_LINES_OFF;
		complain_if_on(
			lines, "no Python lines: CPython's structures are others than expected");
		if (lines->evaluator)
			*lines->evaluator = lines->own_evaluator;
		take_jump_back(&lines->evaluator_patch);
		take_jump_back(&lines->depth_patch);
		return;
	}
	gorgon_lines_describe_code(&symfile, (uintptr_t)lines->code, &lines->layout);
	if (symfile.failed || jitreg_register_symfile(symfile.data, symfile.size, &lines->jit))
		lines->jit = NULL;
	free(symfile.data);
	leave_code((struct left_code){0});
	gorgon_lines_events_begin(lines);
	lines->interp->ns->debug.python_lines = GORGON_DEBUG_LINES_ON;
	__atomic_store_n(&lines->state, GORGON_LINES_READY, __ATOMIC_RELEASE);
	__atomic_store_n(&has_come, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&list);
	start_watching();
	pthread_mutex_unlock(&list);
}

void gorgon_lines_started(struct gorgon_interp *interp)
{
	struct gorgon_lines *lines = interp->lines;

	if (!lines || lines->started)
		return;
	lines->started = true;
	if (lines->state == GORGON_LINES_READY && gorgon_lines_wants_exceptions(lines))
		gorgon_lines_notice(lines);
}

// Hooks are called with the GIL, also for events of Python's start, before there is a thread state.
static int note_event(const char *event, void *args, void *ctx)
{
	struct gorgon_lines *lines = ctx;
	PyObject *code;

	if (!strcmp(event, "cpython._PySys_ClearAuditHooks")) { // Python ends
		pthread_mutex_lock(&list);
		lines->state = GORGON_LINES_OFF;
		pthread_mutex_unlock(&list);
		if (lines->links)
			lines->links->counted = 0;
		gorgon_lines_forget(lines);
		gorgon_lines_forget_strings(lines);
		return 0;
	}
	if (!strcmp(event, "cpython.run_command"))
		lines->runs_command = true;
	if (!lines->started && !strncmp(event, "cpython.run_", strlen("cpython.run_")))
		gorgon_lines_started(lines->interp);
	if (!strcmp(event, "compile") && lines->state == GORGON_LINES_READY &&
	    !gorgon_lines_is_busy)
		gorgon_lines_note_string(lines, args);
	if ((strcmp(event, "exec") && strcmp(event, "function.__new__")) || gorgon_lines_is_busy ||
	    lines->state == GORGON_LINES_OFF)
		return 0;
	gorgon_lines_is_busy = true;
	if (lines->state == GORGON_LINES_NEW)
		set_up(lines);
	gorgon_lines_is_busy = false;
	code = lines->state == GORGON_LINES_READY ? lines->interp->api->PyTuple_GetItem(args, 0)
						  : NULL;
	if (code && Py_TYPE(code) == lines->api.code_type)
		gorgon_lines_add(lines, code, *event == 'e');
	return 0;
}

static struct gorgon_error *check_support(const struct gorgon_interp *interp)
{
	const size_t count = sizeof(layouts) / sizeof(*layouts);

	for (size_t i = 0; i < count; i++)
		if (layouts[i].minor == interp->python.minor)
			return interp->isolation->counts_memory
				       ? NULL
				       : gorgon_error_create(
						 GORGON_ERROR_UNSUPPORTED,
						 "gorgon_interp_opts: python_lines: not with "
						 "isolation by %s, only by the loader",
						 interp->isolation->name);
	return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
				   "gorgon_interp_opts: python_lines: CPython 3.%u is not known, "
				   "expected 3.%u to 3.%u",
				   interp->python.minor, layouts[0].minor,
				   layouts[count - 1].minor);
}

struct gorgon_error *gorgon_lines_begin(struct gorgon_interp *interp)
{
	int (*add_hook)(int (*)(const char *, void *, void *), void *) =
		(int (*)(int (*)(const char *, void *, void *), void *))gorgon_interp_find_symbol(
			interp, "PySys_AddAuditHook");
	struct gorgon_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return &gorgon_error_nomem;
	lines->interp = interp;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == interp->python.minor)
			lines->layout = layouts[i];
	if (!add_hook || add_hook(note_event, lines)) {
		free(lines);
		return gorgon_error_create(
			GORGON_ERROR_PYTHON,
			"interpreter %u: refused the audit hook that python_lines needs",
			interp->number);
	}
	interp->lines = lines;
	pthread_mutex_lock(&list);
	lines->next = all;
	all = lines;
	pthread_mutex_unlock(&list);
	return NULL;
}

// The thread ends when it sees that there is no interpreter left for it, soon while the process is
// traced. Where a host ends right after that, lldb-server would lose its connection: it resumes one
// thread after the other, and fails if the first one has ended the process meanwhile.
static void wait_for_watcher(pid_t thread)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < 10 * LOOK_MS && !syscall(SYS_tgkill, getpid(), thread, 0); i++)
		nanosleep(&pause, NULL);
}

void gorgon_lines_stop(struct gorgon_interp *interp)
{
	pid_t thread;

	pthread_mutex_lock(&list);
	for (struct gorgon_lines **at = &all; *at; at = &(*at)->next)
		if (*at == interp->lines) {
			*at = interp->lines->next;
			break;
		}
	thread = all || watched != getpid() ? 0 : watcher;
	pthread_mutex_unlock(&list);
	if (thread && jitreg_find_tracer())
		wait_for_watcher(thread);
}

void gorgon_lines_in_child(void)
{
	watcher = 0;
	pthread_mutex_init(&list, NULL); // the thread that may have had it is not there
	gorgon_lines_alarms_in_child();
	gorgon_lines_files_in_child();
	if (watched) // no other thread is here to take the lock
		start_watching();
}

void gorgon_lines_end(struct gorgon_interp *interp)
{
	struct gorgon_lines *lines = interp->lines;

	if (!lines)
		return;
	interp->lines = NULL;
	gorgon_lines_remove(lines);
	if (lines->jit && jitreg_find_tracer() == JITREG_TRACER_GDB)
		leave_code((struct left_code){lines->jit, lines->code});
	else
		free_code((struct left_code){lines->jit, lines->code});
	free(lines->values_api);
	gorgon_lines_free_records(lines);
	gorgon_lines_forget_strings(lines);
	free(lines);
}

// Copies of a template have none.
static enum gorgon_python_lines default_lines(const struct gorgon_interp *interp)
{
	enum jitreg_tracer tracer;

	if (interp->template || gorgon_interp_count() >= GORGON_PYTHON_LINES_DEFAULT_MAX)
		return GORGON_PYTHON_LINES_OFF;
	tracer = jitreg_find_tracer();
	return tracer == JITREG_TRACER_GDB || tracer == JITREG_TRACER_LLDB
		       ? GORGON_PYTHON_LINES_AUTO
		       : GORGON_PYTHON_LINES_OFF;
}

struct gorgon_error *gorgon_lines_check(struct gorgon_interp *interp)
{
	struct gorgon_error *err;

	if (interp->python_lines > GORGON_PYTHON_LINES_ALL)
		return gorgon_error_create(
			GORGON_ERROR_ARGUMENT,
			"gorgon_interp_opts: python_lines is %d, expected 0 to %d",
			(int)interp->python_lines, (int)GORGON_PYTHON_LINES_ALL);
	if (interp->python_lines == GORGON_PYTHON_LINES_DEFAULT)
		interp->python_lines = default_lines(interp);
	if (interp->python_lines == GORGON_PYTHON_LINES_OFF)
		return NULL;
	err = check_support(interp);
	if (!err || gorgon_lines_are_wanted(interp))
		return err;
	gorgon_error_destroy(err);
	interp->python_lines = GORGON_PYTHON_LINES_OFF;
	interp->lacks_lines = true;
	return NULL;
}
