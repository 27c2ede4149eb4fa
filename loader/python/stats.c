// SPDX-License-Identifier: MIT
// Resident memory of a namespace's objects, page by page from /proc/self/pagemap
// (proc(5)). Whole mappings, as in smaps, would not do: the kernel merges an object's
// data with memory that happens to lie beside it.
//
// A page that was written (relocations, data) is anonymous and belongs to this copy
// alone; all other resident pages are the file's and shared with every copy and
// process. Heap memory is the process's and not counted here.

#define _GNU_SOURCE
#include "base/error.h"
#include "interp.h"
#include "ns/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PRESENT	(UINT64_C(1) << 63)
#define SWAPPED	(UINT64_C(1) << 62)
#define OF_FILE	(UINT64_C(1) << 61)

struct count {
	int fd;
	int failed; // errno
	uint64_t page_size, private_pages, shared_pages;
};

static bool stats_count_object(struct count *count, struct gorgon_object *object)
{
	struct gorgon_object_info info;
	uint64_t entries[512], page, end;

	gorgon_object_get_info(object, &info);
	page = info.start / count->page_size;
	end = info.end / count->page_size;
	while (page < end) {
		size_t want = end - page < 512 ? end - page : 512;
		ssize_t n = pread(count->fd, entries, want * 8, (off_t)(page * 8));

		if (n < 8) {
			count->failed = n < 0 ? errno : EIO;
			return false;
		}
		for (ssize_t i = 0; i < n / 8; i++) {
			if (!(entries[i] & (PRESENT | SWAPPED)))
				continue;
			if (entries[i] & OF_FILE)
				count->shared_pages++;
			else
				count->private_pages++;
		}
		page += (uint64_t)n / 8;
	}
	return true;
}

struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, uint64_t *private_bytes,
					 uint64_t *shared_bytes)
{
	struct gorgon_object *object = ns->first;
	struct count count = {.page_size = (uint64_t)getpagesize()};

	count.fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (count.fd < 0)
		return gorgon_error_create_os(errno, "/proc/self/pagemap");
	while (object && stats_count_object(&count, object))
		object = object->next;
	close(count.fd);
	if (count.failed)
		return gorgon_error_create_os(count.failed, "/proc/self/pagemap");
	*private_bytes = count.private_pages * count.page_size;
	*shared_bytes = count.shared_pages * count.page_size;
	return NULL;
}
