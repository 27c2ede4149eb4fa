// SPDX-License-Identifier: MIT
// --stacks: the frames of every thread, grouped by the interpreter whose code it runs.
//
// libdwfl unwinds; our objects are reported to it at their addresses beside the system's
// files, and each file is opened only when a frame is in it, and once for all its copies. A live
// process is stopped one thread at a time, for as long as that thread's frames take
// (dwfl_linux_proc_attach()).
// libdwfl compares each object that is reported with all before it, and most objects have
// no frame: at first it gets the libpythons only, and all is read again with the objects
// that frames were in, until there are no others. A thread's Python frames are read at the same
// moment. generated.c makes a file for code that has none; stacks_print.c shows all of it. Not
// handled: a second interpreter in one thread, a thread that runs its first Python code while we
// read.

#define _GNU_SOURCE
#include "stacks.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME_MAX  20000  // of one thread
#define FRAMES_MAX 500000 // of all
#define THREAD_MAX 100000
#define ROUND_MAX  8

// One libpython file, with however many copies.
struct python {
	const struct library *library;
	struct python_layout *layout;
};

// A thread that has run Python code, and of which interpreter.
struct user {
	pid_t tid;
	size_t ns;
};

// A file that frames are in, or what stands for one of generated code.
struct file {
	const char *path;            // of a mapping
	const struct object *object; // or generated code
	int fd;
	void *data;
	Elf *elf;
};

struct stacks {
	struct dump *dump;
	struct file *files;
	size_t file_count;
	bool *wanted;                   // of each object: libdwfl is to know it
	bool missed;                    // a frame was in another one
	struct python_layout **layouts; // of each namespace, or NULL
	struct user *users;             // sorted
	size_t user_count;
	size_t frames_left;
	struct python *pythons;
	size_t python_count;
	struct thread *threads;
	size_t count;
};

static struct file *add_file(struct stacks *stacks)
{
	stacks->files = grow(stacks->files, stacks->file_count, sizeof(*stacks->files));
	stacks->files[stacks->file_count] = (struct file){.fd = -1};
	return &stacks->files[stacks->file_count++];
}

static struct file *find_mapped(struct stacks *stacks, const struct mapping *mapping)
{
	struct file *file;

	for (size_t i = 0; i < stacks->file_count; i++)
		if (stacks->files[i].path && !strcmp(stacks->files[i].path, mapping->path))
			return &stacks->files[i];
	file = add_file(stacks);
	file->path = mapping->path;
	file->fd = target_open_mapping(&stacks->dump->target, mapping);
	if (file->fd >= 0)
		file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	return file;
}

static struct file *find_generated(struct stacks *stacks, const struct object *object)
{
	struct file *file;

	for (size_t i = 0; i < stacks->file_count; i++)
		if (stacks->files[i].object == object)
			return &stacks->files[i];
	file = add_file(stacks);
	file->object = object;
	file->elf = generated_elf(&stacks->dump->target, object, &file->data);
	return file;
}

// A module's userdata; its address says which it is.
static int find_elf(Dwfl_Module *module __attribute__((unused)), void **userdata,
		    const char *name, Dwarf_Addr base, char **file_name, Elf **elf)
{
	struct stacks *stacks = *userdata;
	const struct mapping *mapping = target_find_mapping(&stacks->dump->target, base);
	const struct object *object = snapshot_find(&stacks->dump->snapshot, base);
	struct file *file = NULL;

	if (mapping)
		file = find_mapped(stacks, mapping);
	else if (object)
		file = find_generated(stacks, object);
	if (file && file->elf) { // one more reference to the same
		*elf = elf_begin(-1, ELF_C_READ_MMAP, file->elf);
		*file_name = strdup(mapping ? mapping->path : name);
	}
	return -1;
}

static void report(Dwfl *dwfl, struct stacks *stacks, const char *path, uint64_t start,
		   uint64_t end)
{
	Dwfl_Module *module = dwfl_report_module(dwfl, base_name(path), start, end);
	void **userdata;

	if (!module)
		return;
	dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = stacks;
}

