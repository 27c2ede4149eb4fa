// SPDX-License-Identifier: MIT
// From an image to memory.
//
//	reservation (PROT_NONE)
//	|-- R ---|-- RX -----|-- R ---|..hole..|-- R relro --|-- RW data, zeros --|
//	^ start = bias + vaddr_start                                          end ^
//
// Segments that nobody writes to (text, constants) are private mappings of the file, whose pages
// all copies share in the page cache. A segment of data is anonymous memory with a copy of the
// file's bytes, if relocation writes to most of its pages anyway: data and zeros are then one
// mapping (the number of mappings of a process is limited, mappings.c). Data with many pages that
// relocation does not write to are a private mapping of the file, too, and the zeros behind them
// are memory of their own. A page of such a mapping becomes the copy's when it is written to, and a
// page with relocations does so at once. Cores contain such a mapping as a whole. A file that is
// cut short meanwhile makes an error and no SIGBUS. No page is ever writable and executable at
// once. Holes stay reserved without access, so that no other mapping can lie inside an object's
// range.

#define _GNU_SOURCE
#include "base/error.h"
#include "kept.h"
#include "map.h"
#include "base/mappings.h"
#include "ns/ns.h"
#include "ns/object.h"
#include "image/zones.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE // since glibc 2.35
#define MADV_POPULATE_WRITE 23
#endif

// Leak checkers look for pointers in the writable data of libraries that the system's linker has
// loaded. If the process has a leak checker, it is told of our objects' data.
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

static void *map_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

// The number of mappings is the first limit that many copies reach, so the error says how to raise
// it.
static struct gorgon_error *map_error(const struct gorgon_object *object, int errnum)
{
	unsigned long limit;

	if (errnum == ENOMEM && gorgon_mappings_are_used_up(&limit))
		return gorgon_error_create_os(
			errnum,
			"%s: cannot map: all of the %lu mappings that a process may have are in "
			"use; raise sysctl vm.max_map_count",
			object->path, limit);
	return gorgon_error_create_os(errnum, "%s: cannot map", object->path);
}

static void reserved(struct gorgon_object *object, uint64_t start, uint64_t size)
{
	object->start = start;
	object->end = start + size;
	object->bias = start - object->image->vaddr_start;
}

// Reserve the addresses that this file has in the zones of other namespaces, too. False: they are
// not free.
static bool reserve_place(struct gorgon_object *object)
{
	uint64_t size = object->image->vaddr_end - object->image->vaddr_start;
	uint64_t start = gorgon_zone_find(object->ns, object->image);
	void *p;

	if (!start)
		return false;
	p = mmap(map_pointer(start), size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	if (p != map_pointer(start)) { // a kernel without the flag takes the address for a wish
		munmap(p, size);
		return false;
	}
	reserved(object, start, size);
	return true;
}

// Reserve addresses anywhere. For an alignment above the page size more are reserved, and trimmed.
static struct gorgon_error *reserve_anywhere(struct gorgon_object *object)
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
			munmap(map_pointer(start + size), base + slack - start);
	}
	reserved(object, start, size);
	return NULL;
}

// Have the kernel make the pages that are read into all at once, since each would cost a fault. A
// kernel before 5.14 does not know the advice. If there is no memory, reading into them will say
// so.
static void map_populate(const struct gorgon_object *object, const struct gorgon_segment *seg)
{
	uint64_t start = page_down(object->bias + seg->vaddr),
		 end = page_up(object->bias + seg->vaddr + seg->file_size);

	if (seg->file_size > (uint64_t)getpagesize())
		madvise(map_pointer(start), end - start, MADV_POPULATE_WRITE);
}

static struct gorgon_error *cut_short(const struct gorgon_object *object, uint64_t off)
{
	return gorgon_error_create(
		GORGON_ERROR_FORMAT,
		"%s: ends at 0x%lx within a segment; it was cut short while in use", object->path,
		off);
}

