// SPDX-License-Identifier: MIT
// loader/process: the C library's databases, and its functions that have one answer for the process. Namespaces use
// them at once and in turns, and each gets what a process of its own would get. The expected answers are those of
// the test program's own calls, made while nothing else runs.

#define _GNU_SOURCE
#include "helpers.h"

#include "process/records.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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
#include <utmp.h>
#include <utmpx.h>

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

static const struct walked {
	const char *name;
	const struct gorgon_record *record;
	bool has_host_error;
} walked[] = {
	{"pwent", &gorgon_record_passwd, false},	{"grent", &gorgon_record_group, false},
	{"spent", &gorgon_record_spwd, false},		{"sgent", &gorgon_record_sgrp, false},
	{"servent", &gorgon_record_servent, false},	{"protoent", &gorgon_record_protoent, false},
	{"rpcent", &gorgon_record_rpcent, false},	{"netent", &gorgon_record_netent, true},
	{"hostent", &gorgon_record_hostent, true},	{"aliasent", &gorgon_record_aliasent, false},
	{"fsent", &gorgon_record_fstab, false},		{"usershell", &gorgon_record_string, false},
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

// Writes what the members of a record point to.
static void describe(FILE *file, const struct gorgon_record *record, const char *entry)
{
	for (const struct gorgon_field *field = record->fields; field->kind; field++) {
		char *string, **list;
		int size;

		memcpy(&string, entry + field->offset, sizeof(string));
		list = (char **)string;
		if (!string || field->kind == GORGON_FIELD_STRING) {
			fprintf(file, "%s:", string ?: "(null)");
			continue;
		}
		for (; field->kind != GORGON_FIELD_COUNTED && *list; list++) {
			memcpy(&size, entry + field->size_offset, sizeof(size));
			if (field->kind == GORGON_FIELD_STRINGS)
				fprintf(file, "%s,", *list);
			for (int i = 0; field->kind == GORGON_FIELD_ADDRESSES && i < size; i++)
				fprintf(file, "%02x", (unsigned char)(*list)[i]);
		}
	}
	fputc('\n', file);
}

// Writes the next entry. False: there is none.
static bool step(int i, const struct walked *of, FILE *file)
{
	char *entry = ((char *(*)(void))function(i, "get", of->name, ""))();

	if (!entry)
		return false;
	describe(file, of->record,
		 of->record == &gorgon_record_string ? (const char *)&entry : entry);
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
typedef int read_host_fn(void *ret, char *buffer, size_t size, void **result, int *host_error);

static int step_r(int i, const struct walked *of, char *buffer, size_t size, void *ret,
		  void **result)
{
	void *get = function(i, "get", of->name, "_r");
	int host_error = 0, code;

	if (!of->has_host_error)
		return ((read_fn *)get)(ret, buffer, size, result);
	code = ((read_host_fn *)get)(ret, buffer, size, result, &host_error);
	if (code == ERANGE && i >= 0)
		assert_int_equal(host_error, NETDB_INTERNAL);
	return code;
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
		describe(text.file, of->record, ret);
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

		if (!strcmp(walked[w].name, "fsent") || !strcmp(walked[w].name, "usershell"))
			continue;
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

// Reads in a thread while another thread calls fork().
static void *walk_until_told(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		free(walk(1, &walked[0]));
	return NULL;
}

static int walk_in_child(void *expected)
{
	char *text = walk(0, &walked[0]);

	return strcmp(text, expected) != 0;
}

static void child_walks_whatever_other_threads_did(void **state)
{
	pthread_t threads[2];
	bool stop = false;
	char *expected;

	(void)state;
	if (TEST_SANITIZED)
		skip_because("forks among threads");
	expected = walk(-1, &walked[0]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_until_told, &stop), 0);
	for (int n = 0; n < 50; n++)
		assert_int_equal(test_in_child(walk_in_child, expected), 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
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
	struct rpcent *rpc, *other_rpc;

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
	rpc = CALL(0, struct rpcent *(*)(const char *), "getrpcbyname")("nfs");
	other_rpc = CALL(1, struct rpcent *(*)(const char *), "getrpcbyname")("portmapper");
	assert_int_equal(rpc->r_number, 100003);
	assert_int_equal(other_rpc->r_number, 100000);
}

static void hosts_answer_in_a_place_of_the_namespace(void **state)
{
	typedef struct hostent *by_name(const char *), *by_family(const char *, int),
		*by_addr(const void *, socklen_t, int);
	struct hostent *mine, *others, *sixth, *back;
	struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
	int expected;

	(void)state;
	mine = CALL(0, by_name *, "gethostbyname")("127.0.0.1");
	others = CALL(1, by_name *, "gethostbyname")("127.0.0.2");
	sixth = CALL(0, by_family *, "gethostbyname2")("::1", AF_INET6);
	assert_memory_equal(mine->h_addr_list[0], "\x7f\0\0\1", 4);
	assert_memory_equal(others->h_addr_list[0], "\x7f\0\0\2", 4);
	assert_int_equal(sixth->h_length, 16);
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
static void fgetpwent_reads_long_lines(void **state)
{
	FILE *file = fopen(test_temp("passwd"), "w+");
	char gecos[5000];
	struct passwd *found;

	(void)state;
	memset(gecos, 'x', sizeof(gecos) - 1);
	gecos[sizeof(gecos) - 1] = '\0';
	fprintf(file, "first:x:1:2:%s:/home:/bin/sh\nsecond:x:3:4::/:/bin/sh\n", gecos);
	rewind(file);
	found = CALL(0, struct passwd *(*)(FILE *), "fgetpwent")(file);
	assert_string_equal(found->pw_gecos, gecos);
	found = CALL(0, struct passwd *(*)(FILE *), "fgetpwent")(file);
	assert_string_equal(found->pw_name, "second");
	assert_int_equal(found->pw_uid, 3);
	assert_null(CALL(0, struct passwd *(*)(FILE *), "fgetpwent")(file));
	fclose(file);
	assert_string_equal(CALL(1, struct spwd *(*)(const char *), "sgetspent")("a:b:::::::")->sp_pwdp,
			    "b");
}

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

// --- who is logged in -------------------------------------------------------------------------

static struct utmpx *put(int i, short type, const char *id, const char *line, const char *user)
{
	struct utmpx entry = {.ut_type = type};

	strncpy(entry.ut_id, id, sizeof(entry.ut_id));
	strncpy(entry.ut_line, line, sizeof(entry.ut_line));
	strncpy(entry.ut_user, user, sizeof(entry.ut_user));
	return CALL(i, struct utmpx *(*)(const struct utmpx *), "pututxline")(&entry);
}

static const char *next_user(int i)
{
	struct utmpx *entry = CALL(i, struct utmpx *(*)(void), "getutxent")();

	return entry ? entry->ut_user : NULL;
}

static void use_file(int i, const char *path)
{
	assert_int_equal(CALL(i, int (*)(const char *), "utmpxname")(path), 0);
}

static void utmp_has_a_file_and_a_position_of_the_namespace(void **state)
{
	const char *path = test_temp("utmp"), *other = test_temp("other_utmp");
	struct utmpx wanted = {.ut_type = USER_PROCESS, .ut_line = "tty2"}, *found;

	(void)state;
	test_write(path, "", 0);
	test_write(other, "", 0);
	use_file(0, path);
	use_file(1, path);
	use_file(2, other);
	use_file(3, test_temp("no such file"));
	assert_non_null(put(0, USER_PROCESS, "1", "tty1", "ann"));
	assert_non_null(put(0, USER_PROCESS, "2", "tty2", "bob"));
	assert_non_null(put(2, USER_PROCESS, "1", "tty1", "cid"));
	assert_null(put(3, USER_PROCESS, "1", "tty1", "dan"));
	assert_int_equal(errno, ENOENT);
	assert_null(next_user(2)); // the walk is behind the entry that was written
	CALL(2, void (*)(void), "setutxent")();
	CALL(0, void (*)(void), "setutxent")();
	assert_string_equal(next_user(0), "ann");
	assert_string_equal(next_user(1), "ann");
	assert_string_equal(next_user(2), "cid");
	CALL(1, void (*)(void), "endutxent")();
	assert_string_equal(next_user(0), "bob");
	assert_null(next_user(0));
	assert_null(next_user(2));
	assert_non_null(put(1, DEAD_PROCESS, "1", "tty1", "eve")); // replaces ann's entry
	CALL(0, void (*)(void), "setutxent")();
	assert_string_equal(next_user(0), "eve");
	found = CALL(1, struct utmpx *(*)(const struct utmpx *), "getutxline")(&wanted);
	assert_string_equal(found->ut_user, "bob");
	wanted.ut_id[0] = '7';
	errno = 0;
	assert_null(CALL(1, struct utmpx *(*)(const struct utmpx *), "getutxid")(&wanted));
	assert_int_equal(errno, ESRCH);
	wanted.ut_type = EMPTY;
	assert_null(CALL(1, struct utmpx *(*)(const struct utmpx *), "getutxid")(&wanted));
	assert_int_equal(errno, EINVAL);

	// The C library reads the file, too.
	assert_int_equal(utmpxname(path), 0);
	setutxent();
	assert_string_equal(getutxent()->ut_user, "eve");
	assert_string_equal(getutxent()->ut_user, "bob");
	assert_null(getutxent());
	endutxent();
	utmpxname("/var/run/utmp");
	for (int i = 0; i < NAMESPACES; i++)
		CALL(i, void (*)(void), "endutxent")();
}

typedef int find_r_fn(const struct utmp *wanted, struct utmp *buffer, struct utmp **result);

// What the caller has room for; times of the system have no line, and are found by their type.
static void utmp_entries_are_copied_for_the_caller(void **state)
{
	const char *path = test_temp("utmp_r");
	struct utmp wanted = {.ut_type = LOGIN_PROCESS, .ut_line = "tty2"}, entry, *found;

	(void)state;
	test_write(path, "", 0);
	use_file(0, path);
	use_file(1, path);
	assert_non_null(put(0, BOOT_TIME, "~~", "~", "reboot"));
	assert_non_null(put(0, USER_PROCESS, "", "tty2", "ann"));
	assert_int_equal(CALL(1, int (*)(struct utmp *, struct utmp **), "getutent_r")(&entry, &found), 0);
	assert_ptr_equal(found, &entry);
	assert_string_equal(entry.ut_user, "reboot");
	assert_int_equal(CALL(1, find_r_fn *, "getutline_r")(&wanted, &entry, &found), 0);
	assert_string_equal(entry.ut_user, "ann");
	assert_int_equal(CALL(1, int (*)(struct utmp *, struct utmp **), "getutent_r")(&entry, &found), -1);
	assert_null(found);
	CALL(1, void (*)(void), "setutxent")();
	assert_int_equal(CALL(1, find_r_fn *, "getutid_r")(&wanted, &entry, &found), 0); // by its line
	assert_string_equal(entry.ut_user, "ann");
	CALL(1, void (*)(void), "setutxent")();
	wanted.ut_type = BOOT_TIME;
	assert_int_equal(CALL(1, find_r_fn *, "getutid_r")(&wanted, &entry, &found), 0);
	assert_string_equal(entry.ut_user, "reboot");
	wanted.ut_type = NEW_TIME;
	assert_int_equal(CALL(1, find_r_fn *, "getutid_r")(&wanted, &entry, &found), -1);
	assert_null(found);
	wanted.ut_type = EMPTY;
	errno = 0;
	assert_int_equal(CALL(1, find_r_fn *, "getutid_r")(&wanted, &entry, &found), -1);
	assert_int_equal(errno, EINVAL);
	for (int i = 0; i < 2; i++)
		CALL(i, void (*)(void), "endutxent")();
}

#define LOGINS 50

static void *log_in_often(void *of)
{
	int i = *(int *)of;
	char id[5], line[20];

	for (int n = 0; n < LOGINS; n++) {
		snprintf(id, sizeof(id), "%c%d", 'a' + i, n);
		snprintf(line, sizeof(line), "pts/%s", id);
		if (!put(i, USER_PROCESS, id, line, id))
			return "failed";
	}
	return NULL;
}

static void utmp_of_many_writers_has_all(void **state)
{
	const char *path = test_temp("many");
	int numbers[NAMESPACES], found = 0;
	pthread_t threads[NAMESPACES];
	void *failed;

	(void)state;
	test_write(path, "", 0);
	for (int i = 0; i < NAMESPACES; i++) {
		use_file(i, path);
		numbers[i] = i;
	}
	for (int i = 0; i < NAMESPACES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_in_often, &numbers[i]), 0);
	for (int i = 0; i < NAMESPACES; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	CALL(0, void (*)(void), "setutxent")();
	while (next_user(0))
		found++;
	assert_int_equal(found, NAMESPACES * LOGINS);
}

// --- others -----------------------------------------------------------------------------------

static void hash_tables_are_the_namespaces(void **state)
{
	typedef const char *search_fn(char *key, char *data);
	search_fn *search[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		search[i] = SYMBOL(objects[i], search_fn *, "databases_search");
		assert_int_not_equal(CALL(i, int (*)(size_t), "hcreate")(10), 0);
	}
	assert_string_equal(search[0]("key", "mine"), "mine");
	assert_null(search[1]("key", NULL));
	assert_string_equal(search[1]("key", "others"), "others");
	CALL(1, void (*)(void), "hdestroy")();
	assert_string_equal(search[0]("key", NULL), "mine");
	// The hash table of namespace 0 is freed with it.
}

static void terminals_have_a_name_in_each(void **state)
{
	int masters[2], slaves[2];
	char *slave_names[2], *master_names[2], expected[2][100];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(openpty(&masters[i], &slaves[i], expected[i], NULL, NULL), 0);
		slave_names[i] = CALL(i, char *(*)(int), "ttyname")(slaves[i]);
		master_names[i] = CALL(i, char *(*)(int), "ptsname")(masters[i]);
	}
	for (int i = 0; i < 2; i++) {
		assert_string_equal(slave_names[i], expected[i]);
		assert_string_equal(master_names[i], expected[i]);
		close(masters[i]);
		close(slaves[i]);
	}
	errno = 0;
	assert_null(CALL(0, char *(*)(int), "ttyname")(masters[0]));
	assert_int_equal(errno, EBADF);
	assert_string_equal(CALL(0, char *(*)(char *), "ctermid")(NULL), "/dev/tty");
	assert_ptr_not_equal(CALL(0, char *(*)(char *), "ctermid")(NULL),
			     CALL(1, char *(*)(char *), "ctermid")(NULL));
}

static void the_user_is_as_the_c_library_says(void **state)
{
	char *expected = getlogin(), *login = CALL(0, char *(*)(void), "getlogin")();
	char buffer[L_cuserid];

	(void)state;
	assert_int_equal(!login, !expected);
	if (login)
		assert_string_equal(login, expected);
	assert_string_equal(CALL(0, char *(*)(char *), "cuserid")(NULL), cuserid(buffer));
}

// Asks for a password in a session of its own: the terminal must not show what is typed.
static void ask(int *status, char *shown, size_t size)
{
	size_t used = 0;
	int master;
	pid_t pid = forkpty(&master, NULL, NULL, NULL);
	ssize_t n;

	if (!pid) {
		alarm(120);
		_exit(strcmp(CALL(0, char *(*)(const char *), "getpass")("? "), "secret") != 0);
	}
	while (used < size - 1 && (n = read(master, shown + used, size - 1 - used)) > 0) {
		if (!used && write(master, "secret\n", 7) != 7)
			break;
		used += (size_t)n;
	}
	shown[used] = '\0';
	waitpid(pid, status, 0);
	close(master);
}

static void getpass_asks_the_terminal_without_echo(void **state)
{
	char shown[100] = "";
	int status = -1;

	(void)state;
	ask(&status, shown, sizeof(shown));
	assert_int_equal(status, 0);
	assert_string_equal(shown, "? \r\n");
}

static void addresses_and_names_are_the_namespaces(void **state)
{
	struct ether_addr *mine, *others;
	char *text, *other_text, *name;

	(void)state;
	mine = CALL(0, struct ether_addr *(*)(const char *), "ether_aton")("1:2:3:4:5:6");
	others = CALL(1, struct ether_addr *(*)(const char *), "ether_aton")("a:b:c:d:e:f");
	text = CALL(0, char *(*)(const struct ether_addr *), "ether_ntoa")(mine);
	other_text = CALL(1, char *(*)(const struct ether_addr *), "ether_ntoa")(others);
	assert_string_equal(text, "1:2:3:4:5:6");
	assert_string_equal(other_text, "a:b:c:d:e:f");
	name = SYMBOL(objects[0], char *(*)(char *), "databases_tmpnam")(NULL);
	assert_memory_equal(name, "/tmp/file", 9);
	assert_int_equal(access(name, F_OK), -1);
	assert_ptr_not_equal(name, SYMBOL(objects[1], char *(*)(char *), "databases_tmpnam")(NULL));
	assert_null(CALL(0, struct tm *(*)(const char *), "getdate")("12:00"));
	// DATEMSK is not set.
	assert_int_equal(SYMBOL(objects[0], int (*)(void), "databases_getdate_err")(), 1);
	assert_int_equal(SYMBOL(objects[1], int (*)(void), "databases_getdate_err")(), 0);
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
		cmocka_unit_test(fgetpwent_reads_long_lines),
		cmocka_unit_test(getmntent_answers_in_a_place_of_the_namespace),
		cmocka_unit_test(utmp_has_a_file_and_a_position_of_the_namespace),
		cmocka_unit_test(utmp_entries_are_copied_for_the_caller),
		cmocka_unit_test(utmp_of_many_writers_has_all),
		cmocka_unit_test(hash_tables_are_the_namespaces),
		cmocka_unit_test(terminals_have_a_name_in_each),
		cmocka_unit_test(the_user_is_as_the_c_library_says),
		cmocka_unit_test(getpass_asks_the_terminal_without_echo),
		cmocka_unit_test(addresses_and_names_are_the_namespaces),
	};

	unsetenv("DATEMSK");
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
