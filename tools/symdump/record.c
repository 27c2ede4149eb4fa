// SPDX-License-Identifier: MIT
// --record: what the threads of all interpreters do, again and again, counted.
//
// The process is not stopped. A stack that changes while it is read mostly does not end where a
// stack ends, or has frames that run no code object: it is read again, and after a few times
// counted as one that could not be read. That two frames that were never there together are seen as
// one stack is still possible, if rarely. native.c stops each thread that has run since for as long
// as its frames take. watch.c says which threads run and which sleep. A process without libgorgon
// will do, if it has a CPython that the system's linker has loaded. Interpreters that come while it
// is recorded are seen within a quarter of a second. Not handled: which of two interpreters that
// one thread is in was entered last; each counts a sample of its own.

#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRIES           5
#define DEPTH_MAX       20000 // of one stack
#define REFRESH_SECONDS 0.25

// The layouts of files that were seen so far.
struct known_file {
	char *path;
	uint8_t build_id[64];
	size_t build_id_size;
	struct python_layout *layout;
};

struct refresher {
	struct recording *recording;
	struct known_file *files;
	size_t file_count;
	struct library *host; // that the system's linker has loaded, or NULL
	uint64_t host_bias, host_head;
	struct python_layout *host_layout;
	double last;
};

static volatile sig_atomic_t is_interrupted;

static void record_interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

static double record_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void sleep_until(double time)
{
	struct timespec ts = {(time_t)time, (long)((time - (double)(time_t)time) * 1e9)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR &&
	       !is_interrupted)
		;
}

// --- the interpreters that there are ---------------------------------------------------------

static struct python_layout *find_layout(struct refresher *refresher,
					 const struct object *libpython, unsigned minor)
{
	struct dump *dump = refresher->recording->dump;
	struct known_file *file;

	for (size_t i = 0; i < refresher->file_count; i++) {
		file = &refresher->files[i];
		if (!strcmp(file->path, libpython->path) &&
		    file->build_id_size == libpython->build_id_size &&
		    !memcmp(file->build_id, libpython->build_id, file->build_id_size))
			return file->layout;
	}
	refresher->files = grow(refresher->files, refresher->file_count, sizeof(*refresher->files));
	file = &refresher->files[refresher->file_count++];
	*file = (struct known_file){.path = format("%s", libpython->path),
				    .build_id_size = libpython->build_id_size};
	memcpy(file->build_id, libpython->build_id, sizeof(file->build_id));
	file->layout =
		python_layout_create(&dump->target, locations_library(dump->locations, libpython),
				     libpython->bias, minor);
	if (python_layout_problem(file->layout))
		problem(&dump->snapshot.problems, "%s: no Python frames: %s", libpython->path,
			python_layout_problem(file->layout));
	return file->layout;
}

static void add_copy(struct recording *recording, struct copy copy, const char *label)
{
	copy.label = profile_frame(&recording->profile, FRAME_INTERP, label, "", 0);
	recording->copies =
		grow(recording->copies, recording->copy_count, sizeof(*recording->copies));
	recording->copies[recording->copy_count++] = copy;
}

static void find_copies(struct refresher *refresher)
{
	struct recording *recording = refresher->recording;
	const struct snapshot *snapshot = &recording->dump->snapshot;

	recording->copy_count = 0;
	if (refresher->host_layout)
		add_copy(recording,
			 (struct copy){HOST_ID, NO_NS, refresher->host_layout, refresher->host_bias,
				       0},
			 "host");
	for (size_t i = 0; i < snapshot->ns_count; i++) {
		const struct object *libpython = snapshot_libpython(snapshot, i);
		char label[32];

		if (libpython)
			add_copy(recording,
				 (struct copy){snapshot->namespaces[i].id, i,
					       find_layout(refresher, libpython,
							   snapshot->namespaces[i].python_minor),
					       libpython->bias, 0},
				 ns_label(snapshot, i, label));
	}
}

static uint64_t symbol_addr(struct library *library, const char *name, uint64_t bias)
{
	const struct symbol *symbols;
	size_t count = library_symbols(library, &symbols);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(symbols[i].name, name))
			return bias + symbols[i].vaddr;
	return 0;
}

