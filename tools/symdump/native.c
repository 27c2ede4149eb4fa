// SPDX-License-Identifier: MIT
// --record --native: samples with the frames of both languages.
//
// Each thread that has run since its last sample is stopped for as long as its frames take: by
// PTRACE_SEIZE and PTRACE_INTERRUPT, which send it no signal, so that nothing is left behind if
// this program is killed. A call of the kernel that it sleeps in is begun anew by the kernel, or by
// the C library's caller after EINTR, as after any stop. Threads that have not run since keep their
// sample and are left alone. Python frames take the place of the C frame of the bytecode loop that
// runs them.

#define _GNU_SOURCE
#include "record.h"
#include "unwind.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define DEPTH_MAX 20000 // of one stack, in each language
#define PYTHONS_MAX 16    // that one thread is in, each with a stack of its own

// The Python of a thread in one copy.
struct python {
	const struct copy *copy;
	struct python_thread thread;
	struct python_stack stack;
	size_t shown;  // frames
	size_t number; // in the order in which the copies have them
};

// What an address of code is.
struct code {
	size_t frame;
	size_t ns;    // or NO_NS
	bool is_loop; // of bytecodes
};

struct native {
	struct recording *recording;
	struct unwinder unwinder;
	bool has_begun;
	struct map code_map; // address and whether it is a return address: index in the list
	struct code *codes;
	size_t code_count;
	struct python *pythons; // of all threads, in this sample
	size_t python_count;
	// The thread that is being read.
	struct dwfl_frame {
		uint64_t pc;
		bool after;
	} *pcs;
	size_t pc_count;
	size_t first, end; // of its Pythons
};

struct native *native_create(struct recording *recording)
{
	struct native *native = zalloc(1, sizeof(*native));

	native->recording = recording;
	return native;
}

static void forget_pythons(struct native *native)
{
	for (size_t i = 0; i < native->python_count; i++)
		python_stack_deinit(&native->pythons[i].stack);
	native->python_count = 0;
}

void native_forget(struct native *native)
{
	forget_pythons(native);
	unwinder_deinit(&native->unwinder);
	native->has_begun = false;
	map_clear(&native->code_map);
	native->code_count = 0;
}

void native_destroy(struct native *native)
{
	if (!native)
		return;
	native_forget(native);
	map_deinit(&native->code_map);
	free(native->codes);
	free(native->pythons);
	free(native->pcs);
	free(native);
}

// --- what the frames are ---------------------------------------------------------------------

static struct code read_code(struct native *native, uint64_t pc, bool after)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";
	struct recording *recording = native->recording;
	struct code code = {.ns = NO_NS};
	struct location location;
	char *path, *name;

	if (!location_find_function(recording->dump->locations, pc, after, &location)) {
		code.frame = profile_frame(&recording->profile, FRAME_NATIVE, "?", "", 0);
		return code;
	}
	path = clean_text(location.path ?: "", location.path ? strlen(location.path) : 0);
	name = location.symbol ? symbol_name(location.symbol)
	       : *path         ? format("[%s]", base_name(path))
			       : format("?");
	code.frame = profile_frame(&recording->profile, FRAME_NATIVE, name, path, 0);
	code.ns = location.object ? location.object->ns : NO_NS;
	// The compiler may have split it: ".cold".
	code.is_loop = location.symbol && !strncmp(location.symbol->name, loop, sizeof(loop) - 1);
	free(path);
	free(name);
	return code;
}

static const struct code *find_code(struct native *native, uint64_t pc, bool after)
{
	size_t *found = map_find(&native->code_map, pc, after);

	if (*found == MAP_NEW) {
		*found = native->code_count;
		native->codes = grow(native->codes, native->code_count, sizeof(*native->codes));
		native->codes[native->code_count++] = read_code(native, pc, after);
	}
	return &native->codes[*found];
}

