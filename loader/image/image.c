// SPDX-License-Identifier: MIT
// What is asked about an image: an ELF shared object that was read and validated.
//
// Nothing of a file is trusted: once gorgon_image_open() (image_cache.c) has returned an image,
// every table that later steps walk is known to lie inside the file, every index inside its
// table and every relocation inside a writable segment, so that map.c, symbol.c and reloc.c
// need no checks of their own and the cost is paid once per file instead of once per copy.
// image_headers.c reads the headers, image_dynamic.c what PT_DYNAMIC leads to.

#include "image.h"

const struct gorgon_segment *gorgon_image_segment(const struct gorgon_image *image, uint64_t vaddr,
						  uint64_t size)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gorgon_segment *seg = &image->segments[i];

		if (vaddr >= seg->vaddr && vaddr - seg->vaddr <= seg->mem_size &&
		    size <= seg->mem_size - (vaddr - seg->vaddr))
			return seg;
	}
	return NULL;
}

const void *gorgon_image_at(const struct gorgon_image *image, uint64_t vaddr, uint64_t size)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const struct gorgon_segment *seg = &image->segments[i];

		if (vaddr >= seg->vaddr && vaddr - seg->vaddr <= seg->file_size &&
		    size <= seg->file_size - (vaddr - seg->vaddr))
			return image->file + seg->off + (vaddr - seg->vaddr);
	}
	return NULL;
}

bool gorgon_image_is_file(const struct gorgon_image *image, const struct stat *st)
{
	return image->st.st_dev == st->st_dev && image->st.st_ino == st->st_ino;
}
