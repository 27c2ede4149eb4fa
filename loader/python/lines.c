// SPDX-License-Identifier: MIT
// Python lines that have addresses: plain debuggers show Python frames, and stop at Python lines.
//
// CPython calls `python_frame`, some bytes of code of ours (lines_arch.h), in place of its
// evaluator (PEP 523). For each frame it leaves a record on the stack, calls the evaluator, and
// returns. A rule for debuggers says that its caller is the line that the frame has reached
// (lines_symfile.c), so a backtrace has Python's frames between those of C.
//
// Each line has a stub, some bytes of code that nobody runs. When a debugger has written a
// breakpoint into a stub, CPython traces its lines (PyEval_SetTrace()), and the stub of a line
// that has one is run before the line is. The debugger stops there; the frame that it sees is
// that of the record. When the stub is left, it ends with a call, so that a debugger that steps
// over the line puts a breakpoint behind the call and waits there for the same frame. That place
// is run at the frame's next line, or at its end, and jumps to the line from where the debugger
// is to go on.
//
// Stubs and symfiles are made when a module's code is about to run, which an audit hook (PEP 578)
// is told. A debugger that is attached binds its pending breakpoints then, before the module's
// first line. Breakpoints that come later are seen by a thread of ours that compares stubs with
// their contents while the process is traced, and by whoever leaves a stub.
//
// While a program, or a debugger like pdb, has a trace function itself, the thread's breakpoints
// are not hit. All that a program can see of this is the C stack, and that a Python function that
// calls another one uses more of it.
//
// Structures of CPython have other layouts in each version. Offsets are in a table. They are
// checked with a code object of ours in each interpreter; if one is wrong, or a version unknown,
// nothing is made.

#define _GNU_SOURCE
#include "lines.h"
#include "api.h"
#include "lines_values.h"
#include "base/error.h"
#include "base/lock.h"
#include "ns/ns.h"
#include "python/lines_arch.h"

#include <jitreg.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if GORGON_LINES_SUPPORTED

static const struct gorgon_lines_layout layouts[] = {
	{.minor = 11,
	 .frame_code = 32,
	 .frame_instruction = 56,
	 .frame_values = 72,
	 .code_units = 184,
	 .code_extra = 176,
	 .first_instruction = -2,
	 .object_frame = 24},
	{.minor = 12,
	 .frame_code = 0,
	 .frame_instruction = 56,
	 .frame_values = 72,
	 .code_units = 192,
	 .code_extra = 184,
	 .first_instruction = -2,
	 .object_frame = 24},
	{.minor = 13,
	 .frame_code = 0,
	 .frame_instruction = 56,
	 .frame_values = 72,
	 .code_units = 200,
	 .code_extra = 192,
	 .first_instruction = 0,
	 .object_frame = 24},
};

// How often stubs are compared while the process is traced, and how often it is asked whether it
// is.
#define LOOK_MS 20
#define ASK_MS  200

// How many frames of a stack have values while a debugger stops at a Python line.
#define FRAMES_MAX 32

enum event { CALL = 0, EXCEPTION = 1, LINE = 2, RETURN = 3 };

// What CPython has and the stable ABI's headers do not.
struct lines_api {
	ssize_t (*request_extra)(void *);
	int (*set_extra)(PyObject *, ssize_t, void *);
	void *(*interpreter)(void);
	void (*set_evaluator)(void *, void *);
	void (*set_trace)(void *, PyObject *);
	int (*line_number)(PyFrameObject *);
	void (*restore)(PyObject *, PyObject *, PyObject *);
	PyTypeObject *code_type;
};

struct gorgon_lines {
	struct gorgon_lines *next; // of all interpreters; under the loader's lock
	struct gorgon_interp *interp;
	bool complained; // of another trace function
	enum { NEW, CHECKING, READY, OFF } state;
	struct gorgon_lines_layout layout;
	struct lines_api api;
	struct gorgon_lines_values_api *values_api;
	ssize_t extra_index;
	uint8_t *code; // two pages: lines_arch.h's code, and the links
	struct gorgon_lines_links *links;
	struct jitreg_entry *jit;
	struct gorgon_lines_file *files; // only added to; atomic
	struct gorgon_lines_budget budget;
	PyObject *checked; // the code object that is run to check the layout
	bool correct;
};

