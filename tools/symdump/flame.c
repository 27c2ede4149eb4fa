// SPDX-License-Identifier: MIT Stacks as a flame graph in SVG: a box for each frame, as wide as its
// share of the samples, above that of its caller. A click makes a box as wide as the picture, and
// its caller's boxes with it; a title under the pointer shows the frame's whole name, its samples
// and its share. Boxes that would be narrower than a third of a pixel are left out.

#define _GNU_SOURCE
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH     1200.0
#define ROW       17
#define HEAD      40
#define CHARACTER 6.6 // of the font, about
#define LEAST     0.3

struct flame {
	const struct profile *profile;
	size_t *total;        // samples of each node and of all nodes above it
	size_t *first, *next; // children, the widest first; 0: none
	size_t depth;
};

static const char script[] =
	"<script><![CDATA[\n"
	"var svg = document.documentElement, width = 1200;\n"
	"function num(e, name) { return parseFloat(e.getAttribute(name)); }\n"
	"function zoom(box) {\n"
	"\tvar x = num(box, 'data-x'), w = num(box, 'data-w');\n"
	"\tsvg.querySelectorAll('g').forEach(function (g) {\n"
	"\t\tvar left = (num(g, 'data-x') - x) / w * width, wide = num(g, 'data-w') / w * width;\n"
	"\t\tif (left < 0) { wide += left; left = 0; }\n"
	"\t\twide = Math.min(wide, width - left);\n"
	"\t\tg.style.display = wide > 0.3 ? '' : 'none';\n"
	"\t\tvar rect = g.querySelector('rect'), text = g.querySelector('text');\n"
	"\t\trect.setAttribute('x', left); rect.setAttribute('width', Math.max(wide - 0.5, 0.2));\n"
	"\t\ttext.setAttribute('x', left + 3);\n"
	"\t\tvar room = Math.floor((wide - 6) / 6.6), name = g.getAttribute('data-n');\n"
	"\t\ttext.textContent = room < 3 ? '' : name.length > room ? name.slice(0, room - 1) + "
	"'\\u2026' : name;\n"
	"\t});\n"
	"}\n"
	"svg.querySelectorAll('g').forEach(function (g) { g.addEventListener('click', function () "
	"{ zoom(g); }); });\n"
	"]]></script>\n";

// Prints at most @limit characters as text or attribute of XML. XML does not allow U+FFFE and
// U+FFFF at all.
static void print_xml(const char *text, size_t limit)
{
	size_t shown = 0;

	for (; *text && shown < limit; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80)
			shown++;
		if (!strncmp(text, "\xef\xbf\xbe", 3) || !strncmp(text, "\xef\xbf\xbf", 3)) {
			putchar('?');
			text += 2;
		} else if (strchr("<>&\"'", *text)) {
			printf("&#%d;", *text);
		} else {
			putchar(*text);
		}
	}
	while (((unsigned char)*text & 0xc0) == 0x80) // the rest of the last character
		putchar(*text++);
}

static size_t flame_length(const char *text)
{
	size_t ret = 0;

	for (; *text; text++)
		ret += ((unsigned char)*text & 0xc0) != 0x80;
	return ret;
}

static const char *flame_colour(const struct profile_frame *frame)
{
	switch (frame->kind) {
	case FRAME_INTERP:
		return "#8ab6d6";
	case FRAME_THREAD:
		return "#b4cde0";
	case FRAME_STATE:
		return !strcmp(frame->name, "[GIL]")                 ? "#e07b5a"
		       : !strcmp(frame->name, "[GIL, asleep]")       ? "#b5654a"
		       : !strcmp(frame->name, "[waits for the GIL]") ? "#d7a9d8"
		       : !strcmp(frame->name, "[no GIL]")            ? "#e8c25a"
								     : "#c9c9c9";
	case FRAME_PYTHON:
		return "#8fc98a";
	default:
		return "#e9a56b";
	}
}

