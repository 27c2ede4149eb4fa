// SPDX-License-Identifier: MIT
// Which words of an interpreter are others in another one that has done the same.
//
// Three interpreters run the same program, with their memory at the same offsets of their zones
// (process/memory/zone_heap.c). A word of the first one means a place (template/spots.c) only if
// the second one and the third one have what that meaning says; a word that is equal in all three
// is data. So nothing is guessed from what a value looks like: numbers that look like addresses are
// equal, and what is neither equal nor explained is counted.
//
// Addresses in code objects (inline caches) lie at even addresses, not at multiples of 8.

#define _GNU_SOURCE
#include "map.h"
#include "base/error.h"
#include "file/grow.h"
#include "image/image.h"
#include "image/zones.h"
#include "ns/ns.h"
#include "process/memory/zone_heap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE      UINT64_C(4096)
#define PRESENT   (UINT64_C(3) << 62) // in memory or swapped: of /proc/PID/pagemap
#define FILE_PAGE (UINT64_C(1) << 61)

// --- lists ----------------------------------------------------------------------------------

static bool add_span(struct gorgon_map *map, uint64_t start, uint64_t end, int prot,
		     bool is_library)
{
	struct gorgon_span *last = map->span_count ? &map->spans[map->span_count - 1] : NULL,
			   *added;

	if (start >= end)
		return true;
	// The kernel makes one mapping of two that lie side by side, or does not.
	if (last && prot && last->prot == prot && last->offset + last->size == start) {
		last->size += end - start;
		return true;
	}
	added = jitreg_add(&map->spans, &map->span_count, sizeof(*added));
	if (added)
		*added = (struct gorgon_span){start, end - start, prot, is_library};
	return added;
}

static bool add_fix(struct gorgon_map *map, uint64_t offset, enum gorgon_form form, int place)
{
	uint32_t *pointer;
	struct gorgon_fix *fix;

	if (form == GORGON_FORM_PLAIN && !place && !(offset % 8)) {
		pointer = jitreg_add(&map->pointers, &map->pointer_count, sizeof(*pointer));
		if (pointer)
			*pointer = (uint32_t)(offset / 8);
		return pointer;
	}
	fix = jitreg_add(&map->fixes, &map->fix_count, sizeof(*fix));
	if (fix)
		*fix = (struct gorgon_fix){(uint32_t)(offset / 2), (uint16_t)place, (uint16_t)form};
	return fix;
}

bool gorgon_map_add_pointer(struct gorgon_map *map, uint64_t offset)
{
	return add_fix(map, offset, GORGON_FORM_PLAIN, 0);
}

bool gorgon_map_explain(struct gorgon_map *map, uint64_t start, uint64_t size,
			bool (*is_pointer)(uint64_t addr, const void *first), uint64_t zone,
			const void *first)
{
	size_t kept = 0;

	for (size_t i = 0; i < map->unknown_count; i++) {
		uint64_t offset = map->unknown[i];

		if (offset - start >= size)
			map->unknown[kept++] = offset;
		else if (is_pointer && is_pointer(zone + offset, first) &&
			 *(const uint64_t *)(uintptr_t)(zone + offset) - zone < GORGON_ZONE_SIZE &&
			 !gorgon_map_add_pointer(map, offset))
			return false;
	}
	map->unknown_count = kept;
	return true;
}

static bool add_unknown(struct gorgon_map *map, uint64_t offset)
{
	uint64_t *added = jitreg_add(&map->unknown, &map->unknown_count, sizeof(*added));

	if (added)
		*added = offset;
	return added;
}

static bool add_piece(struct gorgon_map *map, uint64_t offset, uint64_t size)
{
	struct gorgon_piece *last = map->piece_count ? &map->pieces[map->piece_count - 1] : NULL,
			    *added;

	if (last && last->offset + last->size == offset) {
		last->size += size;
		return true;
	}
	if ((added = jitreg_add(&map->pieces, &map->piece_count, sizeof(*added))))
		*added = (struct gorgon_piece){offset, size};
	return added;
}

// --- what there is to compare -----------------------------------------------------------------

// What each copy of a library writes to. What becomes read-only after its relocation (RELRO) is
// made by its own relocation.
static bool add_segments(struct gorgon_map *map, const struct gorgon_object *object, uint64_t zone)
{
	const struct gorgon_image *image = object->image;
	uint64_t relro = object->bias + image->relro_vaddr,
		 relro_end = (relro + image->relro_size) & -PAGE;

	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gorgon_segment *segment = &image->segments[i];
		uint64_t start = object->bias + segment->vaddr, end = start + segment->mem_size;

		if (!(segment->prot & PROT_WRITE))
			continue;
		start &= ~UINT64_C(7);
		end = (end + 7) & ~UINT64_C(7);
		if (image->relro_size && relro <= start + 7 && relro_end > start)
			start = relro_end;
		if (!add_span(map, start - zone, end - zone, 0, true))
			return false;
	}
	return true;
}