static struct gorgon_lines *all; // under the loader's lock
static pid_t watched;            // the process that has the thread; under the loader's lock
static uint64_t next_generation;
static __thread uint64_t traced; // the generation of the trace function that the thread has
static __thread bool busy;       // the thread is in a stub, or reads values
// Code of ours reads and writes it at a fixed distance from the thread pointer.
static __thread struct gorgon_lines_record *newest __attribute__((tls_model("initial-exec")));
static const char *no_value = "(not read)";

// --- functions and records -------------------------------------------------------------------------------

static uint64_t read_word(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

static struct gorgon_lines_function *function_of(const struct gorgon_lines *lines, uint64_t frame)
{
	uint64_t code = read_word(frame + lines->layout.frame_code),
		 extra = read_word(code + lines->layout.code_extra);

	if (!extra || read_word(extra) <= (uint64_t)lines->extra_index)
		return NULL;
	return (struct gorgon_lines_function *)(uintptr_t)read_word(extra + lines->layout.extra);
}

// Whether the function that made the record is in its call of the evaluator, so that the frame
// lives. A thread that has several stacks (greenlet) may have put other data there.
static bool is_live(const struct gorgon_lines *lines, const struct gorgon_lines_record *record)
{
	return ((const uint64_t *)record)[-1] == (uintptr_t)lines->code + GORGON_LINES_CALLED;
}

// The record of the frame that calls a trace function now. NULL: the thread runs on another stack.
static struct gorgon_lines_record *find_record(const struct gorgon_lines *lines,
					       PyFrameObject *frame)
{
	uint64_t wanted = read_word((uintptr_t)frame + lines->layout.object_frame);

	return newest && is_live(lines, newest) && newest->frame == wanted ? newest : NULL;
}

// The next older one of this interpreter whose lines are known. A function that was left by
// longjmp() has left its record, too: it is younger than what was called since.
static struct gorgon_lines_record *older_record(const struct gorgon_lines *lines,
						struct gorgon_lines_record *record)
{
	while (record->older > (uintptr_t)record) {
		record = (struct gorgon_lines_record *)(uintptr_t)record->older;
		if (is_live(lines, record) && function_of(lines, record->frame))
			return record;
	}
	return NULL;
}

static bool is_hot(const uint8_t *stub, size_t place)
{
	uint8_t now = __atomic_load_n(stub + place, __ATOMIC_RELAXED);

	return now != (place == GORGON_LINES_STUB_RESUME ? 0x41 : GORGON_LINES_NOP);
}

// --- breakpoints -----------------------------------------------------------------------------------------

static bool has_breakpoints(const struct gorgon_lines *lines)
{
	for (const struct gorgon_lines_file *file =
		     __atomic_load_n(&lines->files, __ATOMIC_ACQUIRE);
	     file; file = file->next)
		if (memcmp(file->text, file->pristine, file->text_size))
			return true;
	return false;
}

// Of ours sys.gettrace() knows nothing.
static bool has_other_trace(struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *get = api->PySys_GetObject("gettrace");
	PyObject *trace = get ? api->PyObject_CallFunctionObjArgs(get, NULL) : NULL;

	api->Py_DecRef(trace);
	api->PyErr_Clear();
	return trace && trace != api->_Py_NoneStruct;
}

static void complain(const struct gorgon_lines *lines, const char *text)
{
	dprintf(STDERR_FILENO, "gorgon: interpreter %u: %s\n", lines->interp->number, text);
}

// Each thread gets the trace function, or loses it, when it calls a Python function or its trace
// function is called.
static void trace_this_thread(struct gorgon_lines *lines)
{
	uint64_t active = __atomic_load_n(&lines->links->active, __ATOMIC_ACQUIRE);
	PyObject *type, *value, *traceback;

	if (active == traced)
		return;
	traced = active;
	lines->interp->api->PyErr_Fetch(&type, &value,
					&traceback); // a generator may be about to get an exception
	if (!has_other_trace(lines)) {
		lines->api.set_trace(active ? (void *)(lines->code + GORGON_LINES_TRACER) : NULL,
				     NULL);
	} else if (active && !lines->complained) {
		lines->complained = true;
		complain(lines, "a thread has a trace function (sys.settrace()): debuggers do not "
				"stop at its Python lines");
	}
	lines->api.restore(type, value, traceback);
}

// On the interpreter's main thread, which may be in a loop that calls nothing.
static int trace_main_thread(void *ctx)
{
	if (!busy)
		trace_this_thread(ctx);
	return 0;
}

// True: breakpoints have come, or the last one has gone.
static bool look(struct gorgon_lines *lines)
{
	bool wanted = has_breakpoints(lines);

	if (wanted == !!__atomic_load_n(&lines->links->active, __ATOMIC_ACQUIRE))
		return false;
	__atomic_store_n(&lines->links->active,
			 wanted ? __atomic_add_fetch(&next_generation, 1, __ATOMIC_RELAXED) : 0,
			 __ATOMIC_RELEASE);
	return true;
}

// --- the watching thread ---------------------------------------------------------------------------------

static bool is_traced(void)
{
	char text[2048] = "", *found;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = 0;
	found = strstr(text, "\nTracerPid:");
	return found && strtol(found + strlen("\nTracerPid:"), NULL, 10);
}

static void *watch(void *arg)
{
	bool traced_now = false;

	(void)arg;
	for (unsigned ms = 0;; ms += LOOK_MS) {
		usleep(LOOK_MS * 1000);
		if (ms % ASK_MS == 0) {
			traced_now = is_traced();
			while (!traced_now) {
				usleep(ASK_MS * 1000);
				traced_now = is_traced();
			}
		}
		gorgon_lock();
		for (struct gorgon_lines *lines = all; lines; lines = lines->next)
			if (__atomic_load_n(&lines->state, __ATOMIC_ACQUIRE) == READY &&
			    !__atomic_load_n(&lines->interp->ns->abandoned, __ATOMIC_ACQUIRE) &&
			    look(lines))
				lines->interp->api->Py_AddPendingCall(trace_main_thread, lines);
		gorgon_unlock();
	}
	return NULL;
}

// With the loader's lock. Without a thread, breakpoints that are set after a module's import are
// seen only at the next stop.
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

// --- running stubs ---------------------------------------------------------------------------------------

static uint64_t resume_of(const struct gorgon_lines *lines,
			  const struct gorgon_lines_record *record)
{
	const struct gorgon_lines_function *function = function_of(lines, record->frame);
	uint64_t code = read_word(record->frame + lines->layout.frame_code);
	int64_t unit = (int64_t)(read_word(record->frame + lines->layout.frame_instruction) - code -
				 lines->layout.code_units) /
		       2;

	if (!function || unit < -1 || unit >= function->unit_count)
		return 0;
	return (uintptr_t)function->text + function->units[unit];
}

static void make_values(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	for (unsigned i = 0; record && i < FRAMES_MAX; i++, record = older_record(lines, record))
		record->values = (uintptr_t)gorgon_lines_values_create(
			lines->interp, lines->values_api, function_of(lines, record->frame),
			(PyObject *const *)(uintptr_t)(record->frame + lines->layout.frame_values));
}

static void free_values(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	for (unsigned i = 0; record && i < FRAMES_MAX; i++, record = older_record(lines, record)) {
		free((void *)(uintptr_t)record->values);
		record->values = 0;
	}
}

static void run_stub(struct gorgon_lines *lines, struct gorgon_lines_record *record,
		     struct gorgon_lines_run *run)
{
	PyObject *type, *value, *traceback;

	run->record = run->old_record = (uintptr_t)record;
	lines->interp->api->PyErr_Fetch(&type, &value, &traceback);
	busy = true;
	make_values(lines, record);
	gorgon_lines_run(run);
	free_values(lines, record);
	busy = false;
	lines->api.restore(type, value, traceback);
	look(lines); // the user may have set other breakpoints
}

// The place behind the call of a stub that was left: does a debugger wait there?
static uint64_t waiting_at(uint64_t resume)
{
	return resume && is_hot((uint8_t *)(uintptr_t)(resume - GORGON_LINES_STUB_RESUME),
				GORGON_LINES_STUB_RESUME)
		       ? resume
		       : 0;
}

static void on_call(struct gorgon_lines *lines, struct gorgon_lines_record *record,
		    const struct gorgon_lines_function *function, int line)
{
	struct gorgon_lines_run run = {.target = (uintptr_t)function->text};

	// A generator that goes on is at another line.
	if (line != function->lines[0] || !is_hot(function->text, 0))
		return;
	run_stub(lines, record, &run);
	record->waiting = waiting_at(run.resume);
	record->entered = true;
}

static void on_line(struct gorgon_lines *lines, struct gorgon_lines_record *record,
		    const struct gorgon_lines_function *function, int line)
{
	uint8_t *stub = gorgon_lines_stub(function, line);
	struct gorgon_lines_run run = {.target = (uintptr_t)stub, .line = (uintptr_t)stub};
	uint64_t waiting = waiting_at(record->waiting);
	bool entered = record->entered;

	record->waiting = record->entered = 0;
	if (!stub || (entered && stub == function->text && !waiting))
		return; // it was stopped at as the function's first line
	if (waiting)
		run.target = waiting;
	else if (!is_hot(stub, 0))
		return;
	run_stub(lines, record, &run);
	record->waiting = waiting_at(run.resume);
}

// A debugger that waits for the frame goes on in the middle of its caller's line.
static void on_return(struct gorgon_lines *lines, struct gorgon_lines_record *record)
{
	uint64_t waiting = waiting_at(record->waiting), resume;
	struct gorgon_lines_record *caller = record;
	struct gorgon_lines_run run;

	if (!waiting)
		return;
	do
		caller = older_record(lines, caller);
	while (caller && !(resume = resume_of(lines, caller)));
	if (!caller)
		return;
	run = (struct gorgon_lines_run){
		.target = waiting,
		.line = waiting - GORGON_LINES_STUB_RESUME + GORGON_LINES_STUB_RETURN,
		.caller_record = (uintptr_t)caller,
		.caller_line = resume - GORGON_LINES_STUB_RESUME + GORGON_LINES_STUB_CALL,
	};
	run_stub(lines, record, &run);
	record->waiting = 0;
	// The stub that was left is the caller's, unless the debugger waits no more.
	((struct gorgon_lines_record *)(uintptr_t)run.record)->waiting = waiting_at(run.resume);
}

// CPython's trace function. It raises nothing.
static int trace_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg,
		       struct gorgon_lines *lines)
{
	struct gorgon_lines_record *record;
	struct gorgon_lines_function *function;