static void report_all(Dwfl *dwfl, struct stacks *stacks)
{
	const struct target *target = &stacks->dump->target;
	const struct snapshot *snapshot = &stacks->dump->snapshot;

	for (size_t i = 0; i < snapshot->range_count; i++)
		if (stacks->wanted[snapshot->by_start[i] - snapshot->objects])
			report(dwfl, stacks, snapshot->by_start[i]->path,
			       snapshot->by_start[i]->start, snapshot->by_start[i]->end);
	for (size_t i = 0; i < target->mapping_count;) {
		const struct mapping *first = &target->mappings[i++];

		// Parts of one file that follow each other are one library.
		while (i < target->mapping_count && target->mappings[i].off &&
		       !strcmp(target->mappings[i].path, first->path))
			i++;
		if (!first->off && !snapshot_find(snapshot, first->start))
			report(dwfl, stacks, first->path, first->start, target->mappings[i - 1].end);
	}
}

static const struct object *find_libpython(const struct snapshot *snapshot,
					   const struct namespace *ns)
{
	for (size_t i = 0; i < ns->object_count; i++)
		if (snapshot->objects[ns->first_object + i].addr == ns->python_object)
			return &snapshot->objects[ns->first_object + i];
	return NULL;
}

// Before any thread is stopped: reading debug information takes its time.
static void find_layouts(struct stacks *stacks)
{
	struct dump *dump = stacks->dump;

	stacks->layouts = zalloc(dump->snapshot.ns_count, sizeof(*stacks->layouts));
	for (size_t i = 0; i < dump->snapshot.ns_count; i++) {
		const struct object *libpython =
			find_libpython(&dump->snapshot, &dump->snapshot.namespaces[i]);
		struct library *library =
			libpython ? places_library(dump->places, libpython) : NULL;
		size_t p = 0;

		if (!library)
			continue;
		while (p < stacks->python_count && (stacks->pythons + p)->library != library)
			p++;
		if (p == stacks->python_count) {
			stacks->pythons = grow(stacks->pythons, p, sizeof(*stacks->pythons));
			stacks->pythons[stacks->python_count++] =
				(struct python){library, python_layout_create(&dump->target, library, libpython->bias,
						     dump->snapshot.namespaces[i].python_minor)};
			if (python_layout_problem(stacks->pythons[p].layout))
				problem(places_problems(dump->places), "%s: no Python frames: %s",
					libpython->path,
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
		const struct object *libpython = find_libpython(snapshot, &snapshot->namespaces[i]);
		pid_t *tids;
		size_t count;

		if (!stacks->layouts[i])
			continue;
		count = python_threads(&stacks->dump->target, stacks->layouts[i], libpython->bias,
				       &tids);
		for (size_t t = 0; t < count && stacks->user_count < FRAMES_MAX; t++) {
			stacks->users =
				grow(stacks->users, stacks->user_count, sizeof(*stacks->users));
			stacks->users[stacks->user_count++] = (struct user){tids[t], i};
		}
		free(tids);
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

	if (!user)
		return;
	thread->python_ns = user->ns;
	python_read(&stacks->dump->target, stacks->layouts[user->ns],
		    find_libpython(snapshot, &snapshot->namespaces[user->ns])->bias, thread->tid,
		    stacks->frames_left < FRAME_MAX ? stacks->frames_left : FRAME_MAX,
		    &thread->python);
	stacks->frames_left -= thread->python.count;
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct stacks *stacks = arg;
	struct thread *thread = &stacks->threads[stacks->count - 1];
	const struct object *object;
	Dwarf_Addr pc;
	bool activation;

	if (!dwfl_frame_pc(state, &pc, &activation))
		return DWARF_CB_ABORT;
	object = snapshot_find(&stacks->dump->snapshot, pc - !activation);
	if (object && !stacks->wanted[object - stacks->dump->snapshot.objects]) {
		stacks->wanted[object - stacks->dump->snapshot.objects] = true;
		stacks->missed = true;
		return DWARF_CB_ABORT;
	}
	if (!thread->count) // from its first frame to its last the thread is stopped
		read_python(stacks, thread);
	if (thread->count == FRAME_MAX || !stacks->frames_left)
		return DWARF_CB_ABORT;
	stacks->frames_left--;
	thread->frames = grow(thread->frames, thread->count, sizeof(*thread->frames));
	thread->frames[thread->count++] = (struct frame){pc, !activation};
	return DWARF_CB_OK;
}

// Is its last frame in code that no file has?
static bool is_in_generated(const struct snapshot *snapshot, const struct thread *thread)
{
	const struct frame *last = thread->count ? &thread->frames[thread->count - 1] : NULL;
	const struct object *object = last ? snapshot_find(snapshot, last->pc - last->after) : NULL;

	return object && !*object->path;
}

static int add_thread(Dwfl_Thread *state, void *arg)
{
	struct stacks *stacks = arg;
	const struct snapshot *snapshot = &stacks->dump->snapshot;
	struct thread *thread;
	int err;

	if (stacks->count == THREAD_MAX)
		return DWARF_CB_ABORT;
	progress("threads", stacks->count, stacks->user_count);
	stacks->threads = grow(stacks->threads, stacks->count, sizeof(*stacks->threads));
	thread = &stacks->threads[stacks->count++];
	*thread = (struct thread){.tid = dwfl_thread_tid(state), .ns = NO_NS};
	err = dwfl_thread_getframes(state, add_frame, stacks);
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

		if (object) // generated code is nobody's: its caller may be somebody's
			thread->ns = object->ns;
	}
	if (thread->ns == NO_NS && thread->python.count) // cut off before its private frames
		thread->ns = thread->python_ns;
	return DWARF_CB_OK;
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void drop_threads(struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++) {
		free(stacks->threads[i].frames);
		free(stacks->threads[i].why_cut);
		python_stack_deinit(&stacks->threads[i].python);
	}
	free(stacks->threads);
	stacks->threads = NULL;
	stacks->count = 0;
	stacks->frames_left = FRAMES_MAX;
}

// Every thread's frames, as far as they are in wanted objects.
static bool collect_once(struct stacks *stacks)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};
	struct dump *dump = stacks->dump;
	Dwfl *dwfl = dwfl_begin(&callbacks);
	bool done = false;

	drop_threads(stacks);
	stacks->missed = false;
	if (dwfl) {
		dwfl_report_begin(dwfl);
		report_all(dwfl, stacks);
		dwfl_report_end(dwfl, NULL, NULL);
		done = (dump->target.pid ? dwfl_linux_proc_attach(dwfl, dump->target.pid, false)
					 : dwfl_core_file_attach(dwfl, dump->target.core)) >= 0 &&
		       dwfl_getthreads(dwfl, add_thread, stacks) >= 0;
	}
	if (!done)
		fprintf(stderr, "gorgon-symdump: %s: its threads cannot be read: %s\n",
			dump->target.name, dwfl_errmsg(-1));
	progress_end();
	dwfl_end(dwfl); // lets the threads go before anything slow is printed
	return done;
}

