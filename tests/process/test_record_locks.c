// SPDX-License-Identifier: MIT
// loader/process/record_locks.c, lock_files.c and closing.c

#define _GNU_SOURCE
#include "helpers.h"
#include "ns/ns.h"
#include "process/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// A namespace with a library that locks and closes.
struct copy {
	struct gorgon_ns *ns;
	int (*open)(const char *path, int flags);
	int (*fcntl)(int fd, int cmd, struct flock *lock);
	int (*lockf)(int fd, int cmd, off_t size);
	int (*close)(int fd);
	int (*dup2)(int fd, int number);
	int (*close_range)(unsigned first, unsigned last);
	int (*fclose)(FILE *stream);
	FILE *(*freopen)(const char *path, const char *mode, FILE *stream);
};

static struct copy make_copy(void)
{
	struct copy copy = {.ns = test_ns()};
	struct gorgon_object *object = test_open(copy.ns, "liblocks.so");

	copy.open = SYMBOL(object, int (*)(const char *, int), "locks_open");
	copy.fcntl = SYMBOL(object, int (*)(int, int, struct flock *), "locks_fcntl");
	copy.lockf = SYMBOL(object, int (*)(int, int, off_t), "locks_lockf");
	copy.close = SYMBOL(object, int (*)(int), "locks_close");
	copy.dup2 = SYMBOL(object, int (*)(int, int), "locks_dup2");
	copy.close_range = SYMBOL(object, int (*)(unsigned, unsigned), "locks_close_range");
	copy.fclose = SYMBOL(object, int (*)(FILE *), "locks_fclose");
	copy.freopen = SYMBOL(object, FILE * (*)(const char *, const char *, FILE *),
			      "locks_freopen");
	return copy;
}

static int host_fcntl(int fd, int cmd, struct flock *lock)
{
	return fcntl(fd, cmd, lock);
}

// --- three lockers and one file ---------------------------------------------------------------

static struct copy one, two;
static const char *path;
static int fd_one, fd_two, fd_host;

static int set_up(void **state)
{
	(void)state;
	one = make_copy();
	two = make_copy();
	path = strdup(test_temp("locked"));
	test_write(path, "0123456789", 10);
	fd_one = one.open(path, O_RDWR | O_CLOEXEC);
	fd_two = two.open(path, O_RDWR | O_CLOEXEC);
	fd_host = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd_one >= 0 && fd_two >= 0 && fd_host >= 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(fd_host);
	one.close(fd_one);
	two.close(fd_two);
	test_ns_destroy(one.ns);
	test_ns_destroy(two.ns);
	unlink(path);
	free((char *)path);
	return 0;
}

// 0 or an errno.
static int lock(int (*function)(int, int, struct flock *), int fd, int cmd, short type, off_t start,
		off_t size)
{
	struct flock arg = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = size};

	return function(fd, cmd, &arg) ? errno : 0;
}

static int lock_one(short type, off_t start, off_t size)
{
	return lock(one.fcntl, fd_one, F_SETLK, type, start, size);
}

static int lock_two(short type, off_t start, off_t size)
{
	return lock(two.fcntl, fd_two, F_SETLK, type, start, size);
}

static int lock_host(short type, off_t start, off_t size)
{
	return lock(host_fcntl, fd_host, F_SETLK, type, start, size);
}

// In another process: whether [start, start + size) can be locked. Exits with an errno.
struct probe {
	short type;
	off_t start, size;
};

static int probe_in_child(void *arg)
{
	const struct probe *probe = arg;
	int fd = open(path, O_RDWR);

	return lock(host_fcntl, fd, F_SETLK, probe->type, probe->start, probe->size);
}

static int lock_outside(short type, off_t start, off_t size)
{
	struct probe probe = {type, start, size};

	return test_in_child(probe_in_child, &probe);
}

static struct flock ask(int (*function)(int, int, struct flock *), int fd, short type, off_t start,
			off_t size)
{
	struct flock arg = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = size};

	assert_int_equal(function(fd, F_GETLK, &arg), 0);
	return arg;
}