	(void)self;
	(void)arg;
	if (busy)
		return 0;
	trace_this_thread(lines);
	if (!traced)
		return 0;
	record = find_record(lines, frame);
	function = record ? function_of(lines, record->frame) : NULL;
	if (!function)
		return 0;
	if (what == CALL)
		on_call(lines, record, function, lines->api.line_number(frame));
	else if (what == LINE)
		on_line(lines, record, function, lines->api.line_number(frame));
	else if (what == RETURN)
		on_return(lines, record);
	return 0;
}

// --- making them -----------------------------------------------------------------------------------------

// Modules whose code is in a file of the program's own, or of a package that was installed.
static char *find_file(struct gorgon_lines *lines, PyObject *code)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *name = api->PyObject_GetAttrString(code, "co_filename");
	const char *text = name ? api->PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	char *ret = NULL, *library;
	struct stat st;

	if (!text)
		api->PyErr_Clear();
	else if (*text && *text != '<')
		ret = realpath(text, NULL);
	api->Py_DecRef(name);
	if (!ret)
		return NULL;
	library = strstr(ret, "/lib/python3");
	if ((library && !strstr(library, "-packages/")) || stat(ret, &st) || !S_ISREG(st.st_mode)) {
		free(ret);
		return NULL;
	}
	return ret;
}