static void print_box(const struct flame *flame, const char *name, const char *file, int line,
		      const char *fill, size_t samples, double x, double width, size_t row)
{
	double y = HEAD + (double)(flame->depth - row) * ROW;
	double room = (width - 6) / CHARACTER;
	size_t all = flame->total[0] ?: 1;

	printf("<g data-x=\"%.2f\" data-w=\"%.2f\" data-n=\"", x, width);
	print_xml(name, SIZE_MAX);
	fputs("\"><title>", stdout);
	print_xml(name, SIZE_MAX);
	if (*file) {
		fputs(" (", stdout);
		print_xml(file, SIZE_MAX);
		printf(line ? ":%d)" : ")", line);
	}
	printf(": %zu samples, %.2f%%</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" "
	       "height=\"%d\" fill=\"%s\"/>",
	       samples, 100.0 * (double)samples / (double)all, x, y,
	       width > 1 ? width - 0.5 : width, ROW - 1, fill);
	printf("<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
	if (room >= 3) {
		print_xml(name, flame_length(name) > (size_t)room ? (size_t)room - 1 : SIZE_MAX);
		if (flame_length(name) > (size_t)room)
			fputs("\xe2\x80\xa6", stdout);
	}
	fputs("</text></g>\n", stdout);
}

// A box that is still to be printed.
struct box {
	size_t node, row;
	double x;
};

static void print_boxes(const struct flame *flame)
{
	double scale = WIDTH / (double)(flame->total[0] ?: 1);
	struct box *boxes = grow(NULL, 0, sizeof(*boxes));
	size_t count = 0;

	boxes[count++] = (struct box){0};
	while (count) {
		struct box box = boxes[--count];
		const struct profile_frame *frame =
			&flame->profile->frames[flame->profile->nodes[box.node].frame];
		double width = (double)flame->total[box.node] * scale, x = box.x;

		if (!box.node)
			print_box(flame, "all", "", 0, "#dddddd", flame->total[0], 0, WIDTH, 0);
		else
			print_box(flame, frame->name, frame->file, frame->line, flame_colour(frame),
				  flame->total[box.node], x, width, box.row);
		for (size_t child = flame->first[box.node]; child; child = flame->next[child]) {
			if ((double)flame->total[child] * scale >= LEAST) {
				boxes = grow(boxes, count, sizeof(*boxes));
				boxes[count++] = (struct box){child, box.row + 1, x};
			}
			x += (double)flame->total[child] * scale;
		}
	}
	free(boxes);
}

// How deep the boxes go that are wide enough to be printed.
static size_t find_depth(const struct flame *flame)
{
	double scale = WIDTH / (double)(flame->total[0] ?: 1);
	size_t count = flame->profile->node_count, *depth = zalloc(count, sizeof(*depth)), ret = 0;

	for (size_t n = 1; n < count; n++) { // a parent comes before its children
		depth[n] = depth[flame->profile->nodes[n].parent] + 1;
		if ((double)flame->total[n] * scale >= LEAST && depth[n] > ret)
			ret = depth[n];
	}
	free(depth);
	return ret;
}

// Orders callees by name, as other flame graphs do, so that two pictures of one program look alike.
static void link_children(struct flame *flame, size_t node)
{
	const struct profile *profile = flame->profile;
	size_t *slot = &flame->first[profile->nodes[node].parent];

	while (*slot && strcmp(profile->frames[profile->nodes[*slot].frame].name,
			       profile->frames[profile->nodes[node].frame].name) <= 0)
		slot = &flame->next[*slot];
	flame->next[node] = *slot;
	*slot = node;
}

void print_flame_graph(const struct profile *profile)
{
	size_t count = profile->node_count;
	struct flame flame = {.profile = profile,
			      .total = zalloc(count, sizeof(*flame.total)),
			      .first = zalloc(count, sizeof(*flame.first)),
			      .next = zalloc(count, sizeof(*flame.next))};
	double height;

	for (size_t n = count; n--;) {
		flame.total[n] += profile->nodes[n].count;
		if (n)
			flame.total[profile->nodes[n].parent] += flame.total[n];
	}
	for (size_t n = 1; n < count; n++)
		link_children(&flame, n);
	flame.depth = find_depth(&flame);
	height = HEAD + (double)(flame.depth + 1) * ROW + 10;
	printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	       "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
	       "height=\"%.0f\">\n"
	       "<style>text { font: 11px monospace; pointer-events: none; } g { cursor: pointer; } "
	       "g:hover rect { stroke: #000; }"
	       "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<text x=\"3\" "
	       "y=\"24\" font-size=\"14\">",
	       WIDTH, height, WIDTH, height);
	print_xml(profile->target, SIZE_MAX);
	printf(": %zu samples, one each %g ms</text>\n", flame.total[0], profile->period * 1000);
	print_boxes(&flame);
	fputs(script, stdout);
	fputs("</svg>\n", stdout);
	free(flame.total);
	free(flame.first);
	free(flame.next);
}