// --- who conflicts ------------------------------------------------------------------------

static void locks_of_two_namespaces_conflict(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_WRLCK, 5, 10), EAGAIN);
	assert_int_equal(lock_two(F_RDLCK, 5, 10), EAGAIN);
	assert_int_equal(lock_two(F_WRLCK, 10, 10), 0);
	assert_int_equal(lock_one(F_WRLCK, 0, 0), EAGAIN);
	assert_int_equal(lock_one(F_UNLCK, 0, 0), 0);
	assert_int_equal(lock_two(F_WRLCK, 0, 0), 0);
}

static void shared_locks_do_not_conflict(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_RDLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_RDLCK, 0, 10), 0);
	assert_int_equal(lock_host(F_RDLCK, 0, 10), 0);
	assert_int_equal(lock_outside(F_RDLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), EAGAIN);
}

static void locks_conflict_with_the_host_s(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_host(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_host(F_WRLCK, 10, 10), 0);
	assert_int_equal(lock_one(F_WRLCK, 10, 10), EAGAIN);
	assert_int_equal(lock_two(F_RDLCK, 10, 10), EAGAIN);
}

static void locks_conflict_with_another_process_s(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_outside(F_WRLCK, 9, 1), EAGAIN);
	assert_int_equal(lock_outside(F_WRLCK, 10, 1), 0);
}

static void a_namespace_does_not_conflict_with_itself(void **state)
{
	int other = one.open(path, O_RDWR);

	(void)state;
	assert_int_equal(lock_one(F_RDLCK, 0, 10), 0);
	assert_int_equal(lock(one.fcntl, other, F_SETLK, F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_RDLCK, 0, 10), EAGAIN);
	assert_int_equal(lock(one.fcntl, other, F_SETLK, F_UNLCK, 0, 5), 0);
	assert_int_equal(lock_two(F_RDLCK, 0, 5), 0);
	assert_int_equal(lock_two(F_RDLCK, 0, 6), EAGAIN);
	one.close(other);
}

static void a_file_is_known_by_all_of_its_names(void **state)
{
	char *name = strdup(test_temp("link"));
	int fd;

	(void)state;
	assert_int_equal(link(path, name), 0);
	fd = two.open(name, O_RDWR);
	assert_int_equal(lock_one(F_WRLCK, 0, 0), 0);
	assert_int_equal(lock(two.fcntl, fd, F_SETLK, F_WRLCK, 0, 0), EAGAIN);
	assert_int_equal(rename(name, path), 0);
	unlink(path);
	unlink(name);
	assert_int_equal(lock(two.fcntl, fd, F_SETLK, F_WRLCK, 0, 0), EAGAIN);
	assert_int_equal(lock_one(F_UNLCK, 0, 0), 0);
	assert_int_equal(lock(two.fcntl, fd, F_SETLK, F_WRLCK, 0, 0), 0);
	two.close(fd);
	free(name);
}

static void a_program_with_its_own_table_has_the_kernel_s_locks(void **state)
{
	struct gorgon_own_files *files = gorgon_parts_state(two.ns->parts, &gorgon_files_part);

	(void)state;
	files->own = true;
	// The table is the host's here: its locks are.
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), EAGAIN);
	files->own = false;
}

// --- what fcntl() and lockf() say --------------------------------------------------------------

static void getlk_names_the_holder(void **state)
{
	struct flock found;
	int foreign = open(path, O_RDWR);

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 3, 4), 0);
	found = ask(two.fcntl, fd_two, F_RDLCK, 0, 0);
	assert_int_equal(found.l_type, F_WRLCK);
	assert_int_equal(found.l_pid, getpid());
	assert_int_equal(found.l_start, 3);
	assert_int_equal(found.l_len, 4);
	assert_int_equal(found.l_whence, SEEK_SET);
	assert_int_equal(ask(one.fcntl, fd_one, F_WRLCK, 0, 0).l_type, F_UNLCK);
	assert_int_equal(lock_host(F_RDLCK, 20, 1), 0);
	assert_int_equal(ask(one.fcntl, fd_one, F_WRLCK, 20, 0).l_pid, getpid());
	assert_int_equal(ask(one.fcntl, fd_one, F_RDLCK, 20, 0).l_type, F_UNLCK);
	assert_int_equal(lock(host_fcntl, foreign, F_OFD_SETLK, F_WRLCK, 30, 1), 0);
	assert_int_equal(ask(one.fcntl, fd_one, F_WRLCK, 30, 0).l_pid, -1);
	close(foreign);
}