static void register_file(struct gorgon_lines_file *file)
{
	struct gorgon_lines_bytes symfile = {0};

	gorgon_lines_describe_file(&symfile, file, (uintptr_t)&no_value);
	if (symfile.failed || jitreg_register_symfile(symfile.data, symfile.size, &file->jit))
		file->jit = NULL; // debuggers know nothing of it
	free(symfile.data);
}

static void add_code(struct gorgon_lines *lines, PyObject *code)
{
	char *path = find_file(lines, code);
	struct gorgon_lines_file *file = NULL;

	if (path)
		file = gorgon_lines_file_create(lines->interp, code, path,
						(uintptr_t)lines->code + GORGON_LINES_LEAVE,
						&lines->budget);
	free(path);
	if (!file)
		return;
	for (size_t i = 0; i < file->function_count; i++)
		if (lines->api.set_extra(file->codes[i], lines->extra_index, &file->functions[i]))
			lines->interp->api->PyErr_Clear();
	file->next = lines->files;
	__atomic_store_n(&lines->files, file, __ATOMIC_RELEASE);
	register_file(file);
	if (look(lines) && !busy)
		trace_this_thread(lines);
}

// CPython is about to call a Python function.
static void before_frame(void *ctx, struct gorgon_lines_record *record)
{
	struct gorgon_lines *lines = ctx;
	uint64_t code;

	if (lines->state != CHECKING) {
		if (!busy)
			trace_this_thread(lines);
		return;
	}
	code = read_word(record->frame + lines->layout.frame_code);
	if (code == (uintptr_t)lines->checked)
		lines->correct = read_word(record->frame + lines->layout.frame_instruction) ==
					 code + lines->layout.code_units +
						 (uint64_t)lines->layout.first_instruction &&
				 function_of(lines, record->frame) == (void *)lines;
}

