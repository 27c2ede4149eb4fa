// SPDX-License-Identifier: MIT
// loader/process/kernel/record_locks.c, lock_files.c and closing.c: who conflicts with whom, what
// fcntl() returns, and which locks a close() drops.

#define _GNU_SOURCE
#include "lockers.h"
#include "ns/ns.h"
#include "process/kernel/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
	assert_int_equal(lock_at(one.fcntl, other, F_SETLK, F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_RDLCK, 0, 10), EAGAIN);
	assert_int_equal(lock_at(one.fcntl, other, F_SETLK, F_UNLCK, 0, 5), 0);
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
	assert_int_equal(lock_at(two.fcntl, fd, F_SETLK, F_WRLCK, 0, 0), EAGAIN);
	assert_int_equal(rename(name, path), 0);
	unlink(path);
	unlink(name);
	assert_int_equal(lock_at(two.fcntl, fd, F_SETLK, F_WRLCK, 0, 0), EAGAIN);
	assert_int_equal(lock_one(F_UNLCK, 0, 0), 0);
	assert_int_equal(lock_at(two.fcntl, fd, F_SETLK, F_WRLCK, 0, 0), 0);
	two.close(fd);
	free(name);
}

static void a_program_with_its_own_table_has_the_kernel_s_locks(void **state)
{
	struct gorgon_program_files *files = gorgon_parts_state(two.ns->parts, &gorgon_files_part);

	(void)state;
	files->own = true;
	// In this test the table is really the host's, and so are the locks of the namespace.
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
	assert_int_equal(lock_at(host_fcntl, foreign, F_OFD_SETLK, F_WRLCK, 30, 1), 0);
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

	lock_at(host_fcntl, fd, F_SETLK, F_WRLCK, 0, 1);
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

// What the kernel returns to a process, our functions return.
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
	assert_int_equal(lock_at(one.fcntl, -1, F_SETLK, F_WRLCK, 0, 0), EBADF);
	assert_int_equal(one.lockf(fd_one, 77, 0), -1);
	assert_int_equal(errno, EINVAL);
}

static void a_file_opened_for_reading_is_locked_and_then_for_writing(void **state)
{
	int fd = one.open(path, O_RDONLY);

	(void)state;
	// Nobody could write to this file, so our own descriptor is opened for reading, too.
	assert_int_equal(chmod(path, 0400), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0); // root is not bound by modes
	assert_int_equal(lock_at(one.fcntl, fd, F_SETLK, F_RDLCK, 2, 3), 0);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(lock_two(F_WRLCK, 4, 1), EAGAIN);
	assert_int_equal(lock_one(F_WRLCK, 20, 1), ENOLCK);
	one.close(fd);
	assert_int_equal(lock_one(F_WRLCK, 20, 1), 0);
	assert_int_equal(lock_two(F_WRLCK, 20, 1), EAGAIN);
	assert_int_equal(lock_one(F_UNLCK, 20, 1), 0);
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
		// The lock of two is still there.
		assert_int_equal(lock_host(F_WRLCK, 10, 10), EAGAIN);
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

static size_t count_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

// A stream whose locks are dropped is written, too.
static void a_stream_is_written_when_it_drops_locks(void **state)
{
	FILE *stream = fdopen(one.open(path, O_RDWR), "r+");
	uint8_t *text;
	size_t size;

	(void)state;
	assert_int_equal(lock_one(F_WRLCK, 0, 10), 0);
	assert_int_equal(fputs("spam", stream), 1);
	assert_int_equal(one.fclose(stream), 0);
	assert_int_equal(lock_two(F_WRLCK, 0, 10), 0);
	text = test_read(path, &size);
	assert_memory_equal(text, "spam456789", 10);
	free(text);
}

// Otherwise each file that was ever locked would cost a descriptor for good.
static void a_close_of_one_namespace_closes_what_others_need_no_longer(void **state)
{
	size_t before = count_descriptors();
	int other = two.open(path, O_RDONLY);

	(void)state;
	assert_int_equal(lock_one(F_RDLCK, 0, 10), 0);
	assert_int_equal(lock_two(F_RDLCK, 0, 10), 0);
	two.close(two.open(path, O_RDONLY));
	two.close(other);
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), EAGAIN);
	assert_int_equal(count_descriptors(), before + 1);
	one.close(one.open(path, O_RDONLY));
	assert_int_equal(lock_outside(F_WRLCK, 0, 10), 0);
	assert_int_equal(count_descriptors(), before);
}

// A program closes all descriptors.
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
	struct locker copy = lockers_make_copy();

	(void)state;
	for (int i = 0; i < 50; i++) {
		int fd = copy.open(path, O_RDWR);

		assert_int_equal(lock_at(copy.fcntl, fd, F_SETLK, F_WRLCK, 0, 10), 0);
		assert_int_equal(copy.close(fd), 0);
	}
	test_ns_destroy(copy.ns);
	assert_int_equal(test_snapshot().fds, before.fds);
}

static void the_end_of_a_namespace_drops_its_locks(void **state)
{
	struct locker copy = lockers_make_copy();
	int fd = copy.open(path, O_RDWR);

	(void)state;
	assert_int_equal(lock_at(copy.fcntl, fd, F_SETLK, F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_one(F_WRLCK, 10, 10), 0);
	test_ns_destroy(copy.ns);
	assert_int_equal(lock_host(F_WRLCK, 0, 10), 0);
	assert_int_equal(lock_host(F_WRLCK, 10, 10), EAGAIN);
	close(fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, lockers_set_up, lockers_tear_down)

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
		CASE(a_stream_is_written_when_it_drops_locks),
		CASE(a_close_of_one_namespace_closes_what_others_need_no_longer),
		CASE(our_descriptors_survive_a_program_and_are_renewed_after_the_host),
		CASE(a_program_gets_the_number_of_one_of_ours),
		CASE(nothing_is_left_behind),
		CASE(the_end_of_a_namespace_drops_its_locks),
	};

	return cmocka_run_group_tests_name("record_locks", tests, test_warm_up, NULL);
}