static void getlk_of_what_is_free_changes_only_the_type(void **state)
{
	struct flock arg = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 7, .l_pid = 99};

	(void)state;
	assert_int_equal(one.fcntl(fd_one, F_GETLK, &arg), 0);
	assert_int_equal(arg.l_type, F_UNLCK);
	assert_true(arg.l_whence == SEEK_CUR && arg.l_start == 7 && arg.l_pid == 99);
}

static int child_holds(void *arg)
{
	int fd = open(path, O_RDWR);
	char byte = 0;

	lock(host_fcntl, fd, F_SETLK, F_WRLCK, 0, 1);
	return write(((int *)arg)[1], &byte, 1) != 1 || pause();
}

static void getlk_names_another_process(void **state)
{
	int ends[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		_exit(child_holds(ends));
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(ask(one.fcntl, fd_one, F_RDLCK, 0, 0).l_pid, pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
}

static void ranges_are_relative_to_the_caller_s_descriptor(void **state)
{
	struct flock here = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = -1, .l_len = 2};
	struct flock before = {.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -2, .l_len = -3};
	struct flock found;

	(void)state;
	lseek(fd_one, 100, SEEK_SET);
	assert_int_equal(one.fcntl(fd_one, F_SETLK, &here), 0);
	found = ask(two.fcntl, fd_two, F_RDLCK, 0, 0);
	assert_true(found.l_start == 99 && found.l_len == 2);
	assert_int_equal(one.fcntl(fd_one, F_SETLK, &before), 0);
	found = ask(two.fcntl, fd_two, F_RDLCK, 0, 0);
	assert_true(found.l_start == 5 && found.l_len == 3);
	assert_int_equal(one.lockf(fd_one, F_LOCK, 0), 0);
	found = ask(two.fcntl, fd_two, F_RDLCK, 102, 0);
	assert_true(found.l_start == 99 && found.l_len == 0);
	lseek(fd_two, 98, SEEK_SET);
	assert_int_equal(two.lockf(fd_two, F_TEST, 1), 0);
	assert_int_equal(two.lockf(fd_two, F_TEST, 2), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(one.lockf(fd_one, F_TEST, 2), 0);
	assert_int_equal(two.lockf(fd_two, F_TLOCK, 2), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(one.lockf(fd_one, F_ULOCK, 0), 0);
	assert_int_equal(ask(two.fcntl, fd_two, F_RDLCK, 100, 0).l_type, F_UNLCK);
}

// What the kernel says to a process, ours say.
static void errors_are_the_kernel_s(void **state)
{
	static const struct flock args[] = {
		{.l_type = F_WRLCK, .l_whence = 77},
		{.l_type = 77, .l_whence = SEEK_SET},
		{.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = -1},
		{.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2, .l_len = -3},
		{.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = -1},
		{.l_type = F_UNLCK, .l_whence = 77},
		{.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = INT64_MAX},
		{.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = -6},
		{.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = INT64_MAX, .l_len = 2},
		{.l_type = F_WRLCK, .l_whence = SEEK_SET},
		{.l_type = F_RDLCK, .l_whence = SEEK_SET},
		{.l_type = F_UNLCK, .l_whence = SEEK_SET},
	};
	static const int modes[] = {O_RDWR, O_RDONLY, O_WRONLY, O_PATH},
			 cmds[] = {F_SETLK, F_SETLKW, F_GETLK};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		int fd = open(path, modes[i]);

		lseek(fd, 5, SEEK_SET);
		for (size_t n = 0; n < 3 * sizeof(args) / sizeof(*args); n++) {
			struct flock ours = args[n / 3], kernel = ours;
			int cmd = cmds[n % 3], ret = one.fcntl(fd, cmd, &ours), err = ret ? errno : 0;

			one.fcntl(fd, F_SETLK, &(struct flock){.l_type = F_UNLCK});
			errno = 0;
			assert_int_equal(ret, fcntl(fd, cmd, &kernel));
			assert_int_equal(err, errno);
			assert_memory_equal(&ours, &kernel, sizeof(ours));
			fcntl(fd, F_SETLK, &(struct flock){.l_type = F_UNLCK});
		}
		close(fd);
	}
	assert_int_equal(lock(one.fcntl, -1, F_SETLK, F_WRLCK, 0, 0), EBADF);
	assert_int_equal(one.lockf(fd_one, 77, 0), -1);
	assert_int_equal(errno, EINVAL);
}

static void a_file_opened_for_reading_is_locked_and_then_for_writing(void **state)
{
	int fd = one.open(path, O_RDONLY);

	(void)state;
	// Nobody could write, so that ours is opened for reading, too.
	assert_int_equal(chmod(path, 0400), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0); // for root no mode matters
	assert_int_equal(lock(one.fcntl, fd, F_SETLK, F_RDLCK, 2, 3), 0);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(lock_two(F_WRLCK, 2, 1), EAGAIN);
	assert_int_equal(lock_one(F_WRLCK, 20, 1), 0);
	assert_int_equal(lock_two(F_WRLCK, 20, 1), EAGAIN);
	assert_int_equal(lock_two(F_WRLCK, 4, 1), EAGAIN);
	assert_int_equal(lock_two(F_WRLCK, 5, 1), 0);
	one.close(fd);
	assert_int_equal(lock_two(F_WRLCK, 0, 0), 0);
}

static void other_commands_are_the_kernel_s(void **state)
{
	int (*copied)(int, int, struct flock *) = one.fcntl;
	int fd = copied(fd_one, F_DUPFD_CLOEXEC, (struct flock *)500);

	(void)state;
	assert_true(fd >= 500);
	assert_int_equal(one.fcntl(fd, F_GETFD, NULL), FD_CLOEXEC);
	one.close(fd);
}

// --- closing ------------------------------------------------------------------------------

static void close_any(int fd)
{
	assert_int_equal(one.close(fd), 0);
}

static void dup_onto(int fd)
{
	int pipe_ends[2];

	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(one.dup2(pipe_ends[0], fd), fd);
	close(fd);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void close_a_range(int fd)
{
	assert_int_equal(one.close_range((unsigned)fd, (unsigned)fd), 0);
}

static void close_stream(int fd)
{
	assert_int_equal(one.fclose(fdopen(fd, "r")), 0);
}

static void reopen_stream(int fd)
{
	FILE *stream = one.freopen("/dev/null", "r", fdopen(fd, "r"));

	assert_non_null(stream);
	fclose(stream);
}

static void (*const ways[])(int fd) = {close_any, dup_onto, close_a_range, close_stream,
				       reopen_stream};
#define WAYS (sizeof(ways) / sizeof(*ways))

static void closing_any_descriptor_drops_the_namespace_s_locks(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		int other = one.open(path, O_RDONLY);

		assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
		assert_int_equal(lock_two(F_WRLCK, 10, 10), 0);
		ways[i](other);
		assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
		assert_int_equal(lock_host(F_WRLCK, 10, 10), EAGAIN); // of two
		lock_host(F_UNLCK, 0, 0);
		lock_two(F_UNLCK, 0, 0);
	}
}

static void closing_another_file_drops_nothing(void **state)
{
	int other = one.open("/proc/self/status", O_RDONLY);

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	one.close(other);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), EAGAIN);
}