// Of a copy with sub-interpreters the thread has several: the newest, whose frames are the
// innermost, comes first.
static struct python *find_python(struct native *native, size_t ns)
{
	struct python *shown = NULL;

	for (size_t i = native->first; i < native->end; i++) {
		struct python *python = &native->pythons[i];

		if (python->copy->ns == ns && python->shown < python->stack.count)
			return python;
		if (python->copy->ns == ns)
			shown = python;
	}
	return shown;
}

// Adds the Python frames that one C call of the loop runs; with @rest all that are left.
static size_t add_python(struct native *native, struct python *python, bool rest, size_t *frames,
			 size_t count)
{
	while (python->shown < python->stack.count) {
		const struct python_frame *frame = &python->stack.frames[python->shown++];

		frames[count++] = python_frame_of(native->recording, frame);
		if (frame->is_entry && !rest)
			break;
	}
	return count;
}

static void count_thread(struct native *native, struct watched *thread, enum kernel_state state)
{
	struct recording *recording = native->recording;
	struct target *target = &recording->dump->target;
	const struct python *innermost = NULL;
	size_t room = native->pc_count + 1, count = 0, *frames;
	const struct copy *copy = NULL;
	enum gil gil = GIL_NONE;

	for (size_t i = native->first; i < native->end; i++)
		room += native->pythons[i].stack.count;
	frames = zalloc(room, sizeof(*frames));
	for (size_t i = 0; i < native->pc_count; i++) {
		const struct code *code =
			find_code(native, native->pcs[i].pc, native->pcs[i].after);
		struct python *python =
			code->is_loop || code->ns != NO_NS ? find_python(native, code->ns) : NULL;

		innermost = innermost ?: python;
		for (size_t c = 0; c < recording->copy_count && !copy && code->ns != NO_NS; c++)
			if (recording->copies[c].ns == code->ns)
				copy = &recording->copies[c];
		if (code->is_loop && python)
			count = add_python(native, python, false, frames, count);
		else
			frames[count++] = code->frame;
	}
	// the rest: the stack was cut off before their calls
	for (size_t i = native->first; i < native->end; i++) {
		if (native->pythons[i].stack.count || i + 1 == native->end)
			innermost = innermost ?: &native->pythons[i];
		count = add_python(native, &native->pythons[i], true, frames, count);
	}
	if (innermost) {
		copy = innermost->copy;
		gil = innermost->stack.holds_gil ? GIL_HELD
		      : thread->futex && python_is_gil(target, copy->layout, copy->bias,
						       &innermost->thread, thread->futex)
			      ? GIL_WAITED_FOR
			      : GIL_NONE;
	}
	count_sample(recording, thread, copy, state, gil, frames, count);
	free(frames);
}

// --- stopping ----------------------------------------------------------------------------------

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct native *native = arg;
	struct dwfl_frame frame;

	if (!unwinder_frame(&native->unwinder, state, &frame.pc, &frame.after) ||
	    native->pc_count == DEPTH_MAX)
		return DWARF_CB_ABORT;
	native->pcs = grow(native->pcs, native->pc_count, sizeof(*native->pcs));
	native->pcs[native->pc_count++] = frame;
	return DWARF_CB_OK;
}

// The thread is stopped.
static void read_frames(struct native *native, pid_t tid)
{
	struct recording *recording = native->recording;

	native->pc_count = 0;
	pages_forget(&recording->pages);
	for (size_t i = native->first; i < native->end; i++) {
		struct python *python = &native->pythons[i];

		python_read(&recording->pages.target, python->copy->layout, python->copy->bias,
			    recording->codes, &python->thread, DEPTH_MAX, &python->stack);
	}
	// After an error there are the frames up to it.
	dwfl_getthread_frames(native->unwinder.dwfl, tid, add_frame, native);
}

