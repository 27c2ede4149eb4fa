// SPDX-License-Identifier: MIT
// --stacks: the frames of every thread, grouped by the interpreter whose code it runs.
//
// unwind.c tells libdwfl what is loaded. A live process is stopped one thread at a time and each
// thread once, for as long as that thread's frames take (dwfl_linux_proc_attach()); its Python
// frames are read at the same moment. Then the thread goes on and stacks_print.c shows what it did,
// so that a process with many busy threads gives output from the start. The order is that of the
// interpreters that the threads belong to by the target's own lists. Not handled: a second
// interpreter in one thread, a thread that runs its first Python code while we read.

#define _GNU_SOURCE
#include "stacks.h"
#include "unwind.h"

#include <stdlib.h>

#define FRAME_MAX  20000  // of one thread
#define FRAMES_MAX 500000 // of all: the target may be made up
#define THREAD_MAX 100000

// One libpython file, with however many copies.
struct python {
	const struct library *library;
	struct python_layout *layout;
};

// A thread that has run Python code, and of which interpreter. Or any thread, and to which
// interpreter it belongs.
struct user {
	pid_t tid;
	size_t ns;
};

struct stacks {
	struct dump *dump;
	struct unwinder unwinder;
	struct python_codes *codes;
	struct python_layout **layouts; // of each namespace, or NULL
	struct user *users;             // sorted
	size_t user_count;
	struct user *threads; // all, in the order in which they are read
	size_t thread_count;
	struct map owners; // of a thread: a namespace's index
	size_t frames_left;
	size_t printed;
	struct python *pythons;
	size_t python_count;
	struct thread *thread; // that is being read
};

// Before any thread is stopped: reading debug information takes its time.
static void find_layouts(struct stacks *stacks)
{
	struct dump *dump = stacks->dump;

	stacks->layouts = zalloc(dump->snapshot.ns_count, sizeof(*stacks->layouts));
	for (size_t i = 0; i < dump->snapshot.ns_count; i++) {
		const struct object *libpython = snapshot_libpython(&dump->snapshot, i);
		struct library *library =
			libpython ? locations_library(dump->locations, libpython) : NULL;
		size_t p = 0;

		if (!library)
			continue;
		while (p < stacks->python_count && (stacks->pythons + p)->library != library)
			p++;
		if (p == stacks->python_count) {
			stacks->pythons = grow(stacks->pythons, p, sizeof(*stacks->pythons));
			stacks->pythons[stacks->python_count++] = (struct python){
				library,
				python_layout_create(&dump->target, library, libpython->bias,
						     dump->snapshot.namespaces[i].python_minor)};
			if (python_layout_problem(stacks->pythons[p].layout))
				problem(locations_problems(dump->locations),
					"%s: no Python frames: %s", libpython->path,
					python_layout_problem(stacks->pythons[p].layout));
		}
		stacks->layouts[i] = stacks->pythons[p].layout;
	}
}