static void dup2_onto_itself_closes_nothing(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(one.dup2(fd_one, fd_one), fd_one);
	assert_int_equal(one.dup2(-1, fd_one), -1);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), EAGAIN);
}

static void the_host_keeps_its_locks(void **state)
{
	(void)state;
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	for (size_t i = 0; i < WAYS; i++) {
		int other = one.open(path, O_RDONLY);

		if (ways[i] == dup_onto) {
			assert_int_equal(one.dup2(fd_two, other), -1);
			assert_int_equal(errno, EBUSY);
			one.close(other);
		} else {
			ways[i](other);
		}
		assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
		assert_int_equal(lock_two(F_WRLCK, 0, 10), EAGAIN);
	}
}

static void the_host_keeps_them_when_the_namespace_has_locks_too(void **state)
{
	int other = one.open(path, O_RDONLY);

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 10, 10), 0);
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	one.close(other);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_outside(F_WRLCK, 10, 10), 0);
	assert_int_equal(lock_one(F_WRLCK, 10, 10), 0);
	assert_int_equal(lock_outside(F_WRLCK, 10, 10), EAGAIN);
	// Nor does the end of a namespace take them.
	test_ns_destroy(one.ns);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_outside(F_WRLCK, 10, 10), 0);
	one = make_copy();
}