// Returns false if the thread cannot be stopped: it has gone, or (@forbidden) the kernel does not
// allow it.
static bool stop_and_read(struct native *native, pid_t tid, bool *forbidden)
{
	int status, signal = 0;
	pid_t stopped;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0)) {
		*forbidden = errno == EPERM;
		return false;
	}
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return false;
	do // again after Ctrl-C, so that the thread does not stay stopped
		stopped = waitpid(tid, &status, __WALL);
	while (stopped < 0 && errno == EINTR);
	if (stopped != tid || !WIFSTOPPED(status))
		return false;
	// The thread may have stopped for a signal that came just now: it gets the signal.
	if (status >> 16 == 0)
		signal = WSTOPSIG(status);
	read_frames(native, tid);
	ptrace(PTRACE_DETACH, tid, 0, (unsigned long)signal);
	return true;
}

static bool native_begin(struct native *native)
{
	struct dump *dump = native->recording->dump;

	if (native->has_begun)
		return true;
	unwinder_init(&native->unwinder, dump);
	native->has_begun = true;
	if (unwinder_begin(&native->unwinder, true))
		return true;
	native->recording->is_refused = true;
	problem(&dump->snapshot.problems, "%s: its threads cannot be read: %s", dump->target.name,
		dwfl_errmsg(-1));
	return false;
}

static int compare_tids(const void *a, const void *b)
{
	const struct python *x = a, *y = b;

	if (x->thread.tid != y->thread.tid)
		return x->thread.tid < y->thread.tid ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void find_pythons(struct native *native)
{
	struct recording *recording = native->recording;

	forget_pythons(native);
	pages_forget(&recording->pages);
	for (size_t c = 0; c < recording->copy_count; c++) {
		const struct copy *copy = &recording->copies[c];
		struct python_thread *threads;
		size_t count = python_threads(&recording->pages.target, copy->layout, copy->bias,
					      &threads);

		for (size_t t = 0; t < count; t++) {
			native->pythons = grow(native->pythons, native->python_count,
					       sizeof(*native->pythons));
			native->pythons[native->python_count++] =
				(struct python){copy, threads[t], {0}, 0, native->python_count};
		}
		free(threads);
	}
	if (native->python_count)
		qsort(native->pythons, native->python_count, sizeof(*native->pythons),
		      compare_tids);
}

static void select_pythons(struct native *native, pid_t tid)
{
	size_t low = 0, high = native->python_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (native->pythons[middle].thread.tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	native->first = native->end = low;
	while (native->end < native->python_count && native->end - low < PYTHONS_MAX &&
	       native->pythons[native->end].thread.tid == tid)
		native->end++;
}

static bool sample_thread(struct native *native, pid_t tid)
{
	struct recording *recording = native->recording;
	struct dump *dump = recording->dump;
	struct watched *thread = watch(recording, tid, 0);
	enum kernel_state state = thread ? watched_look(thread) : THREAD_GONE;
	bool forbidden = false;

	if (state == THREAD_SAME)
		profile_count(&recording->profile, thread->track, thread->node);
	if (state == THREAD_GONE || state == THREAD_SAME)
		return true;
	select_pythons(native, tid);
	if (!native_begin(native))
		return false;
	if (!stop_and_read(native, tid, &forbidden)) {
		thread->slept = false;
		recording->is_refused = forbidden;
		if (forbidden)
			problem(&dump->snapshot.problems,
				"%s: --native: thread %d cannot be stopped: another program debugs "
				"it, or it is "
				"somebody else's",
				dump->target.name, tid);
		return !forbidden;
	}
	thread->was_stopped = true;
	count_thread(native, thread, state);
	return true;
}

bool native_sample(struct native *native)
{
	struct dump *dump = native->recording->dump;
	char path[32];
	struct dirent *entry;
	bool done = true;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", dump->target.pid);
	folder = opendir(path);
	if (!folder)
		return false;
	find_pythons(native);
	while (done && (entry = readdir(folder)))
		if (*entry->d_name != '.')
			done = sample_thread(native, atoi(entry->d_name));
	closedir(folder);
	return done;
}