// The zone's mappings from GORGON_ZONE_MAPS on, with their permissions.
static bool add_mappings(struct gorgon_map *map, uint64_t zone)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char *line = NULL, prot[5];
	size_t room = 0;
	bool done = file;

	while (done && getline(&line, &room, file) > 0)
		if (sscanf(line, "%lx-%lx %4s", &start, &end, prot) == 3 &&
		    start >= zone + GORGON_ZONE_MAPS && start < zone + GORGON_ZONE_END &&
		    *prot == 'r')
			done = add_span(map, start - zone, end - zone,
					PROT_READ | (prot[1] == 'w' ? PROT_WRITE : 0) |
						(prot[2] == 'x' ? PROT_EXEC : 0),
					false);
	free(line);
	if (file)
		fclose(file);
	return done;
}

static int compare_spans(const void *a, const void *b)
{
	const struct gorgon_span *first = a, *second = b;

	return first->offset < second->offset ? -1 : first->offset > second->offset;
}

static bool find_spans(struct gorgon_map *map, const struct gorgon_ns *ns)
{
	bool done = true;

	for (const struct gorgon_object *object = ns->first; object && done; object = object->next)
		done = add_segments(map, object, ns->zone);
	done = done &&
	       add_span(map, GORGON_ZONE_BLOCKS, gorgon_zone_heap_end(ns->usage.zone_heap), 0,
			false) &&
	       add_mappings(map, ns->zone);
	if (done)
		qsort(map->spans, map->span_count, sizeof(*map->spans), compare_spans);
	return done;
}

// False: no memory.
static bool compare_layouts(const struct gorgon_runs *runs, const struct gorgon_map *map,
			    bool *same)
{
	*same = true;
	for (int i = 1; i < 3; i++) {
		struct gorgon_map other = {0};
		bool done = find_spans(&other, runs->of[i]->ns);

		*same &= done && other.span_count == map->span_count &&
			!memcmp(other.spans, map->spans, map->span_count * sizeof(*map->spans));
		gorgon_map_free(&other);
		if (!done)
			return false;
	}
	return true;
}

// --- words ------------------------------------------------------------------------------------

static uint64_t word_at(const struct gorgon_runs *runs, int run, uint64_t offset)
{
	uint64_t ret;

	memcpy(&ret, (const void *)(uintptr_t)(runs->of[run]->ns->zone + offset), sizeof(ret));
	return ret;
}

bool gorgon_map_is_equal(const struct gorgon_runs *runs, uint64_t offset)
{
	uint64_t word = word_at(runs, 0, offset);

	return word == word_at(runs, 1, offset) && word == word_at(runs, 2, offset);
}

// Whether the word means that place, in the other interpreters, too.
static bool means(const struct gorgon_runs *runs, uint64_t offset, enum gorgon_form form, int place)
{
	uint64_t word = word_at(runs, 0, offset);

	for (int i = 1; i < 3; i++)
		if (gorgon_spots_word(form, word, &runs->places[0].list[place],
				       &runs->places[i].list[place]) != word_at(runs, i, offset))
			return false;
	return true;
}

static bool explain(const struct gorgon_runs *runs, struct gorgon_map *map, uint64_t offset,
		    bool *explained)
{
	uint64_t word = word_at(runs, 0, offset);

	*explained = true;
	for (enum gorgon_form form = 0; form < GORGON_FORMS; form++) {
		int place = gorgon_spots_find(&runs->places[0], form, word);

		if (place >= 0 && means(runs, offset, form, place))
			return add_fix(map, offset, form, place);
	}
	*explained = false;
	return true;
}

static bool is_fixed(const struct gorgon_map *map, uint64_t offset)
{
	for (size_t i = map->fix_count; i-- > 0 && map->fixes[i].half_offset + 16 > offset / 2;)
		if (map->fixes[i].half_offset == offset / 2)
			return true;
	return false;
}

