// SPDX-License-Identifier: MIT
// loader/process/kernel/files.c and loader/python/program_thread.c: which descriptors, current
// directory and umask an interpreter has, and that a host keeps its own.

#define _GNU_SOURCE
#include "calls.h"

#include "process/kernel/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char here[PATH_MAX];

static struct gorgon_interp *create(enum gorgon_files files)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .files = files};
	struct gorgon_interp *interp;

	assert_ok(gorgon_interp_create(&opts, &interp));
	return interp;
}

static int run_main(struct gorgon_interp *interp, const char *code)
{
	const char *const argv[] = {"-c", code};
	int status = -1;

	assert_ok(gorgon_interp_main(interp, 2, argv, &status));
	return status;
}

// Whether the host still is in the same directory.
static bool is_here(void)
{
	char now[PATH_MAX];

	return getcwd(now, sizeof(now)) && !strcmp(now, here);
}

#define LEAVE                                                                                      \
	"import os; os.closerange(3, 300); os.chdir('/usr'); os.umask(0o77); "                    \
	"assert os.readlink('/proc/self/cwd') == '/usr'"

// As in some containers: a thread has no directory and no umask of its own then.
#define SKIP_WITHOUT_UNSHARE()                                                                     \
	do {                                                                                       \
		if (unshare(0))                                                                    \
			skip_because("unshare(2) is refused");                                     \
	} while (0)

static void interp_main_leaves_the_host_its_descriptors_and_directory(void **state)
{
	struct gorgon_interp *interp;
	mode_t mask;
	int fd;

	(void)state;
	SKIP_WITHOUT_UNSHARE();
	interp = create(GORGON_FILES_AUTO);
	fd = open("/etc/passwd", O_RDONLY);
	mask = umask(022);
	assert_int_equal(run_main(interp, LEAVE), 0);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_true(is_here());
	assert_int_equal(umask(mask), 022);
	assert_ok(gorgon_interp_destroy(interp));
	close(fd);
}

static void interp_main_with_shared_files_changes_the_hosts(void **state)
{
	struct gorgon_interp *interp = create(GORGON_FILES_SHARED);
	mode_t mask = umask(022);

	(void)state;
	assert_int_equal(run_main(interp, "import os; os.chdir('/usr'); os.umask(0o77)"), 0);
	assert_false(is_here());
	assert_int_equal(umask(mask), 077);
	assert_int_equal(chdir(here), 0);
	assert_ok(gorgon_interp_destroy(interp));
}

static ssize_t write_nowhere(void *ctx, int fd, const void *data, size_t size)
{
	(void)fd;
	(void)data;
	*(pthread_t *)ctx = pthread_self();
	return (ssize_t)size;
}

// On another thread the host's function would find the program's descriptors.
static void interp_main_with_a_function_of_the_host_runs_on_its_thread(void **state)
{
	pthread_t wrote;
	const struct gorgon_ns_opts ns_opts = {
		.size = sizeof(ns_opts), .write_output = write_nowhere, .write_ctx = &wrote};
	const struct gorgon_interp_opts opts = {.size = sizeof(opts), .ns = &ns_opts};
	struct gorgon_interp *interp;

	(void)state;
	assert_ok(gorgon_interp_create(&opts, &interp));
	assert_int_equal(run_main(interp, "print(1)"), 0);
	assert_true(pthread_equal(wrote, pthread_self()));
	assert_ok(gorgon_interp_destroy(interp));
}

static void *run_for_good(void *arg)
{
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC), kept = open("/etc/passwd", O_RDONLY);
	char now[PATH_MAX];

	assert_int_equal(run_main(arg, LEAVE), 0);
	assert_true(gorgon_files_are_own());
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fcntl(kept, F_GETFD), -1);
	// Descriptors of the program are closed, and its directory is left, too.
	assert_string_equal(getcwd(now, sizeof(now)), "/");
	return (void *)(intptr_t)kept;
}

static void interp_main_on_a_thread_of_its_own_keeps_that(void **state)
{
	struct gorgon_interp *interp;
	pthread_t thread;
	void *kept;

	(void)state;
	SKIP_WITHOUT_UNSHARE();
	interp = create(GORGON_FILES_THREAD);
	assert_int_equal(pthread_create(&thread, NULL, run_for_good, interp), 0);
	assert_int_equal(pthread_join(thread, &kept), 0);
	// The descriptor was this thread's, too, until the other thread got a table of its own.
	assert_true(fcntl((int)(intptr_t)kept, F_GETFD) >= 0);
	close((int)(intptr_t)kept);
	assert_true(is_here());
	assert_ok(gorgon_interp_destroy(interp));
}

