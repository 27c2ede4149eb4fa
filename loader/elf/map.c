// SPDX-License-Identifier: MIT
// From an image to memory.
//
//	reservation (PROT_NONE)
//	|-- R ---|-- RX -----|-- R ---|..hole..|-- RW file --|-- RW zero --|
//	^ start = bias + vaddr_start                                   end ^
//
// Segments are private mappings of the file: what nobody writes (text, constants) is
// the page cache's and shared by all copies, what relocation writes is copied page by
// page. No page is ever writable and executable. Holes stay reserved without access,
// so that no other mapping can lie inside an object's range.

#define _GNU_SOURCE
#include "error.h"
#include "object.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Leak checkers look for pointers in the writable data of libraries that the system
// loaded. When one is in the process it is told of ours.
extern void __lsan_register_root_region(const void *start, size_t size) __attribute__((weak));
extern void __lsan_unregister_root_region(const void *start, size_t size) __attribute__((weak));

static uint64_t page_down(uint64_t addr)
{
	return addr & -(uint64_t)getpagesize();
}

static uint64_t page_up(uint64_t addr)
{
	return page_down(addr + (uint64_t)getpagesize() - 1);
}

static void *pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

// Out of mappings is the first limit that many copies meet: name its remedy.
static struct gorgon_error *map_error(const struct gorgon_object *object, int errnum)
{
	if (errnum == ENOMEM)
		return gorgon_error_create_os(
			errnum, "%s: cannot map (no memory, or more mappings than sysctl "
				"vm.max_map_count allows)",
			object->path);
	return gorgon_error_create_os(errnum, "%s: cannot map", object->path);
}

// Reserve the span; with an alignment above the page size reserve more and trim.
static struct gorgon_error *reserve(struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	uint64_t size = image->vaddr_end - image->vaddr_start;
	uint64_t slack = image->align > (uint64_t)getpagesize() ? image->align : 0;
	uint64_t base, start;
	void *p = mmap(NULL, size + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return map_error(object, errno); // nothing to undo: start is 0
	base = (uintptr_t)p;
	// The bias must be a multiple of the alignment.
	start = base;
	if (slack) {
		uint64_t bias = (base - image->vaddr_start + slack - 1) & -slack;

		start = bias + image->vaddr_start;
		if (start > base)
			munmap(p, start - base);
		if (base + slack > start)
			munmap(pointer(start + size), base + slack - start);
	}
	object->start = start;
	object->end = start + size;
	object->bias = start - image->vaddr_start;
	return NULL;
}

static struct gorgon_error *map_segment(struct gorgon_object *object,
					const struct gorgon_segment *seg)
{
	uint64_t start = page_down(object->bias + seg->vaddr);
	uint64_t file_end = object->bias + seg->vaddr + seg->file_size;
	uint64_t mem_end = page_up(object->bias + seg->vaddr + seg->mem_size);
	uint64_t mapped_end = seg->file_size ? page_up(file_end) : start;

	if (seg->file_size &&
	    mmap(pointer(start), mapped_end - start, seg->prot, MAP_PRIVATE | MAP_FIXED,
		 object->image->fd, (off_t)page_down(seg->off)) == MAP_FAILED)
		return map_error(object, errno);
	if (seg->mem_size == seg->file_size)
		return NULL;
	// The rest of the last file page, then whole pages of zeros. Only writable
	// segments come here (image.c).
	if (seg->file_size)
		memset(pointer(file_end), 0, mapped_end - file_end);
	if (mem_end > mapped_end &&
	    mmap(pointer(mapped_end), mem_end - mapped_end, seg->prot,
		 MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return map_error(object, errno);
	return NULL;
}

static void tell_leak_checker(const struct gorgon_object *object,
			      void (*tell)(const void *start, size_t size))
{
	for (size_t i = 0; tell && i < object->image->segment_count; i++) {
		const struct gorgon_segment *seg = &object->image->segments[i];

		if (seg->prot & PROT_WRITE)
			tell(pointer(object->bias + seg->vaddr), seg->mem_size);
	}
}

struct gorgon_error *gorgon_map(struct gorgon_object *object)
{
	struct gorgon_error *err = reserve(object);

	for (size_t i = 0; !err && i < object->image->segment_count; i++)
		err = map_segment(object, &object->image->segments[i]);
	if (err && object->start) {
		munmap(pointer(object->start), object->end - object->start);
		object->start = object->end = 0;
	} else if (!err) {
		tell_leak_checker(object, __lsan_register_root_region);
	}
	return err;
}

// Whole pages only, as the system's linker does: the last, partial page keeps data
// that is written later.
struct gorgon_error *gorgon_map_protect(struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	uint64_t start = page_down(object->bias + image->relro_vaddr);
	uint64_t end = page_down(object->bias + image->relro_vaddr + image->relro_size);

	if (end <= start || !mprotect(pointer(start), end - start, PROT_READ))
		return NULL;
	return map_error(object, errno);
}

void gorgon_unmap(struct gorgon_object *object)
{
	if (!object->start)
		return;
	tell_leak_checker(object, __lsan_unregister_root_region);
	munmap(pointer(object->start), object->end - object->start);
	object->start = object->end = 0;
}