// Addresses that begin in the word before, or in this one, at an even address. The word is
// explained if they make all that differs.
static bool explain_unaligned(const struct gorgon_runs *runs, struct gorgon_map *map,
			      uint64_t offset, bool *explained)
{
	unsigned char words[3][24]; // the word before, this one, the next one
	bool found[7] = {false};

	*explained = false;
	memcpy(words[0], (char *)(uintptr_t)(runs->of[0]->ns->zone + offset - 8), 24);
	memcpy(words[1], words[0], 24);
	memcpy(words[2], words[0], 24);
	for (int i = 0; i < 7; i++) {
		uint64_t at = offset - 6 + 2 * (uint64_t)i, word = word_at(runs, 0, at);

		if (at == offset || word - runs->places[0].list[0].start >= GORGON_ZONE_SIZE ||
		    !means(runs, at, GORGON_FORM_PLAIN, 0))
			continue;
		found[i] = true;
		for (int run = 1; run < 3; run++) {
			uint64_t moved = word_at(runs, run, at);

			memcpy(words[run] + 2 + 2 * i, &moved, sizeof(moved));
		}
	}
	for (int run = 1; run < 3; run++) {
		uint64_t word = word_at(runs, run, offset);

		if (memcmp(words[run] + 8, &word, sizeof(word)))
			return true;
	}
	*explained = true;
	for (int i = 0; i < 7; i++)
		if (found[i] && !is_fixed(map, offset - 6 + 2 * (uint64_t)i) &&
		    !add_fix(map, offset - 6 + 2 * (uint64_t)i, GORGON_FORM_PLAIN, 0))
			return false;
	return true;
}

static bool compare_word(const struct gorgon_runs *runs, struct gorgon_map *map, uint64_t offset,
			 const struct gorgon_span *span)
{
	bool explained;

	if (gorgon_map_is_equal(runs, offset))
		return true;
	if (!explain(runs, map, offset, &explained))
		return false;
	if (!explained && offset >= span->offset + 8 && offset + 16 <= span->offset + span->size &&
	    !explain_unaligned(runs, map, offset, &explained))
		return false;
	return explained || add_unknown(map, offset);
}

// --- pages ------------------------------------------------------------------------------------

// What /proc/self/pagemap says of a page; without it each page may have something.
static uint64_t page_state(int pagemap, uint64_t addr)
{
	uint64_t ret;

	return pagemap >= 0 && pread(pagemap, &ret, sizeof(ret),
				     (off_t)(addr / PAGE * sizeof(ret))) == sizeof(ret)
		       ? ret
		       : PRESENT;
}

static bool is_zero(const struct gorgon_runs *runs, uint64_t offset, uint64_t size)
{
	const char *p = (const char *)(uintptr_t)(runs->of[0]->ns->zone + offset);

	return !*p && !memcmp(p, p + 1, size - 1);
}

// Part of a page.
static bool compare_piece(const struct gorgon_runs *runs, struct gorgon_map *map, int pagemap,
			  const struct gorgon_span *span, uint64_t offset, uint64_t size)
{
	uint64_t states[3];
	bool there = false;

	for (int i = 0; i < 3; i++) {
		states[i] = page_state(pagemap, runs->of[i]->ns->zone + offset);
		there |= (states[i] & PRESENT) && !(states[i] & FILE_PAGE && span->is_library);
	}
	if (!there)
		return true;
	for (uint64_t at = offset; at < offset + size; at += 8)
		if (!compare_word(runs, map, at, span))
			return false;
	return (!span->is_library && is_zero(runs, offset, size)) || add_piece(map, offset, size);
}

static bool compare_span(const struct gorgon_runs *runs, struct gorgon_map *map, int pagemap,
			 const struct gorgon_span *span)
{
	for (uint64_t at = span->offset, end = span->offset + span->size, size; at < end;
	     at += size) {
		size = PAGE - at % PAGE;
		if (size > end - at)
			size = end - at;
		if (!compare_piece(runs, map, pagemap, span, at, size))
			return false;
	}
	return true;
}

struct gorgon_error *gorgon_map_create(const struct gorgon_runs *runs, struct gorgon_map *ret,
				       bool *same)
{
	bool done;
	int pagemap;

	*ret = (struct gorgon_map){0};
	done = find_spans(ret, runs->of[0]->ns) && compare_layouts(runs, ret, same);
	if (done && !*same)
		return NULL;
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; done && i < ret->span_count; i++)
		done = compare_span(runs, ret, pagemap, &ret->spans[i]);
	if (pagemap >= 0)
		close(pagemap);
	if (done)
		return NULL;
	gorgon_map_free(ret);
	return &gorgon_error_nomem;
}

void gorgon_map_free(struct gorgon_map *map)
{
	free(map->spans);
	free(map->pieces);
	free(map->pointers);
	free(map->fixes);
	free(map->unknown);
	*map = (struct gorgon_map){0};
}
