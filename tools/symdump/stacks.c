// SPDX-License-Identifier: MIT
// --stacks: the frames of every thread, grouped by the interpreter whose code it runs.
//
// libdwfl unwinds; our objects are reported to it at their addresses beside the system's
// files, and each file is opened only when a frame is in it. A live process is stopped one
// thread at a time, for as long as that thread's frames take (dwfl_linux_proc_attach()).
// Not handled: frames in code that no file has, as the vdso's.

#define _GNU_SOURCE
#include "symdump.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME_MAX  20000 // of one thread
#define THREAD_MAX 100000
#define NO_NS      SIZE_MAX

struct frame {
	uint64_t pc;
	bool after; // a return address
};

struct thread {
	pid_t tid;
	size_t ns; // of the innermost private frame
	struct frame *frames;
	size_t count;
	char *why_cut; // or NULL
};

struct stacks {
	struct dump *dump;
	struct thread *threads;
	size_t count;
};

// A module's userdata; a mapping's address serves for both kinds.
static int find_elf(Dwfl_Module *module __attribute__((unused)), void **userdata,
		    const char *name __attribute__((unused)), Dwarf_Addr base, char **file_name,
		    Elf **elf __attribute__((unused)))
{
	const struct dump *dump = *userdata;
	const struct mapping *mapping = target_find_mapping(&dump->target, base);
	int fd = mapping ? target_open_mapping(&dump->target, mapping) : -1;

	if (fd >= 0)
		*file_name = strdup(mapping->path);
	return fd;
}

static void report(Dwfl *dwfl, struct dump *dump, const char *path, uint64_t start, uint64_t end)
{
	Dwfl_Module *module = dwfl_report_module(dwfl, base_name(path), start, end);
	void **userdata;

	if (!module)
		return;
	dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = dump;
}

static void report_all(Dwfl *dwfl, struct dump *dump)
{
	const struct target *target = &dump->target;
	const struct snapshot *snapshot = &dump->snapshot;

	for (size_t i = 0; i < snapshot->range_count; i++)
		report(dwfl, dump, snapshot->by_start[i]->path, snapshot->by_start[i]->start,
		       snapshot->by_start[i]->end);
	for (size_t i = 0; i < target->mapping_count;) {
		const struct mapping *first = &target->mappings[i++];

		// Parts of one file that follow each other are one library.
		while (i < target->mapping_count && target->mappings[i].off &&
		       !strcmp(target->mappings[i].path, first->path))
			i++;
		if (!first->off && !snapshot_find(snapshot, first->start))
			report(dwfl, dump, first->path, first->start, target->mappings[i - 1].end);
	}
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct thread *thread = arg;
	Dwarf_Addr pc;
	bool activation;

	if (thread->count == FRAME_MAX || !dwfl_frame_pc(state, &pc, &activation))
		return DWARF_CB_ABORT;
	thread->frames = grow(thread->frames, thread->count, sizeof(*thread->frames));
	thread->frames[thread->count++] = (struct frame){pc, !activation};
	return DWARF_CB_OK;
}

static int add_thread(Dwfl_Thread *state, void *arg)
{
	struct stacks *stacks = arg;
	const struct snapshot *snapshot = &stacks->dump->snapshot;
	struct thread *thread;
	int err;

	if (stacks->count == THREAD_MAX)
		return DWARF_CB_ABORT;
	stacks->threads = grow(stacks->threads, stacks->count, sizeof(*stacks->threads));
	thread = &stacks->threads[stacks->count++];
	*thread = (struct thread){.tid = dwfl_thread_tid(state), .ns = NO_NS};
	err = dwfl_thread_getframes(state, add_frame, thread);
	if (thread->count == FRAME_MAX)
		thread->why_cut = format("more than %d frames", FRAME_MAX);
	else if (err)
		thread->why_cut = format("%s", err < 0 ? dwfl_errmsg(-1) : "no pc");
	for (size_t i = 0; i < thread->count && thread->ns == NO_NS; i++) {
		const struct object *object =
			snapshot_find(snapshot, thread->frames[i].pc - thread->frames[i].after);

		if (object)
			thread->ns = object->ns;
	}
	return DWARF_CB_OK;
}

static void print_thread(struct stacks *stacks, const struct thread *thread)
{
	char label[32] = "no interpreter";

	if (thread->ns != NO_NS)
		ns_label(&stacks->dump->snapshot, thread->ns, label);
	printf("%s, thread %d\n", label, thread->tid);
	for (size_t i = 0; i < thread->count; i++) {
		const struct frame *frame = &thread->frames[i];
		struct place place;
		char *text;

		if (place_find(stacks->dump->places, frame->pc, frame->after, &place))
			text = place_text(stacks->dump->places, &place);
		else
			text = format("in no loaded file");
		printf("#%-3zu 0x%lx  %s\n", i, frame->pc, text);
		free(text);
	}
	if (thread->why_cut)
		printf("(cut off: %s)\n", thread->why_cut);
	putchar('\n');
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool collect(Dwfl *dwfl, struct stacks *stacks)
{
	struct dump *dump = stacks->dump;
	int err;

	dwfl_report_begin(dwfl);
	report_all(dwfl, dump);
	dwfl_report_end(dwfl, NULL, NULL);
	err = dump->target.pid ? dwfl_linux_proc_attach(dwfl, dump->target.pid, false)
			       : dwfl_core_file_attach(dwfl, dump->target.core);
	if (err < 0 || dwfl_getthreads(dwfl, add_thread, stacks) < 0) {
		fprintf(stderr, "gorgon-symdump: %s: its threads cannot be read: %s\n",
			dump->target.name, dwfl_errmsg(-1));
		return false;
	}
	return true;
}

int print_stacks(struct dump *dump)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};
	struct stacks stacks = {.dump = dump};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	bool done = dwfl && collect(dwfl, &stacks);

	dwfl_end(dwfl); // lets the threads go before anything slow is printed
	if (stacks.count)
		qsort(stacks.threads, stacks.count, sizeof(*stacks.threads), compare_threads);
	for (size_t i = 0; i < stacks.count; i++) {
		print_thread(&stacks, &stacks.threads[i]);
		free(stacks.threads[i].frames);
		free(stacks.threads[i].why_cut);
	}
	free(stacks.threads);
	return done ? STATUS_OK : STATUS_NO_TARGET;
}
