// SPDX-License-Identifier: MIT
/*
 * Fewer unwind entries: a row of neighbouring functions without a name gets one entry.
 *
 * LLDB makes up a symbol for each entry of an .eh_frame at which no symbol begins. Two in
 * three functions of a pack have no name, since libraries are stripped of the names of static
 * functions, and these symbols are most of what a pack costs LLDB. So the rules of neighbours
 * are strung together:
 *
 *     remember                  the state at the start of a function
 *     rules of the first function
 *     advance to the second function, restore, remember
 *     rules of the second function ...
 *
 * Each address keeps its rules. LLDB counts offsets from the start of a symbol, and takes the
 * entry around that start; so no symbol may lie inside of a row.
 *
 * The input is what frames.c has written with JITREG_FRAMES_EH.
 */
#include "frames.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Padding between functions. */
#define GAP_MAX 64
/* DW_CFA_advance_loc has the distance in its lower six bits. */
#define ADVANCE_MAX 0x3f
/* The largest unit that takes one byte of LEB128. */
#define UNIT_MAX 0x7f
/* How many functions a row has at most; "disassemble --frame" shows all functions of the row. */
#define FUNCTIONS_MAX 32

struct cie {
	uint32_t from, to; // offsets in the input and in the output
	// of distances in rules: the shortest instruction; 0: no functions are merged
	uint8_t unit;
};

struct function {
	uint64_t start, size;
	const struct cie *cie;
	const uint8_t *rules;
	size_t rules_size;
};

struct merge {
	const uint8_t *from;
	size_t size;
	uint64_t vaddr;
	const struct jitreg_addresses *names;
	struct jitreg_bytes to;
	struct cie *cies;
	struct function *functions;
	size_t cie_count, function_count;
};

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t read_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static int merge_append(struct merge *m, const void *data, size_t size)
{
	return jitreg_bytes_append(&m->to, data, size) == UINT32_MAX ? -ENOMEM : 0;
}

static int append_u32(struct merge *m, uint32_t value)
{
	return merge_append(m, &value, sizeof(value));
}

static int append_u64(struct merge *m, uint64_t value)
{
	return merge_append(m, &value, sizeof(value));
}

/*
 * Two libraries may have equal CIEs, the common part of entries: then entries of the second refer
 * to the first library's CIE.
 */
static int add_cie(struct merge *m, uint32_t off, size_t size)
{
	const uint8_t *cie = m->from + off,
		      *code_align = cie + 9 + strlen((const char *)cie + 9) + 1;
	struct cie *new = &m->cies[m->cie_count++];

	*new = (struct cie){.from = off};
	if (*code_align <= UNIT_MAX && !strchr((const char *)cie + 9, 'S'))
		new->unit = *code_align;
	for (const struct cie *old = m->cies; old < new; old++) {
		if (read_u32(m->from + old->from) + 4 == size &&
		    !memcmp(m->from + old->from, cie, size)) {
			new->to = old->to;
			return 0;
		}
	}
	new->to = (uint32_t)m->to.size;
	return merge_append(m, cie, size);
}

static const struct cie *find_cie(const struct merge *m, uint32_t off)
{
	const struct cie *cie = &m->cies[m->cie_count - 1];

	while (cie->from != off)
		cie--;
	return cie;
}

static void add_function(struct merge *m, uint32_t off, size_t size)
{
	const uint8_t *fde = m->from + off;

	m->functions[m->function_count++] = (struct function){
		.start = m->vaddr + off + 8 + read_u64(fde + 8),
		.size = read_u64(fde + 16),
		.cie = find_cie(m, off + 4 - read_u32(fde + 4)),
		.rules = fde + 25, // behind the size of the augmentation data, which is 0
		.rules_size = size - 25,
	};
}

