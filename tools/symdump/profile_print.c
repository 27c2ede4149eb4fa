// SPDX-License-Identifier: MIT Stacks for other programs: collapsed, as flamegraph.pl and its
// successors read them, and speedscope's JSON.
//
// Specification: github.com/jlfwong/speedscope, src/lib/file-format-spec.ts.

#define _GNU_SOURCE
#include "profile.h"

#include <json.h>
#include <stdlib.h>
#include <string.h>

// Write the frames of a node to *@ret, outermost first, and return how many they are. The next call
// uses the array again.
static size_t stack_of(const struct profile *profile, size_t node, size_t **ret)
{
	size_t depth = 0, *stack;

	for (size_t n = node; n; n = profile->nodes[n].parent)
		depth++;
	*ret = stack = reallocarray(*ret, depth ?: 1, sizeof(*stack));
	if (!stack)
		abort();
	for (size_t i = depth; i; node = profile->nodes[node].parent)
		stack[--i] = profile->nodes[node].frame;
	return depth;
}

// A ';' would end the frame.
static void print_part(const char *text)
{
	for (; *text; text++)
		putchar(*text == ';' ? ',' : *text);
}

static void print_frame(const struct profile_frame *frame)
{
	print_part(frame->name);
	if (!*frame->file)
		return;
	fputs(" (", stdout);
	print_part(frame->kind == FRAME_NATIVE ? base_name(frame->file) : frame->file);
	if (frame->line)
		printf(":%d", frame->line);
	putchar(')');
}

void print_collapsed(const struct profile *profile)
{
	size_t *stack = NULL;

	for (size_t node = 1; node < profile->node_count; node++) {
		size_t depth;

		if (!profile->nodes[node].count)
			continue;
		depth = stack_of(profile, node, &stack);
		for (size_t i = 0; i < depth; i++) {
			if (i)
				putchar(';');
			print_frame(&profile->frames[stack[i]]);
		}
		printf(" %zu\n", profile->nodes[node].count);
	}
	free(stack);
}

static void print_object(struct json_object *object)
{
	fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE),
	      stdout);
	json_object_put(object);
}

static void print_track(const struct profile *profile, const struct profile_track *track)
{
	struct json_object *name = json_object_new_string(track->name);
	size_t *stack = NULL, total = 0;

	for (size_t r = 0; r < track->run_count; r++)
		total += track->runs[r].count;
	fputs("{\"type\":\"sampled\",\"name\":", stdout);
	print_object(name);
	printf(",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":%.9g,\n\"samples\":[",
	       (double)total * profile->period);
	for (size_t r = 0; r < track->run_count; r++) {
		size_t depth = stack_of(profile, track->runs[r].node, &stack);

		fputs(r ? ",\n[" : "[", stdout);
		for (size_t i = 2; i < depth; i++) // the profile's name has interpreter and thread
			printf("%s%zu", i > 2 ? "," : "", stack[i]);
		putchar(']');
	}
	fputs("],\n\"weights\":[", stdout);
	for (size_t r = 0; r < track->run_count; r++)
		printf("%s%.9g", r ? "," : "", (double)track->runs[r].count * profile->period);
	fputs("]}", stdout);
	free(stack);
}

void print_speedscope(const struct profile *profile)
{
	fputs("{\"$schema\":\"https://www.speedscope.app/"
	      "file-format-schema.json\",\"exporter\":\"gorgon-symdump " GORGON_VERSION
	      "\",\"name\":",
	      stdout);
	print_object(json_object_new_string(profile->target));
	fputs(",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", stdout);
	for (size_t i = 0; i < profile->frame_count; i++) {
		const struct profile_frame *frame = &profile->frames[i];
		struct json_object *object = json_object_new_object();

		json_add_string(object, "name", frame->name);
		if (*frame->file)
			json_add_string(object, "file", frame->file);
		if (frame->line)
			json_object_object_add(object, "line", json_object_new_int(frame->line));
		fputs(i ? ",\n" : "", stdout);
		print_object(object);
	}
	fputs("]},\n\"profiles\":[", stdout);
	for (size_t i = 0; i < profile->track_count; i++) {
		fputs(i ? ",\n" : "", stdout);
		print_track(profile, &profile->tracks[i]);
	}
	fputs("]}\n", stdout);
}