static bool find_api(struct gorgon_lines *lines)
{
	const struct {
		const char *name, *other;
		void *to;
	} names[] = {
		{"PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex",
		 &lines->api.request_extra},
		{"PyUnstable_Code_SetExtra", "_PyCode_SetExtra", &lines->api.set_extra},
		{"PyInterpreterState_Get", NULL, &lines->api.interpreter},
		{"_PyInterpreterState_SetEvalFrameFunc", NULL, &lines->api.set_evaluator},
		{"PyEval_SetTrace", NULL, &lines->api.set_trace},
		{"PyFrame_GetLineNumber", NULL, &lines->api.line_number},
		{"PyCode_Type", NULL, &lines->api.code_type},
		{"PyErr_Restore", NULL, &lines->api.restore},
		{"_PyEval_EvalFrameDefault", NULL, &lines->links->evaluator},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *found = gorgon_interp_find_symbol(lines->interp, names[i].name);

		if (!found && names[i].other)
			found = gorgon_interp_find_symbol(lines->interp, names[i].other);
		if (!found)
			return false;
		memcpy(names[i].to, &found, sizeof(found));
	}
	return true;
}

// It is the same in each thread. The compiler must not see that the thread pointer is added and
// subtracted: it would make code that GNU ld does not know.
static int32_t newest_offset(void)
{
	uintptr_t address = (uintptr_t)&newest;

	__asm__("" : "+r"(address));
	return (int32_t)(address - (uintptr_t)__builtin_thread_pointer());
}

static bool make_code(struct gorgon_lines *lines)
{
	size_t page = (size_t)getpagesize();
	uint8_t *code =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return false;
	lines->code = code;
	lines->links = (struct gorgon_lines_links *)(code + page);
	*lines->links = (struct gorgon_lines_links){.before = (uintptr_t)before_frame,
						    .tracer = (uintptr_t)trace_event,
						    .ctx = (uintptr_t)lines};
	gorgon_lines_write_code(code, lines->links, newest_offset());
	return !mprotect(code, page, PROT_READ | PROT_EXEC) && find_api(lines) &&
	       (lines->values_api = gorgon_lines_values_api_create(lines->interp));
}

// Run a code object and look at its frame: is the layout as the table says?
static bool check_layout(struct gorgon_lines *lines)
{
	const struct gorgon_api *api = lines->interp->api;
	PyObject *globals = api->PyDict_New(), *result = NULL;

	lines->checked = api->Py_CompileString("None\n", "<gorgon>", Py_file_input);
	lines->extra_index = lines->api.request_extra(NULL);
	lines->correct = false;
	if (globals && lines->checked && lines->extra_index >= 0 && lines->extra_index < 15 &&
	    !lines->api.set_extra(lines->checked, lines->extra_index, lines)) {
		lines->layout.extra = (uint8_t)(8 + 8 * lines->extra_index);
		lines->links->active = 1;
		result = api->PyEval_EvalCode(lines->checked, globals, globals);
		lines->links->active = 0;
		lines->api.set_extra(lines->checked, lines->extra_index, NULL);
	}
	api->Py_DecRef(result);
	api->Py_DecRef(lines->checked);
	api->Py_DecRef(globals);
	api->PyErr_Clear();
	return lines->correct;
}

