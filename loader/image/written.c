// SPDX-License-Identifier: MIT
// Which pages of a file's data each copy writes to as soon as it is loaded.
//
// Relocation fills in most pages of most libraries' data, and what is written must be a copy's own.
// Pages without relocations (tables of numbers, characters, code points) can stay the page cache's,
// which all copies and processes share, until the program writes to them. That costs a mapping
// more, of which a process has a limited number. So the loader does it only for segments in which
// it spares some memory, and for all segments under a memory checker, because valgrind has to see
// data mapped from the file.

#include "written.h"

#include "image/arch.h"
#include "relr.h"
#include "base/checker.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPARED_MIN 8 // pages of a segment

static size_t page_of(uint64_t off)
{
	return (size_t)(off / (uint64_t)getpagesize());
}

static void mark_byte(struct gorgon_image *image, const struct gorgon_segment *seg, uint64_t vaddr)
{
	if (vaddr - seg->vaddr < seg->file_size) // otherwise one of the zeros behind
		image->written[page_of(seg->off + vaddr - seg->vaddr)] = true;
}

// A word within a segment, on one page or on two.
static void written_mark(struct gorgon_image *image, const struct gorgon_segment *seg,
			 uint64_t vaddr, uint64_t size)
{
	mark_byte(image, seg, vaddr);
	mark_byte(image, seg, vaddr + size - 1);
}

static void mark_rela(struct gorgon_image *image, const Elf64_Rela *rela, uint64_t count)
{
	const struct gorgon_segment *seg = NULL;

	for (uint64_t i = 0; i < count; i++) {
		unsigned width = gorgon_arch_reloc_width(ELF64_R_TYPE(rela[i].r_info));

		if (!width)
			continue;
		if (!seg || rela[i].r_offset < seg->vaddr ||
		    rela[i].r_offset - seg->vaddr >= seg->mem_size)
			seg = gorgon_image_segment(image, rela[i].r_offset, width);
		written_mark(image, seg, rela[i].r_offset, width);
	}
}

static void mark_relr(struct gorgon_image *image)
{
	struct gorgon_relr_walk walk = {0};
	struct gorgon_relr_step step;

	for (uint64_t i = 0; i < image->relr_count; i++) {
		gorgon_relr_step(&walk, image->relr[i], &step);
		for (uint64_t words = step.words; words; words &= words - 1) {
			uint64_t vaddr = step.vaddr + 8 * (uint64_t)__builtin_ctzll(words);

			written_mark(image, gorgon_image_segment(image, vaddr, 8), vaddr, 8);
		}
	}
}

// Zeros behind the file's bytes begin within their last page.
static void mark_tail(struct gorgon_image *image, const struct gorgon_segment *seg)
{
	if (seg->prot & PROT_WRITE && seg->file_size && seg->mem_size > seg->file_size)
		written_mark(image, seg, seg->vaddr + seg->file_size - 1, 1);
}

static bool is_worth_sharing(const struct gorgon_image *image, const struct gorgon_segment *seg)
{
	size_t spared = 0;

	if (!(seg->prot & PROT_WRITE) || !seg->file_size)
		return false;
	if (gorgon_checker)
		return true;
	for (size_t page = page_of(seg->off); page <= page_of(seg->off + seg->file_size - 1);
	     page++)
		spared += !image->written[page];
	return spared >= SPARED_MIN;
}

bool gorgon_image_find_written(struct gorgon_image *image)
{
	image->written = calloc(page_of(image->file_size) + 1, sizeof(*image->written));
	if (!image->written)
		return false;
	mark_rela(image, image->rela, image->rela_count);
	mark_rela(image, image->jmprel, image->jmprel_count);
	mark_relr(image);
	for (size_t i = 0; i < image->segment_count; i++) {
		mark_tail(image, &image->segments[i]);
		image->segments[i].shared = is_worth_sharing(image, &image->segments[i]);
	}
	return true;
}
