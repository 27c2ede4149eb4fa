// SPDX-License-Identifier: MIT
// A host whose interpreters share a file with it: a database, or a file with record locks.
//
//	stores [-c] [-n INTERPRETERS] [-o] [-v] FILE STORE FOLDER COUNT
//
// Each interpreter (default 4) is started and called on a thread of the host's own: work(STORE, FOLDER, NAME,
// COUNT), which FILE defines, does COUNT transactions. With -o the host does COUNT transactions, too, if it knows
// the store: sqlite-* with a libsqlite3 of its own, and counter. Without -o it shares its descriptors with the
// interpreters, and the kernel drops its locks when any of them closes the file. With -v there are also victims, until the others are
// done: interpreters that are interrupted in the middle of their work and destroyed, one after the other; a line
// says how many there were. With -c the system's linker loads copies (GORGON_ISOLATE_COPY), with -o each
// interpreter has descriptors of its own (GORGON_FILES_THREAD). Exit status 0, or 1 when a call has failed.
// tests/stores.py looks at the result.

#define _GNU_SOURCE
#include "../loader/gorgon.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERPRETERS_MAX 16
#define TURNS_OF_A_CONNECTION 10

static const char *file, *store, *folder;
static int64_t transactions;
static enum gorgon_isolate isolate = GORGON_ISOLATE_LOADER;
static enum gorgon_files files = GORGON_FILES_AUTO;
static atomic_bool done;
static atomic_uint failures;

static void fail(const char *what)
{
	fprintf(stderr, "stores: %s\n", what);
	failures++;
}

static bool failed(struct gorgon_error *err)
{
	if (!err)
		return false;
	fail(gorgon_error_message(err));
	gorgon_error_destroy(err);
	return true;
}

// --- interpreters ---------------------------------------------------------------------------

static struct gorgon_interp *start(void)
{
	struct gorgon_interp_opts opts = {.size = sizeof(opts), .isolate = isolate, .files = files};
	struct gorgon_interp *interp;

	if (failed(gorgon_interp_create(&opts, &interp)))
		return NULL;
	if (!failed(gorgon_interp_start(interp, NULL)) && !failed(gorgon_interp_run_file(interp, file)))
		return interp;
	failed(gorgon_interp_destroy(interp));
	return NULL;
}

static struct gorgon_value text(const char *string)
{
	return (struct gorgon_value){.kind = GORGON_VALUE_STRING, .text = {string, strlen(string)}};
}

static struct gorgon_error *work(struct gorgon_interp *interp, const char *name, int64_t count)
{
	struct gorgon_value items[] = {text(store), text(folder), text(name),
				       {.kind = GORGON_VALUE_INT, .integer = count}};
	struct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {items, 4}}, ret;
	struct gorgon_error *err = gorgon_interp_call(interp, NULL, "work", &args, NULL, &ret);

	if (!err)
		gorgon_value_deinit(&ret);
	return err;
}

static void *run_interpreter(void *number)
{
	struct gorgon_interp *interp = start();
	char name[24];

	snprintf(name, sizeof(name), "interp%ld", (long)(intptr_t)number);
	if (interp && !failed(work(interp, name, transactions)))
		failed(gorgon_interp_destroy(interp));
	return NULL;
}

// --- interpreters that are interrupted --------------------------------------------------------

struct victim {
	struct gorgon_interp *interp;
	unsigned number;
	sem_t started, let_go; // let_go: from now on nobody interrupts the interpreter
	atomic_bool ended;
};

// A victim has one thread for all of its calls, because with -o its descriptors belong to the thread.
static void *run_victim(void *arg)
{
	struct victim *victim = arg;
	const struct gorgon_exception *exception;
	struct gorgon_error *err;
	char name[24];

	victim->interp = start();
	sem_post(&victim->started);
	if (!victim->interp)
		return NULL;
	snprintf(name, sizeof(name), "victim%u", victim->number);
	err = work(victim->interp, name, INT64_MAX);
	exception = gorgon_error_exception(err);
	if (!exception || strcmp(exception->type, "KeyboardInterrupt"))
		fail(err ? gorgon_error_message(err) : "the victim's work has ended");
	gorgon_error_destroy(err);
	victim->ended = true;
	sem_wait(&victim->let_go);
	failed(gorgon_interp_destroy(victim->interp));
	return NULL;
}

// Interrupts until the call has ended: a call may not have begun, and a KeyboardInterrupt may be lost in a
// destructor.
static void interrupt(struct victim *victim)
{
	while (!victim->ended) {
		failed(gorgon_interp_interrupt(victim->interp));
		usleep(20000);
	}
	sem_post(&victim->let_go);
}