static struct gorgon_error *read_pages(const struct gorgon_object *object, char *to, uint64_t off,
				       uint64_t end, int fd)
{
	while (off < end) {
		ssize_t n = pread(fd, to, end - off, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return gorgon_error_create_os(errno, "%s: cannot read", object->path);
		if (!n)
			return cut_short(object, off);
		off += (uint64_t)n;
		to += n;
	}
	return NULL;
}

// The pages of a segment that relocation writes to become the copy's, one run of pages at a time.
static struct gorgon_error *populate_written(const struct gorgon_object *object,
					     const struct gorgon_segment *seg)
{
	uint64_t page = (uint64_t)getpagesize(), end = seg->off + seg->file_size;
	const bool *written = object->image->written;

	for (uint64_t off = page_down(seg->off), run; off < end; off = run + page) {
		for (run = off; run < end && written[run / page]; run += page)
			;
		// EFAULT: there is no such page in the file.
		if (run > off &&
		    madvise(map_pointer(object->bias + seg->vaddr + off - seg->off), run - off,
			    MADV_POPULATE_WRITE) &&
		    errno == EFAULT)
			return cut_short(object, off);
	}
	return NULL;
}

// The same with pages of an earlier copy, which get the file's bytes again; all others become the
// file's.
static struct gorgon_error *refill_written(const struct gorgon_object *object,
					   const struct gorgon_segment *seg, int fd)
{
	uint64_t page = (uint64_t)getpagesize(), end = seg->off + seg->file_size;
	const bool *written = object->image->written;
	struct gorgon_error *err = NULL;

	for (uint64_t off = page_down(seg->off), run; !err && off < end; off = run) {
		char *p = map_pointer(object->bias + seg->vaddr + off - seg->off);

		for (run = off; run < end && written[run / page] == written[off / page];
		     run += page)
			;
		// pages that the host has locked in memory cannot be given up
		if (written[off / page] || madvise(p, run - off, MADV_DONTNEED))
			err = read_pages(object, p, off, run < end ? run : end, fd);
	}
	return err;
}

static struct gorgon_error *share_data(const struct gorgon_object *object,
				       const struct gorgon_segment *seg, int fd, bool refill)
{
	uint64_t data_end = object->bias + seg->vaddr + seg->file_size;
	uint64_t end = object->bias + seg->vaddr + seg->mem_size, zeros = page_up(data_end);
	struct gorgon_error *err =
		refill ? refill_written(object, seg, fd) : populate_written(object, seg);

	if (err)
		return err;
	memset(map_pointer(data_end), 0, (zeros < end ? zeros : end) - data_end);
	if (zeros < end && mmap(map_pointer(zeros), page_up(end) - zeros, seg->prot,
				MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return map_error(object, errno);
	return NULL;
}

static struct gorgon_error *map_segment(struct gorgon_object *object, struct gorgon_segment *seg,
					int fd)
{
	bool is_read = seg->prot & PROT_WRITE && !seg->shared;
	uint64_t start = page_down(object->bias + seg->vaddr);
	uint64_t end =
		page_up(object->bias + seg->vaddr + (seg->shared ? seg->file_size : seg->mem_size));

	if (gorgon_kept_take(object, seg))
		return share_data(object, seg, fd, true);
	// Only writable segments have zeros behind the file's bytes (image.c).
	if (mmap(map_pointer(start), end - start, seg->prot,
		 MAP_PRIVATE | MAP_FIXED | (is_read ? MAP_ANONYMOUS : 0), is_read ? -1 : fd,
		 is_read ? 0 : (off_t)page_down(seg->off)) == MAP_FAILED)
		return map_error(object, errno);
	if (seg->shared)
		return share_data(object, seg, fd, false);
	if (!is_read)
		return NULL;
	map_populate(object, seg);
	return read_pages(object, map_pointer(object->bias + seg->vaddr), seg->off,
			  seg->off + seg->file_size, fd);
}

static void tell_leak_checker(const struct gorgon_object *object,
			      void (*tell)(const void *start, size_t size))
{
	for (size_t i = 0; tell && i < object->image->segment_count; i++) {
		const struct gorgon_segment *seg = &object->image->segments[i];

		if (seg->prot & PROT_WRITE)
			tell(map_pointer(object->bias + seg->vaddr), seg->mem_size);
	}
}

// Segments are mapped over what is there, so that this can be done again.
static struct gorgon_error *map_segments(void *ctx, int fd)
{
	struct gorgon_object *object = ctx;
	struct gorgon_error *err = NULL;

	for (size_t i = 0; !err && i < object->image->segment_count; i++)
		err = map_segment(object, &object->image->segments[i], fd);
	return err;
}

static struct gorgon_error *try_map(struct gorgon_object *object)
{
	struct gorgon_error *err = reserve_place(object) ? NULL : reserve_anywhere(object);

	if (!err)
		err = gorgon_image_with_file(object->image, object->path, &object->file,
					     map_segments, object);
	if (err && object->start) {
		munmap(map_pointer(object->start), object->end - object->start);
		object->start = object->end = 0;
	} else if (!err) {
		tell_leak_checker(object, __lsan_register_root_region);
	}
	return err;
}

// What is kept for the next copy may be the memory, the addresses or the mappings that are missing.
struct gorgon_error *gorgon_map(struct gorgon_object *object)
{
	struct gorgon_error *err = try_map(object);
	uint64_t count;

	if (!err || !gorgon_image_kept(&count))
		return err;
	gorgon_image_trim();
	gorgon_error_destroy(err);
	return try_map(object);
}

// RELRO covers whole pages only, as with the system's linker: its last page may have data behind it
// that are written later.
static void relro_range(const struct gorgon_object *object, uint64_t *start, uint64_t *end)
{
	const struct gorgon_image *image = object->image;

	*start = page_down(object->bias + image->relro_vaddr);
	*end = page_down(object->bias + image->relro_vaddr + image->relro_size);
}

struct gorgon_error *gorgon_map_protect(struct gorgon_object *object)
{
	uint64_t start, end;

	relro_range(object, &start, &end);
	if (end <= start || !mprotect(map_pointer(start), end - start, PROT_READ))
		return NULL;
	return map_error(object, errno);
}

// Whether two segments are neighbours in memory and in the file, without a gap.
static bool adjoins(const struct gorgon_segment *seg, const struct gorgon_segment *next)
{
	return page_up(seg->vaddr + seg->mem_size) == page_down(next->vaddr) &&
	       next->vaddr - seg->vaddr == next->off - seg->off;
}

// A run of neighbouring read-only segments, one of which is text, becomes executable as a whole.
static void merge_text(const struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	const struct gorgon_segment *seg = image->segments, *end = seg + image->segment_count;

	while (seg < end) {
		const struct gorgon_segment *last = seg;
		int prot = seg->prot;

		while (!(prot & PROT_WRITE) && last + 1 < end &&
		       !((last + 1)->prot & PROT_WRITE) && adjoins(last, last + 1))
			prot |= (++last)->prot;
		if (last > seg)
			mprotect(map_pointer(page_down(object->bias + seg->vaddr)),
				 page_up(last->vaddr + last->mem_size) - page_down(seg->vaddr),
				 prot);
		seg = last + 1;
	}
}

// Where the system refuses, the object keeps its mappings, and nothing is lost.
void gorgon_map_relax(struct gorgon_object *object)
{
	uint64_t start, end;

	if (object->relaxed)
		return;
	object->relaxed = true;
	relro_range(object, &start, &end);
	if (end > start)
		mprotect(map_pointer(start), end - start, PROT_READ | PROT_WRITE);
	merge_text(object);
}

void gorgon_unmap(struct gorgon_object *object)
{
	if (!object->start)
		return;
	tell_leak_checker(object, __lsan_unregister_root_region);
	gorgon_kept_give(object);
	munmap(map_pointer(object->start), object->end - object->start);
	object->start = object->end = 0;
}