static void set_up(struct gorgon_lines *lines)
{
	struct gorgon_lines_bytes symfile = {0};
	void *interpreter;

	lines->state = OFF; // whatever happens, once
	if (!make_code(lines)) {
		complain(lines, "no Python lines: its libpython lacks a function that is needed");
		return;
	}
	interpreter = lines->api.interpreter();
	lines->state = CHECKING;
	lines->api.set_evaluator(interpreter, lines->code + GORGON_LINES_FRAME);
	if (!check_layout(lines)) {
		lines->state = OFF;
		complain(lines, "no Python lines: CPython's structures are others than expected");
		lines->api.set_evaluator(interpreter, (void *)(uintptr_t)lines->links->evaluator);
		return;
	}
	gorgon_lines_describe_code(&symfile, (uintptr_t)lines->code, &lines->layout);
	if (symfile.failed || jitreg_register_symfile(symfile.data, symfile.size, &lines->jit))
		lines->jit = NULL;
	free(symfile.data);
	__atomic_store_n(&lines->state, READY, __ATOMIC_RELEASE);
	gorgon_lock();
	start_watching();
	gorgon_unlock();
}

// Hooks are called with the GIL, also for events of Python's start, before there is a thread state.
static int note_event(const char *event, void *args, void *ctx)
{
	struct gorgon_lines *lines = ctx;
	PyObject *code;

	if (!strcmp(event, "cpython._PySys_ClearAuditHooks")) { // Python ends
		gorgon_lock();
		lines->state = OFF;
		gorgon_unlock();
		return 0;
	}
	if (*event != 'e' || strcmp(event, "exec") || busy || lines->state == OFF)
		return 0;
	busy = true;
	if (lines->state == NEW)
		set_up(lines);
	busy = false;
	code = lines->state == READY ? lines->interp->api->PyTuple_GetItem(args, 0) : NULL;
	if (code && Py_TYPE(code) == lines->api.code_type)
		add_code(lines, code);
	return 0;
}

struct gorgon_error *gorgon_lines_check(const struct gorgon_interp *interp)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
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
				   layouts[sizeof(layouts) / sizeof(*layouts) - 1].minor);
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
	gorgon_lock();
	lines->next = all;
	all = lines;
	gorgon_unlock();
	return NULL;
}

void gorgon_lines_stop(struct gorgon_interp *interp)
{
	gorgon_lock();
	for (struct gorgon_lines **at = &all; *at; at = &(*at)->next)
		if (*at == interp->lines) {
			*at = interp->lines->next;
			break;
		}
	gorgon_unlock();
}

void gorgon_lines_end(struct gorgon_interp *interp)
{
	struct gorgon_lines *lines = interp->lines;

	if (!lines)
		return;
	interp->lines = NULL;
	while (lines->files) {
		struct gorgon_lines_file *file = lines->files;

		lines->files = file->next;
		jitreg_unregister(file->jit);
		gorgon_lines_file_free(file);
	}
	jitreg_unregister(lines->jit);
	if (lines->code)
		munmap(lines->code, 2 * (size_t)getpagesize());
	free(lines->values_api);
	free(lines);
}

#else

struct gorgon_error *gorgon_lines_check(const struct gorgon_interp *interp)
{
	(void)interp;
	return gorgon_error_create(
		GORGON_ERROR_UNSUPPORTED,
		"gorgon_interp_opts: python_lines: not on this machine, only on x86-64");
}

struct gorgon_error *gorgon_lines_begin(struct gorgon_interp *interp)
{
	return gorgon_lines_check(interp);
}

void gorgon_lines_stop(struct gorgon_interp *interp)
{
	(void)interp;
}

void gorgon_lines_end(struct gorgon_interp *interp)
{
	(void)interp;
}

#endif