static void run_victims(void)
{
	struct victim victim = {0};
	pthread_t thread;

	sem_init(&victim.started, 0, 0);
	sem_init(&victim.let_go, 0, 0);
	for (; !done; victim.number++) {
		victim.ended = false;
		pthread_create(&thread, NULL, run_victim, &victim);
		sem_wait(&victim.started);
		if (victim.interp) {
			usleep(20000 + victim.number % 7 * 30000);
			interrupt(&victim);
		}
		pthread_join(thread, NULL);
		if (!victim.interp)
			return;
	}
	printf("victims %u\n", victim.number);
}

// --- the host's own part ------------------------------------------------------------------------

struct sqlite {
	int (*open)(const char *path, void **ret);
	int (*exec)(void *db, const char *sql, void *fn, void *ctx, char **message);
	int (*busy_timeout)(void *db, int ms);
	int (*close)(void *db);
};

static bool execute(const struct sqlite *sqlite, void *db, const char *sql)
{
	char *message = NULL;

	if (!sqlite->exec(db, sql, NULL, NULL, &message))
		return true;
	fail(message ?: sql);
	return false;
}

static bool insert(const struct sqlite *sqlite, void *db, int64_t number)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "begin immediate; insert into t values ('host', %ld); update c set n = n + 1; commit",
		 (long)number);
	return execute(sqlite, db, sql);
}

static void use_sqlite(const struct sqlite *sqlite)
{
	char path[4096];
	int64_t i = 0;

	snprintf(path, sizeof(path), "%s/db", folder);
	while (i < transactions && !failures) {
		void *db = NULL;

		if (sqlite->open(path, &db))
			fail("the host cannot open its database");
		sqlite->busy_timeout(db, 600000);
		execute(sqlite, db, "pragma synchronous = off");
		do {
			insert(sqlite, db, i++);
		} while (i % TURNS_OF_A_CONNECTION && i < transactions && !failures);
		sqlite->close(db);
	}
}

static void load_sqlite(void)
{
	void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	struct sqlite sqlite;

	if (!library) {
		fail(dlerror());
		return;
	}
	sqlite.open = (int (*)(const char *, void **))dlsym(library, "sqlite3_open");
	sqlite.exec = (int (*)(void *, const char *, void *, void *, char **))dlsym(library, "sqlite3_exec");
	sqlite.busy_timeout = (int (*)(void *, int))dlsym(library, "sqlite3_busy_timeout");
	sqlite.close = (int (*)(void *))dlsym(library, "sqlite3_close");
	use_sqlite(&sqlite);
}

static void count_up(int fd)
{
	char digits[24] = "";
	int size;

	if (pread(fd, digits, sizeof(digits) - 1, 0) < 0)
		fail("cannot read the counter");
	size = snprintf(digits, sizeof(digits), "%ld", strtol(digits, NULL, 10) + 1);
	if (pwrite(fd, digits, (size_t)size, 0) != size)
		fail("cannot write the counter");
}

// Locks of the process: the descriptor stays open, because a close() would drop them.
static void use_counter(void)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/counter", folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (int64_t i = 0; i < transactions && !failures; i++) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

		if (fcntl(fd, F_SETLKW, &lock))
			fail(strerror(errno));
		count_up(fd);
		lock.l_type = F_UNLCK;
		fcntl(fd, F_SETLK, &lock);
	}
	close(fd);
}

static void *run_host(void *unused)
{
	(void)unused;
	if (files != GORGON_FILES_THREAD)
		return NULL;
	if (!strncmp(store, "sqlite", 6))
		load_sqlite();
	else if (!strcmp(store, "counter"))
		use_counter();
	return NULL;
}

static void *run_all(void *arg)
{
	int count = *(int *)arg;
	pthread_t threads[INTERPRETERS_MAX + 1];

	pthread_create(&threads[count], NULL, run_host, NULL);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run_interpreter, (void *)(intptr_t)i);
	for (int i = 0; i <= count; i++)
		pthread_join(threads[i], NULL);
	done = true;
	return NULL;
}

int main(int argc, char **argv)
{
	int option, count = 4;
	bool victims = false;
	pthread_t thread;

	while ((option = getopt(argc, argv, "cn:ov")) != -1) {
		if (option == 'c')
			isolate = GORGON_ISOLATE_COPY;
		else if (option == 'n')
			count = atoi(optarg);
		else if (option == 'o')
			files = GORGON_FILES_THREAD;
		else if (option == 'v')
			victims = true;
		else
			return 2;
	}
	if (argc - optind != 4 || count < 1 || count > INTERPRETERS_MAX)
		return 2;
	file = argv[optind];
	store = argv[optind + 1];
	folder = argv[optind + 2];
	transactions = atoll(argv[optind + 3]);
	// A shell ignores SIGINT in what it starts in the background, and Python then does not handle it.
	signal(SIGINT, SIG_DFL);
	pthread_create(&thread, NULL, run_all, &count);
	if (victims)
		run_victims();
	pthread_join(thread, NULL);
	return failures != 0;
}