static void a_parked_descriptor_is_closed_when_it_can_be(void **state)
{
	int other = one.open(path, O_RDONLY), third;

	(void)state;
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	assert_int_equal(one.close(other), 0);
	assert_true(fcntl(other, F_GETFD) >= 0);
	assert_int_equal(one.close(other), -1);
	assert_int_equal(errno, EBADF);
	lock_host(F_UNLCK, 0, 0);
	third = one.open("/dev/null", O_RDONLY);
	one.close(third);
	third = one.open(path, O_RDONLY);
	one.close(third);
	assert_int_equal(fcntl(other, F_GETFD), -1);
}

static void a_parked_descriptor_has_no_locks_of_its_own(void **state)
{
	int other = one.open(path, O_RDWR);

	(void)state;
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	assert_int_equal(flock(other, LOCK_EX), 0);
	assert_int_equal(lock(host_fcntl, other, F_OFD_SETLK, F_WRLCK, 50, 1), 0);
	assert_int_equal(one.close(other), 0);
	assert_int_equal(flock(fd_two, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(lock_two(F_WRLCK, 50, 1), 0);
	flock(fd_two, LOCK_UN);
}

static size_t count_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

static void parked_descriptors_are_used_again(void **state)
{
	static const int modes[] = {O_RDWR, O_RDONLY | O_CLOEXEC, O_RDWR | O_APPEND};
	size_t before = count_descriptors();
	char byte;

	(void)state;
	assert_int_equal(lock_host(F_RDLCK, 0, 10), 0);
	for (size_t i = 0; i < 300; i++) {
		int mode = modes[i % 3], fd = one.open(path, mode);

		assert_true(fd >= 0);
		assert_int_equal(fcntl(fd, F_GETFL) & ~0100000, mode & ~O_CLOEXEC);
		assert_int_equal(fcntl(fd, F_GETFD), mode & O_CLOEXEC ? FD_CLOEXEC : 0);
		assert_int_equal(read(fd, &byte, 1), 1);
		assert_int_equal(byte, '0');
		assert_int_equal(lock(one.fcntl, fd, F_SETLK, F_RDLCK, 20, 10), 0);
		assert_int_equal(one.close(fd), 0);
		assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
		assert_int_equal(lock_outside(F_WRLCK, 20, 10), 0);
	}
	assert_in_range(count_descriptors(), before, before + 4);
}

static void a_shared_open_file_is_not_used_again(void **state)
{
	int other = one.open(path, O_RDWR), copy = dup(other), again;

	(void)state;
	assert_int_equal(lock_host(F_RDLCK, 0, 10), 0);
	assert_int_equal(one.close(other), 0);
	again = one.open(path, O_RDWR);
	assert_int_not_equal(again, other);
	lseek(again, 5, SEEK_SET);
	assert_int_equal(lseek(copy, 0, SEEK_CUR), 0);
	assert_int_equal(one.close(again), 0);
	lock_host(F_UNLCK, 0, 0);
	close(copy);
}

static void a_stream_is_written_before_it_is_parked(void **state)
{
	FILE *stream = fdopen(one.open(path, O_RDWR), "r+");
	uint8_t *text;
	size_t size;

	(void)state;
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	assert_int_equal(fputs("spam", stream), 1);
	assert_int_equal(one.fclose(stream), 0);
	lock_host(F_UNLCK, 0, 0);
	text = test_read(path, &size);
	assert_memory_equal(text, "spam456789", 10);
	free(text);
}

// A program that closes all.
static void our_descriptors_survive_a_program_and_are_renewed_after_the_host(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(two.close_range(400, ~0u), 0);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
	close_range(400, ~0u, 0);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
}

static void a_program_gets_the_number_of_one_of_ours(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	for (int fd = 400; fd < 1000; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		assert_int_equal(two.dup2(fd_two, fd), fd);
		assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
		assert_int_equal(two.close(fd), 0);
		assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
		return;
	}
	fail();
}

static void nothing_is_left_behind(void **state)
{
	struct test_snapshot before = test_snapshot();
	struct copy copy = make_copy();

	(void)state;
	for (int i = 0; i < 50; i++) {
		int fd = copy.open(path, O_RDWR);

		assert_int_equal(lock(copy.fcntl, fd, F_SETLK, F_WRLCK, 0, 10), 0);
		assert_int_equal(copy.close(fd), 0);
	}
	test_ns_destroy(copy.ns);
	assert_int_equal(test_snapshot().fds, before.fds);
}

static void the_end_of_a_namespace_drops_its_locks(void **state)
{
	struct copy copy = make_copy();
	int fd = copy.open(path, O_RDWR);

	(void)state;
	assert_int_equal(lock(copy.fcntl, fd, F_SETLK, F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_one(F_WRLCK, 10, 10), 0);
	test_ns_destroy(copy.ns);
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_host(F_WRLCK, 10, 10), EAGAIN);
	close(fd);
}

// --- fork ---------------------------------------------------------------------------------

static int locks_in_child(void *arg)
{
	int fd = one.open(path, O_RDWR);

	(void)arg;
	if (lock_one(F_WRLCK, 0, 10) != EAGAIN || ask(one.fcntl, fd, F_WRLCK, 0, 10).l_pid != -1)
		return 1;
	if (lock_one(F_WRLCK, 20, 10) || lock_two(F_WRLCK, 20, 10) != EAGAIN)
		return 2;
	one.close(fd_one);
	return lock_two(F_WRLCK, 20, 10) ? 3 : 0;
}

static void a_forked_child_has_none(void **state)
{
	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_host(F_WRLCK, 40, 10), 0);
	assert_int_equal(test_in_child(locks_in_child, NULL), 0);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_outside(F_WRLCK, 40, 10), EAGAIN);
}

