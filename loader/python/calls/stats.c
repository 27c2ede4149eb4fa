// SPDX-License-Identifier: MIT Resident memory of a namespace: its objects, what its code has
// mapped, and stacks of its threads, page by page from /proc/self/pagemap (proc(5)). Whole
// mappings, as in smaps, would not do: the kernel merges an object's data with memory that happens
// to lie beside it.
//
// A page that was written (relocations, data) is anonymous and belongs to this copy
// alone; all other resident pages are the file's and shared with every copy and
// process. Heap memory is the process's and not counted here.

#define _GNU_SOURCE
#include "interp.h"
#include "base/error.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "process/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define PRESENT	(UINT64_C(1) << 63)
#define SWAPPED	(UINT64_C(1) << 62)
#define OF_FILE	(UINT64_C(1) << 61)

struct count {
	int fd;
	int failed; // errno
	uint64_t page_size, private_pages, shared_pages;
};

static void count_range(void *ctx, uint64_t start, uint64_t end_addr)
{
	struct count *count = ctx;
	uint64_t entries[512], page = start / count->page_size, end = end_addr / count->page_size;

	while (page < end && !count->failed) {
		size_t want = end - page < 512 ? end - page : 512;
		ssize_t n = pread(count->fd, entries, want * 8, (off_t)(page * 8));

		if (n < 8) {
			count->failed = n < 0 ? errno : EIO;
			return;
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
}

// A thread that has a record has its stack, too.
static void count_stack(struct count *count, const struct gorgon_thread *thread)
{
	pthread_attr_t attr;
	void *start;
	size_t size;

	if (pthread_getattr_np(thread->pthread, &attr))
		return;
	if (!pthread_attr_getstack(&attr, &start, &size))
		count_range(count, (uintptr_t)start, (uintptr_t)start + size);
	pthread_attr_destroy(&attr);
}

// The private bytes that were counted since the last call.
static uint64_t take_bytes(struct count *count)
{
	uint64_t ret = count->private_pages * count->page_size;

	count->private_pages = 0;
	return ret;
}

struct gorgon_error *gorgon_stats_memory(struct gorgon_ns *ns, struct gorgon_resident *ret)
{
	struct gorgon_resident resident;
	struct count count = {.page_size = (uint64_t)getpagesize()};

	count.fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (count.fd < 0)
		return gorgon_error_create_os(errno, "/proc/self/pagemap");
	for (struct gorgon_object *object = ns->first; object; object = object->next) {
		struct gorgon_object_info info;

		gorgon_object_get_info(object, &info);
		count_range(&count, info.start, info.end);
	}
	resident.shared_bytes = count.shared_pages * count.page_size;
	resident.private_bytes = take_bytes(&count);
	gorgon_memory_each(gorgon_parts_state(ns->parts, &gorgon_memory_part), count_range, &count);
	resident.mapped_bytes = take_bytes(&count);
	for (struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread))
		if (gorgon_thread_ns(thread) == ns)
			count_stack(&count, thread);
	resident.stack_bytes = take_bytes(&count);
	close(count.fd);
	if (count.failed)
		return gorgon_error_create_os(count.failed, "/proc/self/pagemap");
	*ret = resident;
	return NULL;
}