static void *unshare_and_look(void *arg)
{
	int first = *(int *)arg;

	assert_int_equal(gorgon_files_unshare(), 0);
	assert_int_equal(fcntl(first, F_GETFD), -1);
	assert_int_equal(fcntl(first + 1, F_GETFD), 0);
	return NULL;
}

// The end of the table, behind which there are no descriptors, is found in several ways, whatever its size.
static void a_table_of_any_size_loses_what_is_not_inherited(void **state)
{
	static const int NUMBERS[] = {3, 62, 63, 64, 127, 128, 255, 511, 512, 1022, 1023, 1024, 3000};
	struct rlimit before, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
		int file = open("/etc/passwd", O_RDONLY), first = fcntl(file, F_DUPFD_CLOEXEC, NUMBERS[i]);
		int kept = fcntl(file, F_DUPFD, first + 1);
		pthread_t thread;

		assert_int_equal(kept, first + 1);
		assert_int_equal(pthread_create(&thread, NULL, unshare_and_look, &first), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_true(fcntl(first, F_GETFD) >= 0);
		close(file);
		close(first);
		close(kept);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void interp_files_unknown_is_refused(void **state)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .files = (enum gorgon_files)7};
	struct gorgon_interp *interp;

	(void)state;
	assert_error(gorgon_interp_create(&opts, &interp), GORGON_ERROR_ARGUMENT,
		     "gorgon_interp_opts: files is 7, expected 0 to 2");
}

