// SPDX-License-Identifier: MIT Threads for people and as JSON. Python frames stand at the C call of
// the bytecode loop that runs them. If the native stack was cut off before that call, they stand at
// the end.

#define _GNU_SOURCE
#include "stacks.h"

#include <json.h>
#include <stdlib.h>
#include <string.h>

static bool runs_bytecode(const struct thread *thread, const struct location *location)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";

	// The compiler may have split it: ".cold".
	return location->object && location->object->ns == thread->python_ns && location->symbol &&
	       !strncmp(location->symbol->name, loop, sizeof(loop) - 1);
}

// The Python frames from @first on that one C call runs; returns where the next call's begin.
static size_t entry_end(const struct thread *thread, size_t first)
{
	size_t i = first;

	while (i < thread->python.count && !thread->python.frames[i++].is_entry)
		;
	return i;
}

static void print_python(const struct thread *thread, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct python_frame *frame = &thread->python.frames[i];

		printf("       Python  %s  %s:%d\n", frame->function, frame->file, frame->line);
	}
}

void print_thread(struct dump *dump, const struct thread *thread)
{
	char label[32] = "no interpreter";
	size_t python = 0;

	if (thread->ns != NO_NS)
		ns_label(&dump->snapshot, thread->ns, label);
	printf("%s%s, thread %d%s%s\n", heading_begin(), label, thread->tid,
	       thread->python.holds_gil ? ", holds the GIL" : "", colour_end());
	for (size_t i = 0; i < thread->count; i++) {
		const struct frame *frame = &thread->frames[i];
		struct location location = {0};
		char *text;

		if (location_find(dump->locations, frame->pc, frame->after, &location))
			text = location_text(dump->locations, &location);
		else
			text = format("in no loaded file");
		printf("#%-3zu 0x%lx  %s\n", i, frame->pc, text);
		free(text);
		if (runs_bytecode(thread, &location)) {
			size_t end = entry_end(thread, python);

			print_python(thread, python, end);
			python = end;
		}
	}
	if (thread->why_cut)
		printf("(cut off: %s)\n", thread->why_cut);
	print_python(thread, python, thread->python.count);
	putchar('\n');
}

static struct json_object *python_json(const struct thread *thread, size_t first, size_t end)
{
	struct json_object *ret = json_object_new_array();

	for (size_t i = first; i < end; i++) {
		const struct python_frame *frame = &thread->python.frames[i];
		struct json_object *item = json_object_new_object();

		json_add_string(item, "function", frame->function);
		json_add_string(item, "file", frame->file);
		json_object_object_add(item, "line",
				       frame->line ? json_object_new_int(frame->line) : NULL);
		json_object_array_add(ret, item);
	}
	return ret;
}

static const char *kind_of(const struct location *location)
{
	if (location->object)
		return location->object->ns == NO_NS && !*location->object->path ? "generated"
										 : "private";
	return location->path ? "system" : "unknown";
}

static void add_clean(struct json_object *to, const char *name, const char *text)
{
	char *clean = text && *text ? clean_text(text, strlen(text)) : NULL;

	json_add_string(to, name, clean);
	free(clean);
}

static struct json_object *frame_json(const struct dump *dump, const struct frame *frame,
				      const struct location *location)
{
	struct json_object *ret = json_object_new_object();
	char *function = location->symbol ? symbol_name(location->symbol) : NULL;

	json_add_address(ret, "addr", frame->pc);
	json_add_string(ret, "kind", kind_of(location));
	json_add_namespace(ret, "namespace", &dump->snapshot,
			   location->object ? location->object->ns : NO_NS);
	add_clean(ret, "path", location->path);
	json_add_address(ret, "vaddr", location->vaddr);
	json_add_string(ret, "function", function);
	json_object_object_add(
		ret, "offset",
		function ? json_object_new_uint64(location->vaddr - location->symbol->vaddr)
			 : NULL);
	add_clean(ret, "file", location->file);
	json_object_object_add(ret, "line",
			       location->file ? json_object_new_int(location->line) : NULL);
	free(function);
	return ret;
}

static struct json_object *thread_json(struct dump *dump, const struct thread *thread)
{
	struct json_object *ret = json_object_new_object(), *frames = json_object_new_array();
	size_t python = 0;

	json_object_object_add(ret, "thread", json_object_new_int(thread->tid));
	json_add_namespace(ret, "namespace", &dump->snapshot, thread->ns);
	json_object_object_add(ret, "holds_gil", json_object_new_boolean(thread->python.holds_gil));
	for (size_t i = 0; i < thread->count; i++) {
		const struct frame *frame = &thread->frames[i];
		struct json_object *item;
		struct location location = {0};
		size_t end = python;

		location_find(dump->locations, frame->pc, frame->after, &location);
		item = frame_json(dump, frame, &location);
		if (runs_bytecode(thread, &location))
			end = entry_end(thread, python);
		json_object_object_add(item, "python", python_json(thread, python, end));
		json_object_array_add(frames, item);
		python = end;
	}
	json_object_object_add(ret, "frames", frames);
	json_add_string(ret, "cut_off", thread->why_cut);
	json_object_object_add(ret, "python_rest",
			       python_json(thread, python, thread->python.count));
	return ret;
}

void print_thread_json(struct dump *dump, const struct thread *thread, bool first)
{
	json_print_item(thread_json(dump, thread), first);
}