static bool collect(struct stacks *stacks)
{
	const struct snapshot *snapshot = &stacks->dump->snapshot;
	bool done = false;

	stacks->wanted = zalloc(snapshot->object_count, sizeof(*stacks->wanted));
	for (size_t i = 0; i < snapshot->ns_count; i++) {
		const struct object *libpython = find_libpython(snapshot, &snapshot->namespaces[i]);

		if (libpython)
			stacks->wanted[libpython - snapshot->objects] = true;
	}
	for (int round = 0; !round || (done && stacks->missed); round++) {
		if (round == ROUND_MAX) // a target that is elsewhere each time
			memset(stacks->wanted, true, snapshot->object_count);
		done = collect_once(stacks);
	}
	return done;
}

int print_stacks(struct dump *dump)
{
	struct stacks stacks = {.dump = dump};
	bool done;

	find_layouts(&stacks);
	find_users(&stacks);
	done = collect(&stacks);
	if (stacks.count)
		qsort(stacks.threads, stacks.count, sizeof(*stacks.threads), compare_threads);
	if (dump->json)
		print_threads_json(dump, stacks.threads, stacks.count);
	else
		print_threads(dump, stacks.threads, stacks.count);
	drop_threads(&stacks);
	for (size_t i = 0; i < stacks.file_count; i++) {
		elf_end(stacks.files[i].elf);
		free(stacks.files[i].data);
		if (stacks.files[i].fd >= 0)
			close(stacks.files[i].fd);
	}
	free(stacks.files);
	for (size_t i = 0; i < stacks.python_count; i++)
		python_layout_destroy(stacks.pythons[i].layout);
	free(stacks.pythons);
	free(stacks.layouts);
	free(stacks.users);
	free(stacks.wanted);
	return done ? STATUS_OK : STATUS_NO_TARGET;
}