// The program's thread inherits from the caller: signals that are blocked, the name, room on the stack.
static void interp_main_thread_is_like_the_callers(void **state)
{
	struct gorgon_interp *interp = create(GORGON_FILES_AUTO);
	sigset_t blocked, before;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	assert_int_equal(run_main(interp,
				  "import signal, sys\n"
				  "assert signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
				  "assert open('/proc/thread-self/comm').read() == open('/proc/self/comm').read()\n"
				  "import ctypes, errno, os\n"
				  "c = ctypes.CDLL(None, use_errno=True)\n"
				  "fd = c.openat2(-100, b'/proc/self/comm', (ctypes.c_uint64 * 3)(), ctypes.c_size_t(24))\n"
				  "if fd >= 0: assert os.read(fd, 99).decode() == open('/proc/thread-self/comm').read()\n"
				  "else: assert ctypes.get_errno() == errno.ENOSYS, ctypes.get_errno()\n"
				  "sys.setrecursionlimit(10000)\n"
				  "def f(n): return n and f(n - 1)\n"
				  "f(9000)\n"),
			 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_ok(gorgon_interp_destroy(interp));
}

static void *run_cancelled(void *interp)
{
	assert_int_equal(run_main(interp, "import time; time.sleep(0.2)"), 0);
	pthread_testcancel();
	return NULL;
}

static void interp_main_is_not_cancelled_before_its_end(void **state)
{
	struct gorgon_interp *interp;
	pthread_t thread;
	void *ret;

	(void)state;
	if (TEST_SANITIZED)
		skip_because("its runtime takes frames that a cancelled thread leaves for damage");
	interp = create(GORGON_FILES_AUTO);
	assert_int_equal(pthread_create(&thread, NULL, run_cancelled, interp), 0);
	pthread_cancel(thread);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	assert_ok(gorgon_interp_destroy(interp));
}

// --- pools ------------------------------------------------------------------------------------

static struct gorgon_error *call_pool(struct gorgon_pool *pool, const char *function,
				      struct gorgon_value *ret)
{
	struct gorgon_job *job;

	assert_ok(gorgon_pool_submit(pool, NULL, function, NULL, NULL, -1, &job));
	return gorgon_job_finish(job, ret);
}

static void assert_directory(struct gorgon_pool *pool, const char *expected)
{
	struct gorgon_value ret = {.kind = GORGON_VALUE_NONE};

	assert_ok(call_pool(pool, "where", &ret));
	assert_int_equal(ret.kind, GORGON_VALUE_STRING);
	assert_string_equal(ret.text.data, expected);
	gorgon_value_deinit(&ret);
}

static void pool_workers_have_their_own_files_and_begin_where_the_host_is(void **state)
{
	struct gorgon_pool_opts opts = {
		.size = sizeof(opts),
		.count = 1,
		.warm_up = "import os\n"
			   "def where(): return os.getcwd()\n"
			   "def leave(): os.chdir('/usr'); os.closerange(3, 300)\n"
			   "def open_one(): os.open('/etc/passwd', os.O_RDONLY)\n"
			   "def count(): return len(os.listdir('/proc/self/fd'))\n"
			   "def end(): import ctypes; ctypes.CDLL(None).exit(0)\n",
	};
	struct gorgon_value before, after;
	struct gorgon_pool *pool;
	int fd;

	(void)state;
	SKIP_WITHOUT_UNSHARE();
	assert_ok(gorgon_pool_create(&opts, &pool));
	fd = open("/etc/passwd", O_RDONLY);
	assert_directory(pool, here);
	assert_ok(call_pool(pool, "leave", NULL));
	assert_directory(pool, "/usr");
	assert_ok(call_pool(pool, "count", &before));
	assert_ok(call_pool(pool, "open_one", NULL));
	assert_error(call_pool(pool, "end", NULL), GORGON_ERROR_PYTHON, "exit(0)");
	// This is the next interpreter on the same thread.
	assert_directory(pool, here);
	assert_ok(call_pool(pool, "count", &after));
	assert_true(after.integer <= before.integer);
	assert_true(is_here());
	assert_true(fcntl(fd, F_GETFD) >= 0);
	close(fd);
	assert_ok(gorgon_pool_destroy(pool));
}

// --- descriptors handed on ----------------------------------------------------------------------

static void descriptor_goes_from_host_to_program_and_back(void **state)
{
	struct gorgon_interp *interp = create(GORGON_FILES_AUTO);
	int there[2], back, none;
	char text[8] = "";

	(void)state;
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	assert_ok(gorgon_descriptor_send("there", there[1]));
	close(there[1]);
	assert_int_equal(run_main(interp, "import gorgon, os\n"
					  "os.write(gorgon.receive_fd('there'), b'hello')\n"
					  "reader, writer = os.pipe()\n"
					  "os.write(writer, b'back')\n"
					  "gorgon.send_fd(reader, 'back')\n"),
			 0);
	assert_int_equal(read(there[0], text, sizeof(text)), 5);
	assert_int_equal(read(there[0], text, sizeof(text)), 0);
	assert_ok(gorgon_descriptor_receive("back", &back));
	assert_true(fcntl(back, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(back, text, sizeof(text)), 4);
	assert_error(gorgon_descriptor_receive("back", &none), GORGON_ERROR_MISSING, "'back'");
	assert_error(gorgon_descriptor_send("back", -1), GORGON_ERROR_OS, "Bad file descriptor");
	close(back);
	close(there[0]);
	assert_ok(gorgon_interp_destroy(interp));
}

static void descriptor_waits_while_there_is_no_room(void **state)
{
	struct rlimit before, none;
	int got, spare = open("/dev/null", O_RDONLY);

	(void)state;
	assert_ok(gorgon_descriptor_send("kept", spare));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)spare + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_error(gorgon_descriptor_receive("kept", &got), GORGON_ERROR_OS, "'kept'");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_ok(gorgon_descriptor_receive("kept", &got));
	close(got);
	close(spare);
}

// The child has a keeper of its own.
static void descriptor_of_a_parent_is_not_a_childs(void **state)
{
	int fd = open("/dev/null", O_RDONLY), got, status;
	pid_t child;

	(void)state;
	assert_ok(gorgon_descriptor_send("parent's", fd));
	child = fork();
	if (!child) {
		struct gorgon_error *err = gorgon_descriptor_receive("parent's", &got);

		if (gorgon_error_code(err) != GORGON_ERROR_MISSING ||
		    gorgon_descriptor_send("child's", fd) || gorgon_descriptor_receive("child's", &got))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ok(gorgon_descriptor_receive("parent's", &got));
	close(got);
	close(fd);
}

// --- the thread that keeps descriptors ------------------------------------------------------------

static pthread_t tester;
static atomic_int failures, reason; // so many calls of sendmsg() on other threads fail

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (pthread_equal(pthread_self(), tester) || failures == 0)
		return __real_sendmsg(fd, message, flags);
	failures--;
	errno = reason;
	return -1;
}

static void assert_os_error(struct gorgon_error *err, int expected)
{
	assert_int_equal(gorgon_error_code(err), GORGON_ERROR_OS);
	assert_int_equal(gorgon_error_errno(err), expected);
	gorgon_error_destroy(err);
}

// The keeper's answer fails for every reason: once, so that it can say why, or as often as it tries.
static void descriptor_whose_answer_cannot_be_sent_is_an_error(void **state)
{
	int fd = open("/dev/null", O_RDONLY), got;

	(void)state;
	assert_ok(gorgon_descriptor_send("kept", fd));
	for (int number = 1; number <= EHWPOISON; number++) {
		if (number == EINTR)
			continue; // the call is made again
		for (int times = 1; times <= 2; times++) {
			reason = number;
			failures = times;
			assert_os_error(gorgon_descriptor_receive("kept", &got), times == 1 ? number : ECONNRESET);
			failures = times;
			assert_os_error(gorgon_descriptor_send("lost", fd), times == 1 ? number : ECONNRESET);
			assert_int_equal(failures, 0);
			assert_error(gorgon_descriptor_receive("lost", &got), GORGON_ERROR_MISSING, "'lost'");
		}
	}
	reason = EINTR;
	failures = 3;
	assert_ok(gorgon_descriptor_receive("kept", &got));
	close(got);
	close(fd);
}

// The keeper's descriptors; returns how many there are. @name gets the name of its socket.
static size_t look_at_keeper(char name[static 64])
{
	char path[300], text[256], inode[32] = "";
	DIR *tasks = opendir("/proc/self/task"), *fds = NULL;
	FILE *sockets = fopen("/proc/net/unix", "re");
	struct dirent *entry;
	size_t ret = 0;

	assert_non_null(tasks);
	assert_non_null(sockets);
	while (!fds && (entry = readdir(tasks))) {
		FILE *in;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		in = fopen(path, "re");
		if (in && fgets(text, sizeof(text), in) && !strcmp(text, "gorgon-keeper\n")) {
			snprintf(path, sizeof(path), "/proc/self/task/%s/fd", entry->d_name);
			fds = opendir(path);
		}
		if (in)
			fclose(in);
	}
	assert_non_null(fds);
	while ((entry = readdir(fds)))
		ret += *entry->d_name != '.';
	strcat(path, "/0");
	assert_true(readlink(path, text, sizeof(text)) > 0);
	assert_int_equal(sscanf(text, "socket:[%31[0-9]]", inode), 1);
	*name = '\0';
	while (!*name && fgets(text, sizeof(text), sockets)) {
		char seen[32] = "", address[64] = "";

		if (sscanf(text, "%*s %*s %*s %*s %*s %*s %31s @%63s", seen, address) == 2 && !strcmp(seen, inode))
			strcpy(name, address);
	}
	assert_true(*name);
	closedir(fds);
	closedir(tasks);
	fclose(sockets);
	return ret;
}

// The keeper closes its socket for an answer after the asking thread has got that.
static void assert_keeper_has(size_t count, char name[static 64])
{
	size_t seen;

	for (int i = 0; (seen = look_at_keeper(name)) != count && i < 500; i++)
		usleep(10000);
	assert_int_equal(seen, count);
}

static void send_descriptors_to(const char *name, size_t count)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char room[CMSG_SPACE(16 * sizeof(int))] = "";
	int fds[16] = {0}, at = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct iovec part = {(void *)"", 1};
	struct msghdr message = {
		.msg_name = &to,
		.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};

	strcpy(to.sun_path + 1, name);
	*CMSG_FIRSTHDR(&message) = (struct cmsghdr){CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), fds, count * sizeof(int));
	if (sendmsg(at, &message, 0) != 1)
		_exit(1);
}

