// SPDX-License-Identifier: MIT
// loader/process: the C library's databases, and its functions that have one answer for the process. Namespaces use
// them at once and in turns, and each gets what a process of its own would get. The expected answers are those of
// the test program's own calls, made while nothing else runs.

#define _GNU_SOURCE
#include "helpers.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mntent.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pthread.h>
#include <pty.h>
#include <pwd.h>
#include <rpc/netdb.h>
#include <sched.h>
#include <shadow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAMESPACES 4

static struct gorgon_ns *namespaces[NAMESPACES];
static struct gorgon_object *objects[NAMESPACES];

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < NAMESPACES; i++) {
		namespaces[i] = test_ns();
		objects[i] = test_open(namespaces[i], "libdatabases.so");
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < NAMESPACES; i++) {
		gorgon_object_close(objects[i]);
		test_ns_destroy(namespaces[i]);
	}
	return 0;
}

// Returns the function that code of namespace @i calls by the name @prefix@name@suffix. For -1, the test program is the caller.
static void *function(int i, const char *prefix, const char *name, const char *suffix)
{
	char whole[50];
	void *ret;

	snprintf(whole, sizeof(whole), "%s%s%s", prefix, name, suffix);
	ret = i < 0 ? dlsym(RTLD_DEFAULT, whole)
		    : SYMBOL(objects[i], void *(*)(const char *), "databases_function")(whole);
	assert_non_null(ret);
	return ret;
}

#define CALL(i, type, name) ((type)function(i, "", name, ""))

// --- walks ------------------------------------------------------------------------------------

typedef int describe_fn(const void *entry, FILE *file);

// Writes what the members of an entry are.
static int describe_user(const void *entry, FILE *file)
{
	return putpwent(entry, file);
}

static int describe_group(const void *entry, FILE *file)
{
	return putgrent(entry, file);
}

static int describe_secret(const void *entry, FILE *file)
{
	return putspent(entry, file);
}

static const struct walked {
	const char *name;
	describe_fn *describe;
} walked[] = {
	{"pwent", describe_user},
	{"grent", describe_group},
	{"spent", describe_secret},
};
#define WALKED (sizeof(walked) / sizeof(*walked))

static void restart(int i, const struct walked *of)
{
	((void (*)(int))function(i, "set", of->name, ""))(0);
}

static void end(int i, const struct walked *of)
{
	((void (*)(void))function(i, "end", of->name, ""))();
}

struct text {
	char *data;
	size_t size;
	FILE *file;
};

static void begin_text(struct text *text)
{
	*text = (struct text){0};
	text->file = open_memstream(&text->data, &text->size);
	assert_non_null(text->file);
}

// Writes the next entry. False: there is none.
static bool step(int i, const struct walked *of, FILE *file)
{
	char *entry = ((char *(*)(void))function(i, "get", of->name, ""))();

	if (!entry)
		return false;
	assert_int_equal(of->describe(entry, file), 0);
	return true;
}

// More bytes than any database here has: a walk that others start again and again would not end.
#define ENOUGH 200000

// All entries; the caller frees the text.
static char *walk(int i, const struct walked *of)
{
	struct text text;

	begin_text(&text);
	restart(i, of);
	while (text.size < ENOUGH && step(i, of, text.file))
		fflush(text.file);
	end(i, of);
	fclose(text.file);
	return text.data;
}

// Two namespaces walk, some entries apart, while a third namespace ends a walk of its own after each step.
static void walks_in_turns_are_whole(void **state)
{
	(void)state;
	for (size_t w = 0; w < WALKED; w++) {
		char *expected = walk(-1, &walked[w]);
		struct text texts[2];
		bool more[2] = {true, true};

		for (int i = 0; i < 2; i++) {
			begin_text(&texts[i]);
			restart(i, &walked[w]);
		}
		for (size_t n = 0; (more[0] || more[1]) && n <= strlen(expected) + 3; n++) {
			more[0] = more[0] && step(0, &walked[w], texts[0].file);
			more[1] = more[1] && (n < 2 || step(1, &walked[w], texts[1].file));
			restart(2, &walked[w]);
			end(2, &walked[w]);
		}
		for (int i = 0; i < 2; i++) {
			fclose(texts[i].file);
			assert_string_equal(texts[i].data, expected);
			free(texts[i].data);
			// A walk that has ended does not begin again.
			assert_false(step(i, &walked[w], stderr));
			end(i, &walked[w]);
		}
		free(expected);
	}
}

struct walker {
	int i;
	char *expected[WALKED];
	int wrong;
};

#define ROUNDS 100

static void *walk_often(void *of)
{
	struct walker *walker = of;

	for (int n = 0; n < ROUNDS && !walker->wrong; n++)
		for (size_t w = 0; w < WALKED; w++) {
			char *text = walk(walker->i, &walked[w]);

			walker->wrong += strcmp(text, walker->expected[w]) != 0;
			free(text);
		}
	return NULL;
}