// Finds the CPython that the system's linker has loaded.
static void find_host(struct refresher *refresher)
{
	struct dump *dump = refresher->recording->dump;
	struct target *target = &dump->target;
	struct heads heads = {0};
	uint64_t version;

	heads_find(target, &heads);
	for (size_t i = 0; i < heads.runtime_count && !refresher->host; i++) {
		const struct mapping *mapping =
			target_find_mapping(target, heads.runtimes[i].start);

		if (!mapping || snapshot_find(&dump->snapshot, mapping->start))
			continue;
		refresher->host_bias = heads.runtimes[i].bias;
		refresher->host = library_create(target, target_open_mapping(target, mapping), NULL,
						 0, mapping->path, NULL);
	}
	heads_deinit(&heads);
	if (!refresher->host ||
	    !target_read(target, symbol_addr(refresher->host, "Py_Version", refresher->host_bias),
			 &version, sizeof(version)))
		return;
	refresher->host_layout = python_layout_create(target, refresher->host, refresher->host_bias,
						      version >> 16 & 0xff);
	refresher->host_head = symbol_addr(refresher->host, "_PyRuntime", refresher->host_bias);
	if (!python_layout_problem(refresher->host_layout))
		return;
	problem(&dump->snapshot.problems, "the host's Python has no Python frames: %s",
		python_layout_problem(refresher->host_layout));
	python_layout_destroy(refresher->host_layout);
	refresher->host_layout = NULL;
}

// False: the process has ended, or is another program by now.
static bool record_refresh(struct refresher *refresher)
{
	struct recording *recording = refresher->recording;
	struct dump *dump = recording->dump;
	uint64_t sequence, word, root = dump->snapshot.root;
	struct snapshot fresh = {0};

	if (!root)
		return target_read(&dump->target, refresher->host_head, &word, sizeof(word));
	if (!target_read(&dump->target, root + offsetof(struct gorgon_debug_root, sequence),
			 &sequence, sizeof(sequence)))
		return false;
	if (sequence == dump->snapshot.sequence || sequence & 1 ||
	    record_now() - refresher->last < REFRESH_SECONDS)
		return true;
	refresher->last = record_now();
	if (recording->native)
		native_forget(recording->native);
	if (recording->native && !target_update(&dump->target, &dump->snapshot.problems))
		return false;
	if (!snapshot_read_root(&dump->target, root, 0, &fresh) || !fresh.consistent) {
		snapshot_deinit(&fresh);
		return true;
	}
	snapshot_index(&fresh);
	// Problems of the earlier snapshot are still to be printed.
	for (size_t i = 0; i < dump->snapshot.problems.kept; i++)
		problem(&fresh.problems, "%s", dump->snapshot.problems.lines[i]);
	locations_destroy(dump->locations);
	snapshot_deinit(&dump->snapshot);
	dump->snapshot = fresh;
	dump->locations = locations_create(&dump->target, &dump->snapshot);
	find_copies(refresher);
	return true;
}

// --- samples -----------------------------------------------------------------------------------

// Reads a stack until the thread does not go on meanwhile. Returns false if it did so each time.
static bool read_whole(struct recording *recording, const struct copy *copy,
		       const struct python_thread *found, struct python_stack *ret)
{
	for (int try = 0; try < TRIES; try++) {
		pages_forget(&recording->pages);
		if (python_read(&recording->pages.target, copy->layout, copy->bias,
				recording->codes, found, DEPTH_MAX, ret))
			return true;
		if (try + 1 < TRIES)
			python_stack_deinit(ret);
	}
	return false;
}

static void count_stack(struct recording *recording, struct watched *thread,
			const struct copy *copy, const struct python_thread *found,
			const struct python_stack *stack, bool whole)
{
	struct target *target = &recording->pages.target;
	size_t *frames = zalloc(stack->count + 1, sizeof(*frames)),
	       count = whole ? stack->count : 1;
	enum gil gil = GIL_NONE;

	if (stack->holds_gil)
		gil = GIL_HELD;
	else if (thread->futex &&
		 python_is_gil(target, copy->layout, copy->bias, found, thread->futex))
		gil = GIL_WAITED_FOR;
	for (size_t i = 0; i < stack->count && whole; i++)
		frames[i] = python_frame_of(recording, &stack->frames[i]);
	if (!whole) {
		recording->unread++;
		thread->slept = false; // this sample is not to be repeated as the thread's stack
		frames[0] = profile_frame(&recording->profile, FRAME_STATE, "[could not be read]",
					  "", 0);
	}
	count_sample(recording, thread, copy, thread->state, gil, frames, count);
	free(frames);
}