static void descriptors_of_strangers_do_not_stay(void **state)
{
	int fd = open("/dev/null", O_RDONLY), got, status;
	char name[64];
	pid_t child;

	(void)state;
	assert_ok(gorgon_descriptor_send("kept", fd));
	assert_keeper_has(2, name); // its socket, and what it keeps
	child = fork();
	if (!child) {
		for (size_t count = 1; count <= 16; count++)
			send_descriptors_to(name, count);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_error(gorgon_descriptor_receive("none", &got), GORGON_ERROR_MISSING, "'none'"); // what came before has been read now
	assert_keeper_has(2, name);
	assert_ok(gorgon_descriptor_receive("kept", &got));
	close(got);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interp_main_leaves_the_host_its_descriptors_and_directory),
		cmocka_unit_test(interp_main_with_shared_files_changes_the_hosts),
		cmocka_unit_test(interp_main_with_a_function_of_the_host_runs_on_its_thread),
		cmocka_unit_test(interp_main_on_a_thread_of_its_own_keeps_that),
		cmocka_unit_test(a_table_of_any_size_loses_what_is_not_inherited),
		cmocka_unit_test(interp_files_unknown_is_refused),
		cmocka_unit_test(interp_main_thread_is_like_the_callers),
		cmocka_unit_test(interp_main_is_not_cancelled_before_its_end),
		cmocka_unit_test(pool_workers_have_their_own_files_and_begin_where_the_host_is),
		cmocka_unit_test(descriptor_goes_from_host_to_program_and_back),
		cmocka_unit_test(descriptor_waits_while_there_is_no_room),
		cmocka_unit_test(descriptor_of_a_parent_is_not_a_childs),
		cmocka_unit_test(descriptor_whose_answer_cannot_be_sent_is_an_error),
		cmocka_unit_test(descriptors_of_strangers_do_not_stay),
	};

	tester = pthread_self();
	if (!getcwd(here, sizeof(here)))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
