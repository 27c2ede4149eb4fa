// SPDX-License-Identifier: MIT
// Threads for people and as JSON. Python frames stand at the C call of the bytecode loop that
// runs them; those whose call is not among the frames, as of a stack that was cut off, at the end.

#define _GNU_SOURCE
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

static bool runs_bytecode(const struct thread *thread, const struct place *place)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";

	// The compiler may have split it: ".cold".
	return place->object && place->object->ns == thread->python_ns && place->symbol &&
	       !strncmp(place->symbol->name, loop, sizeof(loop) - 1);
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

static void print_thread(struct dump *dump, const struct thread *thread)
{
	char label[32] = "no interpreter";
	size_t python = 0;

	if (thread->ns != NO_NS)
		ns_label(&dump->snapshot, thread->ns, label);
	printf("%s%s, thread %d%s%s\n", heading_begin(), label, thread->tid,
	       thread->python.holds_gil ? ", holds the GIL" : "", colour_end());
	for (size_t i = 0; i < thread->count; i++) {
		const struct frame *frame = &thread->frames[i];
		struct place place = {0};
		char *text;

		if (place_find(dump->places, frame->pc, frame->after, &place))
			text = place_text(dump->places, &place);
		else
			text = format("in no loaded file");
		printf("#%-3zu 0x%lx  %s\n", i, frame->pc, text);
		free(text);
		if (runs_bytecode(thread, &place)) {
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

void print_threads(struct dump *dump, const struct thread *threads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		print_thread(dump, &threads[i]);
}

static void put_python(const struct thread *thread, size_t first, size_t end)
{
	putchar('[');
	for (size_t i = first; i < end; i++) {
		const struct python_frame *frame = &thread->python.frames[i];

		fputs(i > first ? ", {\"function\": " : "{\"function\": ", stdout);
		json_string(frame->function);
		printf(", \"file\": ");
		json_string(frame->file);
		printf(frame->line ? ", \"line\": %d}" : ", \"line\": null}", frame->line);
	}
	putchar(']');
}

static const char *kind_of(const struct place *place)
{
	if (place->object)
		return place->object->ns == NO_NS && !*place->object->path ? "generated" : "private";
	return place->path ? "system" : "unknown";
}

static void put_place(const struct dump *dump, const struct place *place)
{
	char *path = place->path && *place->path ? clean_text(place->path, strlen(place->path))
						 : NULL,
	     *function = place->symbol ? symbol_name(place->symbol) : NULL,
	     *file = place->file ? clean_text(place->file, strlen(place->file)) : NULL;

	printf("\"kind\": \"%s\", ", kind_of(place));
	json_namespace(&dump->snapshot, place->object ? place->object->ns : NO_NS, "namespace");
	printf(", \"path\": ");
	json_string(path);
	printf(", \"vaddr\": \"0x%lx\", \"function\": ", place->vaddr);
	json_string(function);
	if (function)
		printf(", \"offset\": %lu, \"file\": ", place->vaddr - place->symbol->vaddr);
	else
		printf(", \"offset\": null, \"file\": ");
	json_string(file);
	printf(file ? ", \"line\": %d" : ", \"line\": null", place->line);
	free(path);
	free(function);
	free(file);
}

static void put_thread(struct dump *dump, const struct thread *thread)
{
	size_t python = 0;

	printf("{\"thread\": %d, ", thread->tid);
	json_namespace(&dump->snapshot, thread->ns, "namespace");
	printf(", \"holds_gil\": %s, \"frames\": [", thread->python.holds_gil ? "true" : "false");
	for (size_t i = 0; i < thread->count; i++) {
		const struct frame *frame = &thread->frames[i];
		struct place place = {0};
		size_t end = python;

		place_find(dump->places, frame->pc, frame->after, &place);
		printf("%s{\"addr\": \"0x%lx\", ", i ? ",\n" : "\n", frame->pc);
		put_place(dump, &place);
		if (runs_bytecode(thread, &place))
			end = entry_end(thread, python);
		printf(", \"python\": ");
		put_python(thread, python, end);
		putchar('}');
		python = end;
	}
	printf("], \"cut_off\": ");
	json_string(thread->why_cut);
	printf(", \"python_rest\": ");
	put_python(thread, python, thread->python.count);
	putchar('}');
}

void print_threads_json(struct dump *dump, const struct thread *threads, size_t count)
{
	json_begin(dump, "gorgon-symdump --stacks");
	printf("\"threads\": [");
	for (size_t i = 0; i < count; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		put_thread(dump, &threads[i]);
	}
	printf("\n]\n}\n");
}