static void a_child_does_not_keep_its_parent_s(void **state)
{
	int ends[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		_exit(write(ends[1], "", 1) != 1 || pause());
	assert_int_equal(read(ends[0], &byte, 1), 1);
	one.close(fd_one);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
}

// It has the parent's memory: what it closes must not be seen there.
static void a_vforked_child_changes_nothing(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	pid = vfork();
	if (!pid) {
		one.close(fd_one);
		one.close_range(3, ~0u);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
}

// --- waiting ------------------------------------------------------------------------------

struct waiter {
	pthread_t thread;
	struct copy *copy;
	int fd, result;
	off_t start;
	pid_t tid;
};

static void *wait_for_lock(void *arg)
{
	struct waiter *waiter = arg;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	waiter->result = lock(waiter->copy->fcntl, waiter->fd, F_SETLKW, F_WRLCK, waiter->start, 1);
	return NULL;
}

static void begin_wait(struct waiter *waiter)
{
	char name[64], text[256] = "";

	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_lock, waiter), 0);
	while (!__atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", waiter->tid);
	while (strncmp(text, "72 ", 3)) { // fcntl
		FILE *file = fopen(name, "re");

		usleep(1000);
		if (!fgets(text, sizeof(text), file))
			text[0] = 0;
		fclose(file);
	}
}

static int end_wait(struct waiter *waiter)
{
	pthread_join(waiter->thread, NULL);
	return waiter->result;
}

static void setlkw_waits(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	// Others go on meanwhile, in the same namespace, too.
	assert_int_equal(lock_two(F_WRLCK, 20, 1), 0);
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(end_wait(&waiter), 0);
	assert_int_equal(lock_one(F_WRLCK, 0, 1), EAGAIN);
}

static void setlkw_waits_for_the_host(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};

	(void)state;
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	assert_int_equal(lock_host(F_UNLCK, 0, 10), 0);
	assert_int_equal(end_wait(&waiter), 0);
	assert_int_equal(lock_host(F_WRLCK, 0, 1), EAGAIN);
}