static void walks_at_once_are_whole(void **state)
{
	struct walker walkers[NAMESPACES] = {0};
	pthread_t threads[NAMESPACES];

	(void)state;
	for (int i = 0; i < NAMESPACES; i++) {
		walkers[i].i = i;
		for (size_t w = 0; w < WALKED; w++)
			walkers[i].expected[w] = walk(-1, &walked[w]);
	}
	for (int i = 0; i < NAMESPACES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_often, &walkers[i]), 0);
	for (int i = 0; i < NAMESPACES; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NAMESPACES; i++) {
		assert_int_equal(walkers[i].wrong, 0);
		for (size_t w = 0; w < WALKED; w++)
			free(walkers[i].expected[w]);
	}
}

typedef int read_fn(void *ret, char *buffer, size_t size, void **result);

static int step_r(int i, const struct walked *of, char *buffer, size_t size, void *ret,
		  void **result)
{
	return ((read_fn *)function(i, "get", of->name, "_r"))(ret, buffer, size, result);
}

// Walks with a buffer that grows by a byte when it was too small, so that each entry is tried in a buffer that it
// does not fit in.
static char *walk_r(int i, const struct walked *of, int *end_code)
{
	char *space = malloc(100000), ret[200] __attribute__((aligned(16)));
	size_t size = 1;
	struct text text;
	void *result;
	int code;

	begin_text(&text);
	restart(i, of);
	while ((code = step_r(i, of, space, size, ret, &result)) == ERANGE || !code) {
		if (code == ERANGE) {
			assert_null(result);
			size += i < 0 ? 1000 : 1; // the C library asks for more than it uses
			continue;
		}
		assert_ptr_equal(result, ret);
		assert_int_equal(of->describe(ret, text.file), 0);
	}
	assert_null(result);
	end(i, of);
	fclose(text.file);
	free(space);
	*end_code = code;
	return text.data;
}

static void get_r_fills_the_callers_buffer(void **state)
{
	(void)state;
	for (size_t w = 0; w < WALKED; w++) {
		char *expected, *other;
		int expected_code, code;

		expected = walk_r(-1, &walked[w], &expected_code);
		other = walk_r(0, &walked[w], &code);
		assert_string_equal(other, expected);
		assert_int_equal(code, expected_code);
		free(expected);
		free(other);
	}
}

// Results stay, also while another namespace walks, or looks names up in the same database.
static void results_stay_until_the_next(void **state)
{
	struct passwd *mine, *others, *found;

	(void)state;
	mine = CALL(0, struct passwd *(*)(void), "getpwent")();
	CALL(0, void (*)(void), "endpwent")();
	others = CALL(1, struct passwd *(*)(void), "getpwent")();
	others = CALL(1, struct passwd *(*)(void), "getpwent")();
	found = CALL(0, struct passwd *(*)(const char *), "getpwnam")("daemon");
	assert_string_equal(mine->pw_name, "root");
	assert_string_not_equal(others->pw_name, "root");
	assert_string_equal(found->pw_name, "daemon");
	CALL(1, void (*)(void), "endpwent")();
}

static bool stop_walking;

// Reads in a thread while another thread calls fork(). Each has a namespace: what getpwent() returns is its caller's until the
// next call in the same.
static void *walk_until_told(void *i)
{
	while (!__atomic_load_n(&stop_walking, __ATOMIC_RELAXED))
		free(walk(*(const int *)i, &walked[0]));
	return NULL;
}

static int walk_in_child(void *expected)
{
	char *text = walk(0, &walked[0]);

	return strcmp(text, expected) != 0;
}

static void child_walks_whatever_other_threads_did(void **state)
{
	int others[2] = {1, 2};
	pthread_t threads[2];
	char *expected;

	(void)state;
	if (TEST_SANITIZED)
		skip_because("forks among threads");
	expected = walk(-1, &walked[0]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_until_told, &others[i]), 0);
	for (int n = 0; n < 50; n++)
		assert_int_equal(test_in_child(walk_in_child, expected), 0);
	__atomic_store_n(&stop_walking, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free(expected);
}

struct own_descriptors {
	int fd; // the host's
	char *users;
};

// In the thread's own table, the number of the host's descriptor is that of another file.
static void *walk_with_own_descriptors(void *of)
{
	const struct own_descriptors *own = of;
	char *groups = walk(-1, &walked[1]), *text, byte = 0;
	int fd = own->fd, file = open(test_temp("own"), O_RDWR | O_CREAT, 0600);
	const char *failed = NULL;

	if (close_range(~0U, ~0U, CLOSE_RANGE_UNSHARE) || write(file, "own:x:1:\n", 9) != 9 || dup2(file, fd) < 0 ||
	    lseek(fd, 4, SEEK_SET) != 4)
		return "cannot begin";
	text = walk(0, &walked[0]);
	if (strcmp(text, own->users))
		failed = "not the list of users";
	free(text);
	text = walk(0, &walked[1]);
	if (strcmp(text, groups))
		failed = "not the list of groups";
	free(text);
	if (read(fd, &byte, 1) != 1 || byte != 'x')
		failed = "closed, or read from";
	free(groups);
	return (void *)failed;
}