static int read_all(struct merge *m)
{
	size_t size, count = 0;

	for (size_t off = 0; off < m->size; off += read_u32(m->from + off) + 4)
		count++;
	m->cies = calloc(count + 1, sizeof(*m->cies));
	m->functions = calloc(count + 1, sizeof(*m->functions));
	if (!m->cies || !m->functions)
		return -ENOMEM;
	for (size_t off = 0; off < m->size; off += size) {
		size = read_u32(m->from + off) + 4;
		if (read_u32(m->from + off + 4))
			add_function(m, (uint32_t)off, size);
		else if (add_cie(m, (uint32_t)off, size))
			return -ENOMEM;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Whether a symbol is at one of the addresses. */
static bool has_name(const struct jitreg_addresses *names, uint64_t start, uint64_t end)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (names->items[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < names->count && names->items[low] < end;
}

/* How many functions from here on become one entry. */
static size_t count_row(const struct merge *m, const struct function *first,
			struct jitreg_rules *rules)
{
	size_t left = m->function_count - (size_t)(first - m->functions), n = 0;
	uint64_t end = first->start;

	while (n < left && n < FUNCTIONS_MAX) {
		const struct function *f = &first[n];

		if (n &&
		    (f->cie->to != first->cie->to || f->start < end || f->start - end > GAP_MAX))
			break;
		if (!f->cie->unit || (f->start - first->start) % f->cie->unit ||
		    has_name(m->names, first->start, f->start + f->size) ||
		    !jitreg_frames_read_rules(f->rules, f->rules_size, &rules[n]) ||
		    rules[n].odd || rules[n].advance > f->size / f->cie->unit)
			break;
		end = f->start + f->size;
		n++;
	}
	return n ? n : 1;
}

/*
 * Advance by @distance units, in as few bytes as possible: LLDB copies every byte of every pack
 * several times.
 */
static int append_advance(struct merge *m, uint64_t distance)
{
	size_t size = distance <= UINT8_MAX ? 1 : distance <= UINT16_MAX ? 2 : 4;
	uint8_t op = size == 1   ? DW_CFA_advance_loc1
		     : size == 2 ? DW_CFA_advance_loc2
				 : DW_CFA_advance_loc4;

	if (distance <= ADVANCE_MAX) {
		op = DW_CFA_advance_loc | (uint8_t)distance;
		return merge_append(m, &op, 1);
	}
	return merge_append(m, &op, 1) ?: merge_append(m, &distance, size); // little-endian
}

/*
 * End the rules @before, and advance to the next function, which is @distance units behind the
 * start of this one.
 */
static int append_next(struct merge *m, const struct jitreg_rules *before, uint64_t distance)
{
	static const uint8_t restore = DW_CFA_restore_state, remember = DW_CFA_remember_state;
	int r = append_advance(m, distance - before->advance);

	for (size_t i = 0; !r && i <= before->open; i++)
		r = merge_append(m, &restore, 1);
	return r ?: merge_append(m, &remember, 1);
}

static int append_row(struct merge *m, const struct function *first, size_t count,
		      const struct jitreg_rules *rules)
{
	static const uint8_t remember = DW_CFA_remember_state, zeros[4];
	const struct function *last = &first[count - 1];
	size_t off = m->to.size;
	uint32_t length;
	int r;

	if ((r = append_u32(m, 0)) || (r = append_u32(m, (uint32_t)(off + 4 - first->cie->to))) ||
	    (r = append_u64(m, first->start - (m->vaddr + off + 8))) ||
	    (r = append_u64(m, last->start + last->size - first->start)) ||
	    (r = merge_append(m, zeros, 1)))
		return r;
	if (count == 1)
		r = merge_append(m, first->rules, first->rules_size);
	else
		r = merge_append(m, &remember, 1);
	for (size_t i = 0; !r && count > 1 && i < count; i++) {
		if (i)
			r = append_next(m, &rules[i - 1],
					(first[i].start - first[i - 1].start) / first->cie->unit);
		if (!r)
			r = merge_append(m, first[i].rules, rules[i].size);
	}
	if (!r)
		r = merge_append(m, zeros, -m->to.size & 3); // nop
	length = (uint32_t)(m->to.size - off - 4);
	if (!r)
		memcpy(m->to.data + off, &length, sizeof(length));
	return r;
}

int jitreg_frames_merge(struct jitreg_bytes *frames, uint64_t vaddr,
			const struct jitreg_addresses *names)
{
	struct merge m = {
		.from = frames->data, .size = frames->size, .vaddr = vaddr, .names = names};
	struct jitreg_rules rules[FUNCTIONS_MAX];
	int r = read_all(&m);

	if (!r)
		qsort(m.functions, m.function_count, sizeof(*m.functions), by_start);
	for (size_t i = 0, count; !r && i < m.function_count; i += count) {
		count = count_row(&m, &m.functions[i], rules);
		r = append_row(&m, &m.functions[i], count, rules);
	}
	free(m.cies);
	free(m.functions);
	if (r) {
		jitreg_bytes_deinit(&m.to);
		return r;
	}
	jitreg_bytes_deinit(frames);
	*frames = m.to;
	return 0;
}

int jitreg_frames_for_each(const struct jitreg_bytes *frames, uint64_t vaddr, jitreg_function_fn fn,
			   void *ctx)
{
	int r = 0;

	for (size_t off = 0; !r && off < frames->size; off += read_u32(frames->data + off) + 4) {
		const uint8_t *entry = frames->data + off;

		if (read_u32(entry + 4))
			r = fn(ctx, vaddr + off + 8 + read_u64(entry + 8), read_u64(entry + 16));
	}
	return r;
}

void jitreg_frames_make_debug(struct jitreg_bytes *frames)
{
	for (size_t off = 0; off < frames->size; off += read_u32(frames->data + off) + 4) {
		uint32_t back = read_u32(frames->data + off + 4);
		// where the CIE is; UINT32_MAX: this is a CIE
		uint32_t id = back ? (uint32_t)off + 4 - back : UINT32_MAX;

		memcpy(frames->data + off + 4, &id, sizeof(id));
	}
}