static void ignore(int number)
{
	(void)number;
}

static void setlkw_is_interrupted(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};
	struct sigaction action = {.sa_handler = ignore}, old;

	(void)state;
	sigaction(SIGUSR1, &action, &old);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	pthread_kill(waiter.thread, SIGUSR1);
	assert_int_equal(end_wait(&waiter), EINTR);
	sigaction(SIGUSR1, &old, NULL);
}

static void setlkw_is_cancelled(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two};
	int other = two.open(path, O_RDWR);

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	pthread_cancel(waiter.thread);
	end_wait(&waiter);
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
	two.close(other);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
}

static void a_lock_that_comes_after_the_close_is_dropped(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = two.open(path, O_RDWR)};

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	begin_wait(&waiter);
	two.close(waiter.fd);
	close(waiter.fd); // parked while it is waited for; of a process it would be closed now
	assert_int_equal(lock_one(F_UNLCK, 0, 10), 0);
	assert_int_equal(end_wait(&waiter), EBADF);
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
}

static void a_deadlock_is_found(void **state)
{
	struct waiter waiter = {.copy = &two, .fd = fd_two, .start = 0};

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 1), 0);
	assert_int_equal(lock_two(F_WRLCK, 1, 1), 0);
	begin_wait(&waiter);
	assert_int_equal(lock(one.fcntl, fd_one, F_SETLKW, F_WRLCK, 1, 1), EDEADLK);
	assert_int_equal(lock_one(F_UNLCK, 0, 1), 0);
	assert_int_equal(end_wait(&waiter), 0);
}

static void a_deadlock_of_three_in_two_files_is_found(void **state)
{
	struct copy three = make_copy();
	char *name = strdup(test_temp("second"));
	int second_one, second_three, fd_three;
	struct waiter waiters[2];

	(void)state;
	test_write(name, "", 0);
	second_one = one.open(name, O_RDWR);
	second_three = three.open(name, O_RDWR);
	fd_three = three.open(path, O_RDWR);
	assert_int_equal(lock_one(F_WRLCK, 0, 1), 0);
	assert_int_equal(lock_two(F_WRLCK, 1, 1), 0);
	assert_int_equal(lock(three.fcntl, second_three, F_SETLK, F_WRLCK, 0, 1), 0);
	waiters[0] = (struct waiter){.copy = &two, .fd = fd_two, .start = 0}; // for one
	waiters[1] = (struct waiter){.copy = &three, .fd = fd_three, .start = 1}; // for two
	begin_wait(&waiters[0]);
	begin_wait(&waiters[1]);
	assert_int_equal(lock(one.fcntl, second_one, F_SETLKW, F_WRLCK, 0, 1), EDEADLK);
	lock_one(F_UNLCK, 0, 1);
	assert_int_equal(end_wait(&waiters[0]), 0);
	lock_two(F_UNLCK, 0, 0);
	assert_int_equal(end_wait(&waiters[1]), 0);
	one.close(second_one);
	three.close(second_three);
	three.close(fd_three);
	test_ns_destroy(three.ns);
	unlink(name);
	free(name);
}

// --- many at once ---------------------------------------------------------------------------

#define TURNS 400

// A counter in the file, under a lock. A connection for each turn is the hard case.
struct worker {
	pthread_t thread;
	struct copy *copy; // NULL: the host
	bool failed;
};

static bool count_up(int fd)
{
	char text[24] = "";
	int size;

	if (pread(fd, text, sizeof(text) - 1, 100) < 0)
		return false;
	size = snprintf(text, sizeof(text), "%ld", strtol(text, NULL, 10) + 1);
	return pwrite(fd, text, (size_t)size, 100) == size;
}