static int compare_users(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void find_users(struct stacks *stacks)
{
	const struct snapshot *snapshot = &stacks->dump->snapshot;

	for (size_t i = 0; i < snapshot->ns_count; i++) {
		const struct object *libpython = snapshot_libpython(snapshot, i);
		struct python_thread *threads;
		size_t count;

		if (!stacks->layouts[i])
			continue;
		count = python_threads(&stacks->dump->target, stacks->layouts[i], libpython->bias,
				       &threads);
		for (size_t t = 0; t < count && stacks->user_count < FRAMES_MAX; t++) {
			stacks->users =
				grow(stacks->users, stacks->user_count, sizeof(*stacks->users));
			stacks->users[stacks->user_count++] = (struct user){threads[t].tid, i};
		}
		free(threads);
	}
	if (stacks->user_count)
		qsort(stacks->users, stacks->user_count, sizeof(*stacks->users), compare_users);
}

static void read_python(struct stacks *stacks, struct thread *thread)
{
	const struct snapshot *snapshot = &stacks->dump->snapshot;
	const struct user key = {.tid = thread->tid};
	const struct user *user = stacks->user_count
					  ? bsearch(&key, stacks->users, stacks->user_count,
						    sizeof(key), compare_users)
					  : NULL;

	struct target *target = &stacks->dump->target;
	struct python_thread found;
	uint64_t bias;

	if (!user)
		return;
	thread->python_ns = user->ns;
	bias = snapshot_libpython(snapshot, user->ns)->bias;
	if (python_find_thread(target, stacks->layouts[user->ns], bias, thread->tid, &found))
		python_read(target, stacks->layouts[user->ns], bias, stacks->codes, &found,
			    stacks->frames_left < FRAME_MAX ? stacks->frames_left : FRAME_MAX,
			    &thread->python);
	stacks->frames_left -= thread->python.count;
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct stacks *stacks = arg;
	struct thread *thread = stacks->thread;
	struct frame frame;

	if (!unwinder_frame(&stacks->unwinder, state, &frame.pc, &frame.after))
		return DWARF_CB_ABORT;
	if (!thread->count) // from its first frame to its last the thread is stopped
		read_python(stacks, thread);
	if (thread->count == FRAME_MAX || !stacks->frames_left)
		return DWARF_CB_ABORT;
	stacks->frames_left--;
	thread->frames = grow(thread->frames, thread->count, sizeof(*thread->frames));
	thread->frames[thread->count++] = frame;
	return DWARF_CB_OK;
}

// Is its last frame in code that no file has?
static bool is_in_generated(const struct snapshot *snapshot, const struct thread *thread)
{
	const struct frame *last = thread->count ? &thread->frames[thread->count - 1] : NULL;
	const struct object *object = last ? snapshot_find(snapshot, last->pc - last->after) : NULL;

	return object && !*object->path;
}

static int note_thread(Dwfl_Thread *state, void *arg)
{
	struct stacks *stacks = arg;
	pid_t tid = dwfl_thread_tid(state);
	const size_t *owner = map_get(&stacks->owners, (uint64_t)tid, 0);

	if (stacks->thread_count == THREAD_MAX)
		return DWARF_CB_ABORT;
	stacks->threads = grow(stacks->threads, stacks->thread_count, sizeof(*stacks->threads));
	stacks->threads[stacks->thread_count++] = (struct user){tid, owner ? *owner : NO_NS};
	return DWARF_CB_OK;
}

static int compare_owners(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return compare_users(a, b);
}

// Which threads there are. None of them is stopped for that.
static bool list_threads(struct stacks *stacks)
{
	const struct snapshot *snapshot = &stacks->dump->snapshot;
	struct map by_addr = {0};

	for (size_t i = 0; i < snapshot->ns_count; i++) {
		*map_find(&by_addr, snapshot->namespaces[i].addr, 0) = i;
		*map_find(&stacks->owners, snapshot->namespaces[i].thread, 0) = i;
	}
	for (size_t i = 0; i < snapshot->thread_count; i++) {
		const size_t *ns = map_get(&by_addr, snapshot->threads[i].ns, 0);

		if (ns)
			*map_find(&stacks->owners, snapshot->threads[i].tid, 0) = *ns;
	}
	for (size_t i = 0; i < stacks->user_count; i++)
		*map_find(&stacks->owners, (uint64_t)stacks->users[i].tid, 0) = stacks->users[i].ns;
	map_deinit(&by_addr);
	if (!unwinder_begin(&stacks->unwinder, false) ||
	    dwfl_getthreads(stacks->unwinder.dwfl, note_thread, stacks) < 0)
		return false;
	if (stacks->thread_count)
		qsort(stacks->threads, stacks->thread_count, sizeof(*stacks->threads),
		      compare_owners);
	return true;
}

static void read_thread(struct stacks *stacks, struct thread *thread)
{
	const struct snapshot *snapshot = &stacks->dump->snapshot;
	int err;

	stacks->thread = thread;
	err = dwfl_getthread_frames(stacks->unwinder.dwfl, thread->tid, add_frame, stacks);
	if (thread->count == FRAME_MAX || !stacks->frames_left)
		thread->why_cut =
			format("more than %d frames, or %d of all threads", FRAME_MAX, FRAMES_MAX);
	else if (err && is_in_generated(snapshot, thread))
		thread->why_cut = format("this generated code has no unwind data");
	else if (err)
		thread->why_cut = format("%s", err < 0 ? dwfl_errmsg(-1) : "no pc");
	for (size_t i = 0; i < thread->count && thread->ns == NO_NS; i++) {
		const struct object *object =
			snapshot_find(snapshot, thread->frames[i].pc - thread->frames[i].after);

		if (object) // generated code belongs to no interpreter, but its caller may
			thread->ns = object->ns;
	}
	// the stack was cut off before its private frames
	if (thread->ns == NO_NS && thread->python.count)
		thread->ns = thread->python_ns;
}

// The thread goes on before what takes longer, its functions and lines, is looked up.
static void show_thread(struct stacks *stacks, pid_t tid)
{
	struct thread thread = {.tid = tid, .ns = NO_NS};

	read_thread(stacks, &thread);
	if (stacks->dump->json)
		print_thread_json(stacks->dump, &thread, !stacks->printed++);
	else
		print_thread(stacks->dump, &thread);
	fflush(stdout);
	free(thread.frames);
	free(thread.why_cut);
	python_stack_deinit(&thread.python);
}

int print_stacks(struct dump *dump)
{
	struct stacks stacks = {
		.dump = dump, .codes = python_codes_create(), .frames_left = FRAMES_MAX};
	bool done;

	unwinder_init(&stacks.unwinder, dump);
	find_layouts(&stacks);
	find_users(&stacks);
	done = list_threads(&stacks);
	if (!done)
		fprintf(stderr, "gorgon-symdump: %s: its threads cannot be read: %s\n",
			dump->target.name, dwfl_errmsg(-1));
	if (dump->json)
		json_begin(dump, "gorgon-symdump --stacks", "threads");
	for (size_t i = 0; i < stacks.thread_count; i++)
		show_thread(&stacks, stacks.threads[i].tid);
	if (dump->json) {
		json_end_list();
		json_end();
	}
	unwinder_deinit(&stacks.unwinder);
	python_codes_destroy(stacks.codes);
	for (size_t i = 0; i < stacks.python_count; i++)
		python_layout_destroy(stacks.pythons[i].layout);
	map_deinit(&stacks.owners);
	free(stacks.pythons);
	free(stacks.layouts);
	free(stacks.users);
	free(stacks.threads);
	return done ? STATUS_OK : STATUS_NO_TARGET;
}
