// SPDX-License-Identifier: MIT
// Descriptors, current directory and umask of a program's own.
//
// The kernel keeps these for each thread (credentials(7) calls them attributes of the process;
// clone(2) tells which of them threads share). A thread that calls unshare(2), which needs no
// privilege for this, has its own from then on, and hands them to the threads that it creates.
// So a program that begins on such a thread has what it would have as a process: another
// program's closerange() or chdir() does not reach it. POSIX record locks belong to the table of
// descriptors, so two programs that lock one file keep each other out, as two processes do.
//
// Descriptors that are close-on-exec are not inherited, as after execve(2): the end of a pipe that
// the host meant for itself would keep the pipe open.
//
// At the program's end its descriptors are closed, although the table may live on: threads that
// shared libraries have started on the program's threads (a BLAS has a pool of them) keep the
// table, and readers of the program's pipes wait for their end. Descriptors 0 to 2 stay as long as
// they are the host's.
//
// Not handled: /proc/self, which shows the process's first thread; see proc_paths.c. stdout and
// stderr are the C library's, one for all: what one program's C code has left in their buffers
// may be written by another's thread. Other streams: streams.c.

#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// What unshare() has given the calling thread for itself.
static __thread enum {
	NOTHING,
	DESCRIPTORS,
	ALL, // the current directory and the umask, too
} own __attribute__((tls_model("initial-exec")));

static void close_if_not_inherited(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags >= 0 && flags & FD_CLOEXEC)
		close(fd);
}

// linux_dirent64 of getdents64(2).
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

// Without /proc they stay open.
static void close_all_not_inherited(void)
{
	_Alignas(struct entry) char buffer[4096];
	int fd = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long size;

	if (fd < 0)
		return;
	while ((size = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < size;) {
			const struct entry *entry = (const struct entry *)(buffer + at);
			int listed = atoi(entry->name); // "." and ".." are 0

			if (listed > STDERR_FILENO && listed != fd)
				close_if_not_inherited(listed);
			at += entry->size;
		}
	}
	close(fd);
	for (int standard = 0; standard <= STDERR_FILENO; standard++)
		close_if_not_inherited(standard);
}

int gorgon_files_unshare(void)
{
	int saved = errno, ret = 0;

	if (own != NOTHING)
		return 0;
	if (!unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM))
		own = ALL;
	else if (!close_range(~0u, ~0u, CLOSE_RANGE_UNSHARE))
		own = DESCRIPTORS;
	else
		ret = -errno;
	if (own != NOTHING)
		close_all_not_inherited();
	errno = saved;
	return ret;
}

bool gorgon_files_are_own(void)
{
	return own != NOTHING;
}

bool gorgon_files_have_directory(void)
{
	return own == ALL;
}

void gorgon_files_note_place(struct gorgon_starting_directory *place)
{
	if (own != ALL)
		return; // umask() cannot be asked without changing it
	place->directory = getcwd(NULL, 0);
	place->mask = umask(0);
	umask(place->mask);
}

void gorgon_files_go_back(const struct gorgon_starting_directory *place)
{
	if (own != ALL)
		return;
	umask(place->mask);
	if (!place->directory || chdir(place->directory))
		return; // the folder is gone: the thread's next program begins in "/"
}

void gorgon_files_begin(struct gorgon_program_files *files)
{
	struct stat st;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if ((files->standard[fd].open = !fstat(fd, &st))) {
			files->standard[fd].device = st.st_dev;
			files->standard[fd].inode = st.st_ino;
		}
	__atomic_store_n(&files->own, own != NOTHING, __ATOMIC_RELEASE);
}

static bool is_inherited(const struct gorgon_standard_file *file, int fd)
{
	struct stat st;

	return file->open && !fstat(fd, &st) && st.st_dev == file->device &&
	       st.st_ino == file->inode;
}

// On the thread that the program had, and only there: a host that destroys the interpreter from
// another thread has descriptors that are none of the program's.
static void files_stop(void *state)
{
	struct gorgon_program_files *files = state;

	if (own == NOTHING || !files->own)
		return;
	closefrom(STDERR_FILENO + 1);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (!is_inherited(&files->standard[fd], fd))
			close(fd);
	// Nothing is left to look at relative names; a folder that stays in use could not be
	// unmounted.
	if (own == ALL && chdir("/"))
		return; // the thread stays where it is
}

const struct gorgon_part gorgon_files_part = {
	.state_size = sizeof(struct gorgon_program_files),
	.stop = files_stop,
};