static void *count_in_turns(void *arg)
{
	struct worker *worker = arg;
	struct copy *copy = worker->copy;

	for (int i = 0; i < TURNS && !worker->failed; i++) {
		int fd = copy ? copy->open(path, O_RDWR) : fd_host;
		int (*function)(int, int, struct flock *) = copy ? copy->fcntl : host_fcntl;

		worker->failed = fd < 0 || lock(function, fd, F_SETLKW, F_WRLCK, 0, 1) ||
				 !count_up(fd) ||
				 (i % 2 && lock(function, fd, F_SETLK, F_UNLCK, 0, 1));
		if (copy)
			copy->close(fd); // drops it
		else
			lock(function, fd, F_SETLK, F_UNLCK, 0, 1);
	}
	return NULL;
}

static int count_outside(void *arg)
{
	struct worker worker = {0};

	(void)arg;
	fd_host = open(path, O_RDWR);
	count_in_turns(&worker);
	return worker.failed;
}

static void many_lockers_lose_nothing(void **state)
{
	struct worker workers[] = {{.copy = &one}, {.copy = &two}, {.copy = NULL}};
	char text[24] = "";
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		_exit(count_outside(NULL));
	for (size_t i = 0; i < 3; i++)
		pthread_create(&workers[i].thread, NULL, count_in_turns, &workers[i]);
	for (size_t i = 0; i < 3; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_false(workers[i].failed);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(pread(fd_host, text, sizeof(text) - 1, 100) > 0);
	assert_int_equal(strtol(text, NULL, 10), 4 * TURNS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(locks_of_two_namespaces_conflict),
		CASE(shared_locks_do_not_conflict),
		CASE(locks_conflict_with_the_host_s),
		CASE(locks_conflict_with_another_process_s),
		CASE(a_namespace_does_not_conflict_with_itself),
		CASE(a_file_is_known_by_all_of_its_names),
		CASE(a_program_with_its_own_table_has_the_kernel_s_locks),
		CASE(getlk_names_the_holder),
		CASE(getlk_of_what_is_free_changes_only_the_type),
		CASE(getlk_names_another_process),
		CASE(ranges_are_relative_to_the_caller_s_descriptor),
		CASE(errors_are_the_kernel_s),
		CASE(a_file_opened_for_reading_is_locked_and_then_for_writing),
		CASE(other_commands_are_the_kernel_s),
		CASE(closing_any_descriptor_drops_the_namespace_s_locks),
		CASE(closing_another_file_drops_nothing),
		CASE(dup2_onto_itself_closes_nothing),
		CASE(the_host_keeps_its_locks),
		CASE(the_host_keeps_them_when_the_namespace_has_locks_too),
		CASE(a_parked_descriptor_is_closed_when_it_can_be),
		CASE(a_parked_descriptor_has_no_locks_of_its_own),
		CASE(parked_descriptors_are_used_again),
		CASE(a_shared_open_file_is_not_used_again),
		CASE(a_stream_is_written_before_it_is_parked),
		CASE(our_descriptors_survive_a_program_and_are_renewed_after_the_host),
		CASE(a_program_gets_the_number_of_one_of_ours),
		CASE(nothing_is_left_behind),
		CASE(the_end_of_a_namespace_drops_its_locks),
		CASE(a_forked_child_has_none),
		CASE(a_child_does_not_keep_its_parent_s),
		CASE(a_vforked_child_changes_nothing),
		CASE(setlkw_waits),
		CASE(setlkw_waits_for_the_host),
		CASE(setlkw_is_interrupted),
		CASE(setlkw_is_cancelled),
		CASE(a_lock_that_comes_after_the_close_is_dropped),
		CASE(a_deadlock_is_found),
		CASE(a_deadlock_of_three_in_two_files_is_found),
		CASE(many_lockers_lose_nothing),
	};

	return cmocka_run_group_tests_name("record_locks", tests, test_warm_up, NULL);
}