static void walk_with_own_descriptors_leaves_them_alone(void **state)
{
	struct own_descriptors own = {dup(0), walk(-1, &walked[0])};
	pthread_t thread;
	void *failed;

	(void)state;
	close(own.fd); // the C library gets this number next
	assert_non_null(getpwent());
	assert_int_not_equal(fcntl(own.fd, F_GETFD), -1);
	assert_int_equal(pthread_create(&thread, NULL, walk_with_own_descriptors, &own), 0);
	pthread_join(thread, &failed);
	if (failed)
		fail_msg("%s", (char *)failed);
	endpwent();
	close(own.fd); // the C library has forgotten it
	free(own.users);
}

// --- look-ups ---------------------------------------------------------------------------------

static void lookups_answer_in_a_place_of_the_namespace(void **state)
{
	struct servent *port, *other_port;
	struct protoent *protocol, *other_protocol;

	(void)state;
	port = CALL(0, struct servent *(*)(const char *, const char *), "getservbyname")("http", "tcp");
	other_port = CALL(1, struct servent *(*)(int, const char *), "getservbyport")(htons(22), NULL);
	CALL(1, struct servent *(*)(const char *, const char *), "getservbyname")("ssh", "tcp");
	assert_int_equal(ntohs((uint16_t)port->s_port), 80);
	assert_string_equal(other_port->s_name, "ssh");
	protocol = CALL(0, struct protoent *(*)(const char *), "getprotobyname")("tcp");
	other_protocol = CALL(1, struct protoent *(*)(const char *), "getprotobyname")("udp");
	assert_int_equal(protocol->p_proto, 6);
	assert_int_equal(other_protocol->p_proto, 17);
	assert_string_equal(protocol->p_aliases[0], "TCP");
}

static void hosts_answer_in_a_place_of_the_namespace(void **state)
{
	typedef struct hostent *by_name(const char *), *by_addr(const void *, socklen_t, int);
	struct hostent *mine, *others, *back;
	struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
	int expected;

	(void)state;
	mine = CALL(0, by_name *, "gethostbyname")("127.0.0.1");
	others = CALL(1, by_name *, "gethostbyname")("127.0.0.2");
	assert_memory_equal(mine->h_addr_list[0], "\x7f\0\0\1", 4);
	assert_memory_equal(others->h_addr_list[0], "\x7f\0\0\2", 4);
	assert_string_equal(mine->h_name, "127.0.0.1");
	assert_null(mine->h_addr_list[1]);
	back = CALL(0, by_addr *, "gethostbyaddr")(&loopback, sizeof(loopback), AF_INET);
	assert_non_null(back);
	assert_memory_equal(back->h_addr_list[0], "\x7f\0\0\1", 4);
	assert_null(gethostbyaddr(&loopback, 3, AF_INET));
	expected = h_errno;
	h_errno = -100;
	assert_null(CALL(0, by_addr *, "gethostbyaddr")(&loopback, 3, AF_INET));
	assert_int_equal(h_errno, expected);
}

static void lookup_of_nothing_says_so_as_the_c_library(void **state)
{
	int expected;

	(void)state;
	errno = 77;
	assert_null(getpwnam("nobody has this name"));
	expected = errno;
	errno = 77;
	assert_null(CALL(0, struct passwd *(*)(const char *), "getpwnam")("nobody has this name"));
	assert_int_equal(errno, expected);
	assert_null(CALL(0, struct servent *(*)(int, const char *), "getservbyport")(1, "none"));
}

// The line is longer than any buffer at the beginning.
static void getmntent_answers_in_a_place_of_the_namespace(void **state)
{
	FILE *file = fopen(test_temp("mounts"), "w+");
	struct mntent *first, *second;

	(void)state;
	fprintf(file, "one /a\\040b ext4 rw 1 2\ntwo /c tmpfs ro 3 4\n");
	rewind(file);
	first = CALL(0, struct mntent *(*)(FILE *), "getmntent")(file);
	second = CALL(1, struct mntent *(*)(FILE *), "getmntent")(file);
	assert_string_equal(first->mnt_fsname, "one");
	assert_string_equal(first->mnt_dir, "/a b");
	assert_int_equal(first->mnt_passno, 2);
	assert_string_equal(second->mnt_opts, "ro");
	assert_null(CALL(0, struct mntent *(*)(FILE *), "getmntent")(file));
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_in_turns_are_whole),
		cmocka_unit_test(walks_at_once_are_whole),
		cmocka_unit_test(get_r_fills_the_callers_buffer),
		cmocka_unit_test(results_stay_until_the_next),
		cmocka_unit_test(child_walks_whatever_other_threads_did),
		cmocka_unit_test(walk_with_own_descriptors_leaves_them_alone),
		cmocka_unit_test(lookups_answer_in_a_place_of_the_namespace),
		cmocka_unit_test(hosts_answer_in_a_place_of_the_namespace),
		cmocka_unit_test(lookup_of_nothing_says_so_as_the_c_library),
		cmocka_unit_test(getmntent_answers_in_a_place_of_the_namespace),
	};

	unsetenv("DATEMSK");
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