// A thread may have several states, one for each sub-interpreter that it has been in. A state with
// frames counts; a state without frames counts only if no state has frames (@any).
static void sample_python(struct recording *recording, const struct copy *copy,
			  const struct python_thread *found, bool any)
{
	struct watched *thread = watch(recording, found->tid, copy->id);
	struct python_stack stack;
	bool whole;

	if (!thread || thread->sample == recording->sample)
		return;
	if (thread->looked != recording->sample)
		thread->state = watched_look(thread);
	thread->looked = recording->sample;
	if (thread->state == THREAD_GONE)
		return;
	if (thread->state == THREAD_SAME) {
		thread->sample = recording->sample;
		profile_count(&recording->profile, thread->track, thread->node);
		return;
	}
	whole = read_whole(recording, copy, found, &stack);
	if (stack.count || !whole || any) {
		thread->sample = recording->sample;
		count_stack(recording, thread, copy, found, &stack, whole);
	}
	python_stack_deinit(&stack);
}

static void sample_copy(struct recording *recording, const struct copy *copy)
{
	struct python_thread *threads;
	size_t count;

	pages_forget(&recording->pages);
	count = python_threads(&recording->pages.target, copy->layout, copy->bias, &threads);
	for (int any = 0; any < 2; any++)
		for (size_t i = 0; i < count && !is_interrupted; i++)
			sample_python(recording, copy, &threads[i], any);
	free(threads);
}

// Takes a sample of all threads. Returns false when recording is to end.
static bool record_sample(struct refresher *refresher)
{
	struct recording *recording = refresher->recording;

	if (is_interrupted || !record_refresh(refresher))
		return false;
	recording->sample++;
	if (recording->native)
		return native_sample(recording->native);
	for (size_t i = 0; i < recording->copy_count; i++)
		sample_copy(recording, &recording->copies[i]);
	return true;
}

static void sample_all(struct refresher *refresher)
{
	struct recording *recording = refresher->recording;
	struct dump *dump = recording->dump;
	double start = record_now(), end = start + dump->seconds, next = start;
	size_t late = 0;
	bool more;

	while ((more = record_sample(refresher)) && !recording->profile.is_full &&
	       next + recording->profile.period < end) {
		next += recording->profile.period;
		if (next < record_now()) {
			late++;
			next = record_now();
		} else {
			sleep_until(next);
		}
		progress("seconds recorded", (size_t)(record_now() - start),
			 (size_t)(dump->seconds + 0.999));
	}
	progress_end();
	if (!more && !is_interrupted && !recording->is_refused)
		problem(&dump->snapshot.problems, "%s: it ended after %.1f of %g seconds",
			dump->target.name, record_now() - start, dump->seconds);
	if (recording->profile.is_full)
		problem(&dump->snapshot.problems,
			"%s: more different stacks than are kept: recorded for %.1f of %g seconds",
			dump->target.name, record_now() - start, dump->seconds);
	if (late * 10 > recording->sample)
		problem(&dump->snapshot.problems,
			"%s: %zu of %lu samples came late: the machine is busy, or --rate too high",
			dump->target.name, late, recording->sample);
	if (recording->unread)
		problem(&dump->snapshot.problems,
			"%s: %zu stacks could not be read: they changed meanwhile",
			dump->target.name, recording->unread);
}

int record(struct dump *dump)
{
	struct recording recording = {.dump = dump, .codes = python_codes_create()};
	struct refresher refresher = {.recording = &recording};
	struct sigaction action = {.sa_handler = record_interrupt};
	int status = STATUS_OK;

	profile_init(&recording.profile, dump->target.name, 1.0 / dump->rate);
	pages_init(&recording.pages, &dump->target);
	find_host(&refresher);
	find_copies(&refresher);
	if (!recording.copy_count) {
		if (!dump->snapshot.problems.count)
			problem(&dump->snapshot.problems, "%s: no CPython is in use",
				dump->target.name);
		status = STATUS_NO_TARGET;
	} else {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		if (dump->native)
			recording.native = native_create(&recording);
		sample_all(&refresher);
		dump->print_profile(&recording.profile);
		native_destroy(recording.native);
		status = recording.is_refused ? STATUS_NO_TARGET : STATUS_OK;
	}
	for (size_t i = 0; i < refresher.file_count; i++) {
		free(refresher.files[i].path);
		python_layout_destroy(refresher.files[i].layout);
	}
	free(refresher.files);
	python_layout_destroy(refresher.host_layout);
	library_destroy(refresher.host);
	watched_end(&recording);
	free(recording.copies);
	map_deinit(&recording.python_map);
	python_codes_destroy(recording.codes);
	pages_deinit(&recording.pages);
	profile_deinit(&recording.profile);
	return status;
}
