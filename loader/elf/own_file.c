// SPDX-License-Identifier: MIT
// Descriptors that libraries keep of their own files, so that they go with them.
//
// libffi, where it is built with static trampolines, has their code in its own file and
// maps it once more for every 4 KiB of callbacks: through a descriptor that it opens when
// it is first used and never closes. It has no destructor. A process has one such library
// for good; with one in every interpreter that imports ctypes each that ends would leave a
// descriptor behind, until there are no more.
//
// Whose a descriptor is cannot be told in general: a program may hand its number to the
// host. But a library that maps code of its own file has opened that file to do so. Those
// are listed, and closed with the library when they still are what they were. A number
// alone does not say that: somebody may have closed it (a daemon closes all), and have
// opened the same file since. So the open file is marked, with what F_SETSIG keeps of it:
// a signal that the kernel never sends without O_ASYNC.
//
// Not handled: libffi without /proc writes its trampolines to a memfd, and a descriptor of
// that stays open. Strategies that leave loading to the system's linker do not see mmap().
//
// `lock` is a leaf.

#define _GNU_SOURCE
#include "own_file.h"
#include "object.h"
#include "unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK SIGURG // ignored by default, should somebody set O_ASYNC

struct own_file {
	int fd;
	const struct gorgon_object *object;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_file *list; // a number is in it once
static size_t count, capacity;

void gorgon_own_file_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void gorgon_own_file_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static bool is_own(const struct gorgon_object *object, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && gorgon_image_is_file(object->image, &st) &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

// The entry of @fd, a new one if need be, or NULL: no memory. The descriptor then stays
// open, which is what would have happened without us.
static struct own_file *entry(int fd)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].fd == fd)
			return &list[i];
	if (count == capacity) {
		size_t grown_capacity = capacity ? 2 * capacity : 8;
		struct own_file *grown = reallocarray(list, grown_capacity, sizeof(*grown));

		if (!grown)
			return NULL;
		list = grown;
		capacity = grown_capacity;
	}
	return &list[count++];
}

void gorgon_own_file_mapped(uint64_t caller, int fd)
{
	const struct gorgon_object *object = gorgon_unwind_object_at(caller);
	int saved_errno = errno;
	struct own_file *own;

	if (object && is_own(object, fd)) {
		pthread_mutex_lock(&lock);
		// Without a mark it could not be known again, and is not listed.
		if (!fcntl(fd, F_SETSIG, MARK) && (own = entry(fd)))
			*own = (struct own_file){fd, object};
		pthread_mutex_unlock(&lock);
	}
	errno = saved_errno;
}

void gorgon_own_file_close(const struct gorgon_object *object)
{
	size_t kept = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++) {
		if (list[i].object != object)
			list[kept++] = list[i];
		else if (is_own(object, list[i].fd) && fcntl(list[i].fd, F_GETSIG) == MARK)
			close(list[i].fd);
	}
	count = kept;
	if (!count) {
		free(list);
		list = NULL;
		capacity = 0;
	}
	pthread_mutex_unlock(&lock);
}
