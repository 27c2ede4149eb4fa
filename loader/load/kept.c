// SPDX-License-Identifier: MIT
// Pages of the data of a copy that was unloaded, for the next one.
//
// Most of what a further copy of a large library costs is the kernel's: it finds, fills and charges
// hundreds of pages which relocation writes to. A host that replaces interpreters gives as many
// back just before. So one copy's pages of each library stay, where nobody looks for them, and are
// moved into the next copy, which reads the file's bytes into them: nothing of the old one remains.
//
// That is done for segments that are a mapping of the file (map.c), which have most of these pages.
// What the mapping's permissions were is forgotten. If a program has cut it into several in another
// way, or mapped something else in its place, it goes.

#define _GNU_SOURCE
#include "kept.h"
#include "base/checker.h"
#include "image/image.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

// Sanitizers know what is at an address, and would not see it move.
extern void __tsan_init(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));

static void *data_of(const struct gorgon_object *object, const struct gorgon_segment *segment)
{
	return (void *)(uintptr_t)((object->bias + segment->vaddr) & -(uint64_t)getpagesize());
}

// The kernel names each mapping of a file by its bounds.
static bool is_one_mapping(const void *data, uint64_t size)
{
	char path[80], name[1];

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)(uintptr_t)data,
		 (unsigned long)((uintptr_t)data + size));
	return readlink(path, name, sizeof(name)) > 0;
}

static void give(struct gorgon_object *object, struct gorgon_segment *segment)
{
	uint64_t size = gorgon_image_data_size(segment);
	void *data = data_of(object, segment), *kept;

	if (segment->kept || mprotect(data, size, segment->prot) || !is_one_mapping(data, size))
		return;
	kept = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept == MAP_FAILED)
		return;
	if (mremap(data, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, kept) != kept ||
	    !gorgon_image_keep_data(object->image, segment, (uintptr_t)kept))
		munmap(kept, size);
}

void gorgon_kept_give(struct gorgon_object *object)
{
	if (gorgon_checker || __tsan_init || __asan_init)
		return;
	for (size_t i = 0; i < object->image->segment_count; i++)
		if (object->image->segments[i].shared)
			give(object, &object->image->segments[i]);
}

bool gorgon_kept_take(struct gorgon_object *object, struct gorgon_segment *segment)
{
	void *data = data_of(object, segment), *kept = (void *)(uintptr_t)segment->kept;
	uint64_t size = gorgon_image_data_size(segment);

	if (!kept)
		return false;
	segment->kept = 0;
	if (mremap(kept, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, data) == data)
		return true;
	munmap(kept, size);
	return false;
}
