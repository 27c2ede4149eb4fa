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
// host. But a library that maps code of its own file has opened that file to do so. Such
// descriptors are listed, and closed with the library when they still belong to the file that
// was opened. A number alone does not say that: somebody may have closed it (a daemon closes all),
// and have opened the same file since; and a thread may have a table of descriptors of its own,
// where the number is that of another copy of the library. So the open file is marked with
// something that belongs to it alone and that nobody notices: a lock (F_OFD_SETLK) on a byte far
// behind the file's end, at a place nobody else knows.
//
// When the library maps the same code again and the number is another file's, because of a
// daemon or because another thread with another table calls, it gets what it has asked for from
// its file, which is opened for that.
//
// Not handled: libffi without /proc writes its trampolines to a memfd, and a descriptor of
// that stays open. Strategies that leave loading to the system's linker do not see mmap().
// A descriptor in a table other than that of the thread that unloads the library stays there
// until the table goes.
//
// `lock` is a leaf.

#define _GNU_SOURCE
#include "trampoline_file.h"
#include "ns/object.h"
#include "ns/unwind.h"
#include "process/part.h"
#include "file/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct trampoline_file {
	int fd;
	const struct gorgon_object *object;
	off_t mark;
	size_t size; // of the mapped code, whose offset in the file follows
	off_t off;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct trampoline_file *list; // an object has a number once
static size_t count;

const struct gorgon_part gorgon_trampoline_file_part = {.lock = &lock};

static bool is_own(const struct gorgon_object *object, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && gorgon_image_is_file(object->image, &st) &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

static struct flock one_byte(short type, off_t at)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
}

static bool set_mark(int fd, off_t *ret)
{
	uint64_t place;
	struct flock byte;

	if (getrandom(&place, sizeof(place), GRND_NONBLOCK) != sizeof(place))
		return false;
	*ret = (off_t)(place >> 2 | UINT64_C(1) << 61);
	byte = one_byte(F_RDLCK, *ret);
	return !fcntl(fd, F_OFD_SETLK, &byte);
}

// Whether another open file than @fd's has the mark.
static bool is_elsewhere(int fd, off_t mark)
{
	struct flock byte = one_byte(F_WRLCK, mark);

	return fcntl(fd, F_OFD_GETLK, &byte) || byte.l_type != F_UNLCK;
}

// Whether the mark is there, and is this open file's.
static bool has_mark(int fd, off_t mark)
{
	char name[40];
	bool marked;
	int other;

	if (is_elsewhere(fd, mark))
		return false;
	snprintf(name, sizeof(name), "/proc/thread-self/fd/%d", fd);
	other = open(name, O_RDONLY | O_CLOEXEC);
	if (other < 0)
		return false;
	marked = is_elsewhere(other, mark);
	close(other);
	return marked;
}

static struct trampoline_file *find_entry(const struct gorgon_object *object, int fd)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].object == object && list[i].fd == fd)
			return &list[i];
	return NULL;
}

// The entry of @fd, a new one if need be, or NULL: no memory. The descriptor then stays
// open, which is what would have happened without us.
static struct trampoline_file *add_entry(const struct gorgon_object *object, int fd)
{
	struct trampoline_file *own = find_entry(object, fd);

	return own ?: jitreg_add(&list, &count, sizeof(*list));
}

int gorgon_trampoline_file_find(uint64_t caller, int fd, size_t size, off_t off,
				struct gorgon_file *ret)
{
	const struct gorgon_object *object = gorgon_unwind_object_at(caller);
	const struct trampoline_file *own;
	bool again;

	ret->fd = -1;
	if (!object || is_own(object, fd))
		return fd;
	pthread_mutex_lock(&lock);
	own = find_entry(object, fd);
	again = own && own->size == size && own->off == off;
	pthread_mutex_unlock(&lock);
	if (!again || gorgon_file_open(object->image->path, ret))
		return fd;
	if (gorgon_file_is_same(&ret->st, &object->image->st))
		return ret->fd;
	gorgon_file_close(ret);
	return -1; // the right file is gone
}

void gorgon_trampoline_file_mapped(uint64_t caller, int fd, size_t size, off_t off)
{
	const struct gorgon_object *object = gorgon_unwind_object_at(caller);
	int saved_errno = errno;
	struct trampoline_file *own;
	off_t mark;

	if (object && is_own(object, fd)) {
		pthread_mutex_lock(&lock);
		own = find_entry(object, fd);
		// Without a mark it could not be known again, and is not listed.
		if (!(own && has_mark(fd, own->mark)) && set_mark(fd, &mark) &&
		    (own = add_entry(object, fd)))
			*own = (struct trampoline_file){fd, object, mark, size, off};
		pthread_mutex_unlock(&lock);
	}
	errno = saved_errno;
}

void gorgon_trampoline_file_close(const struct gorgon_object *object)
{
	size_t kept = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++) {
		if (list[i].object != object)
			list[kept++] = list[i];
		else if (is_own(object, list[i].fd) && has_mark(list[i].fd, list[i].mark))
			close(list[i].fd);
	}
	count = kept;
	if (!count) {
		free(list);
		list = NULL;
	}
	pthread_mutex_unlock(&lock);
}
