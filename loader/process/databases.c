// SPDX-License-Identifier: MIT
// The C library's databases, walked from the first entry to the last: getpwent() and its kin.
//
// The C library has one position in each database for the whole process, behind getpwent_r(),
// too. Here the first get...ent() of a walk reads all of the database with those functions, under
// a lock, and the namespace walks a copy of its own. set...ent() and end...ent() drop the copy, so
// the walk after them sees what has changed in between; they never close anything, because nothing
// is left open: descriptors belong to the table of whichever thread has opened them.
//
// Results are copied once more, to where they stay until the namespace's next result of that
// database, also after end...ent(), as the C library keeps them.
//
// The host's own calls are not bound to us. A walk of the host's that is under way while we read
// is rewound, and one that goes on meanwhile takes entries from our copy. While nothing walks but
// private code, or the host between its walks, all lists are whole. A thread whose descriptors
// are not the host's reads on another one, whose table is empty. Not handled: a child that it
// has forked, where it is the first thread and takes a walk that the host had open for its own.
//
// Locks: one for each database while it is read, then `lock` for copies and results; leaves
// both, although the former is held while modules of the name service switch work. fork() waits
// for them, and so finds the C library's own locks of these databases free in the child.

#define _GNU_SOURCE
#include "part.h"
#include "records.h"

#include <aliases.h>
#include <errno.h>
#include <fstab.h>
#include <grp.h>
#include <gshadow.h>
#include <mntent.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <rpc/netdb.h>
#include <shadow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <ttyent.h>
#include <unistd.h>

// --- the databases ------------------------------------------------------------------------------

enum {
	PASSWD,
	GROUP,
	SECRETS,
	GROUP_SECRETS,
	SERVICES,
	PROTOCOLS,
	RPC,
	NETWORKS,
	HOSTS,
	ALIASES,
	FILE_SYSTEMS,
	TTYS,
	SHELLS,
	NETGROUP,
	DATABASES,
};

// The memory that an entry is read into.
union entry {
	struct passwd passwd;
	struct group group;
	struct spwd spwd;
	struct sgrp sgrp;
	struct servent servent;
	struct protoent protoent;
	struct rpcent rpcent;
	struct netent netent;
	struct hostent hostent;
	struct aliasent aliasent;
	struct fstab fstab;
	struct gorgon_netgroup netgroup;
	char *string;
};

struct database {
	const struct gorgon_record *record;
	// All of these are called with the lock held. False: there is none. @name is a netgroup's.
	bool (*open)(const char *name);
	// The next one in *@found; @ret and @buffer are there for it. Otherwise an error, ENOENT at
	// the end, ERANGE when the buffer is too small, and an h_errno where the database has one.
	int (*read)(union entry *ret, struct gorgon_buffer *buffer, void **found, int *host_error);
	void (*close)(void); // may be called when nothing is open
	pthread_mutex_t lock;
};

// Databases of the name service switch. @... is the argument of set...ent().
#define SWITCHED(name, ...)                                                                        \
	static bool open_##name(const char *unused)                                                \
	{                                                                                          \
		(void)unused;                                                                      \
		set##name##ent(__VA_ARGS__);                                                       \
		return true;                                                                       \
	}
#define READ(name, type)                                                                           \
	static int read_##name(union entry *ret, struct gorgon_buffer *buffer, void **found,       \
			       int *host_error)                                                    \
	{                                                                                          \
		struct type *entry = NULL;                                                         \
		int code = get##name##ent_r(&ret->type, buffer->data, buffer->size, &entry);       \
                                                                                                   \
		(void)host_error;                                                                  \
		*found = entry;                                                                    \
		return code;                                                                       \
	}
#define READ_WITH_HOST_ERROR(name, type)                                                           \
	static int read_##name(union entry *ret, struct gorgon_buffer *buffer, void **found,       \
			       int *host_error)                                                    \
	{                                                                                          \
		struct type *entry = NULL;                                                         \
		int code = get##name##ent_r(&ret->type, buffer->data, buffer->size, &entry,        \
					    host_error);                                           \
                                                                                                   \
		*found = entry;                                                                    \
		return code;                                                                       \
	}

SWITCHED(pw)
SWITCHED(gr)
SWITCHED(sp)
SWITCHED(sg)
SWITCHED(serv, 0)
SWITCHED(proto, 0)
SWITCHED(rpc, 0)
SWITCHED(net, 0)
SWITCHED(host, 0)
SWITCHED(alias)
READ(pw, passwd)
READ(gr, group)
READ(sp, spwd)
READ(sg, sgrp)
READ(serv, servent)
READ(proto, protoent)
READ(rpc, rpcent)
READ(alias, aliasent)
READ_WITH_HOST_ERROR(net, netent)
READ_WITH_HOST_ERROR(host, hostent)

static bool open_netgroup(const char *name)
{
	return setnetgrent(name);
}

static int read_netgroup(union entry *ret, struct gorgon_buffer *buffer, void **found,
			 int *host_error)
{
	struct gorgon_netgroup *entry = &ret->netgroup;

	(void)host_error;
	errno = 0;
	*found = entry;
	if (getnetgrent_r(&entry->host, &entry->user, &entry->domain, buffer->data, buffer->size))
		return 0;
	*found = NULL;
	return errno == ERANGE ? ERANGE : ENOENT;
}

// The C library's getfsent() would keep the file open for the process.
static FILE *fstab; // while it is read, otherwise NULL

static bool open_fstab(const char *unused)
{
	(void)unused;
	fstab = setmntent(_PATH_FSTAB, "r");
	return fstab;
}

static const char *fstab_type(const struct mntent *mount)
{
	static const char *const types[] = {FSTAB_RW, FSTAB_RQ, FSTAB_RO, FSTAB_SW, FSTAB_XX};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (hasmntopt(mount, types[i]))
			return types[i];
	return "??";
}

static int read_fstab(union entry *ret, struct gorgon_buffer *buffer, void **found, int *host_error)
{
	struct mntent mount;

	(void)host_error;
	// A line that does not fit is cut off there, as in the C library.
	if (buffer->size < BUFSIZ)
		return ERANGE;
	if (!getmntent_r(fstab, &mount, buffer->data, (int)buffer->size))
		return ENOENT;
	ret->fstab = (struct fstab){mount.mnt_fsname, mount.mnt_dir,  mount.mnt_type,
				    mount.mnt_opts,   fstab_type(&mount), mount.mnt_freq,
				    mount.mnt_passno};
	*found = ret;
	return 0;
}

static void close_fstab(void)
{
	if (fstab)
		endmntent(fstab);
	fstab = NULL;
}

static bool open_ttys(const char *unused)
{
	(void)unused;
	return setttyent();
}

static int read_ttys(union entry *ret, struct gorgon_buffer *buffer, void **found, int *host_error)
{
	(void)ret;
	(void)buffer;
	(void)host_error;
	*found = getttyent();
	return *found ? 0 : ENOENT;
}

static void close_ttys(void)
{
	endttyent();
}

static bool open_shells(const char *unused)
{
	(void)unused;
	setusershell();
	return true;
}

static int read_shells(union entry *ret, struct gorgon_buffer *buffer, void **found,
		       int *host_error)
{
	(void)buffer;
	(void)host_error;
	ret->string = getusershell();
	*found = ret->string ? ret : NULL;
	return *found ? 0 : ENOENT;
}

#define DATABASE(record, name, close)                                                              \
	{&gorgon_record_##record, open_##name, read_##name, close, PTHREAD_MUTEX_INITIALIZER}

static struct database databases[DATABASES] = {
	[PASSWD] = DATABASE(passwd, pw, endpwent),
	[GROUP] = DATABASE(group, gr, endgrent),
	[SECRETS] = DATABASE(spwd, sp, endspent),
	[GROUP_SECRETS] = DATABASE(sgrp, sg, endsgent),
	[SERVICES] = DATABASE(servent, serv, endservent),
	[PROTOCOLS] = DATABASE(protoent, proto, endprotoent),
	[RPC] = DATABASE(rpcent, rpc, endrpcent),
	[NETWORKS] = DATABASE(netent, net, endnetent),
	[HOSTS] = DATABASE(hostent, host, endhostent),
	[ALIASES] = DATABASE(aliasent, alias, endaliasent),
	[FILE_SYSTEMS] = DATABASE(fstab, fstab, close_fstab),
	[TTYS] = DATABASE(ttyent, ttys, close_ttys),
	[SHELLS] = DATABASE(string, shells, endusershell),
	[NETGROUP] = DATABASE(netgroup, netgroup, endnetgrent),
};

// --- a namespace's walks ----------------------------------------------------------------------

// A copy of a whole database, and the errors of the C library at its end.
struct copy {
	struct gorgon_list list;
	int code, errnum, host_error;
};

struct walk {
	struct database *database;
	bool under_way;
	struct copy copy;
	const struct gorgon_listed *next; // NULL: at the end
	struct gorgon_kept kept;
};

struct state {
	struct walk walks[DATABASES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards walks, copies and results

// False with errno set: no memory.
static bool read_entries(const struct database *database, struct gorgon_buffer *buffer,
			 struct copy *copy)
{
	union entry entry;
	void *found;

	if (!gorgon_buffer_grow(buffer))
		return false;
	for (;;) {
		errno = 0; // the end of each walk repeats the errno of this call alone
		found = NULL;
		copy->host_error = 0;
		copy->code = database->read(&entry, buffer, &found, &copy->host_error);
		copy->errnum = errno;
		if (copy->code == ERANGE) {
			if (!gorgon_buffer_grow(buffer))
				return false;
			continue;
		}
		if (copy->code || !found)
			return true;
		if (!gorgon_list_add(&copy->list, database->record, found))
			return false;
	}
}

struct errand {
	struct database *database;
	const char *name;
	struct copy *copy;
	bool done; // false: there is no such database, or no memory
	int errnum;
};

static void do_errand(struct errand *errand)
{
	struct gorgon_buffer buffer = {0};

	errno = 0;
	if (errand->database->open(errand->name)) {
		errand->done = read_entries(errand->database, &buffer, errand->copy);
		errand->errnum = errno;
		errand->database->close();
	} else {
		errand->errnum = errno;
	}
	gorgon_buffer_free(&buffer);
}

// Whether descriptors of this thread are those of the process's first one, the host's. What
// /proc/self/fd shows is that one's table.
static bool has_hosts_descriptors(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[sizeof("/proc/self/fd/") + 11];
	struct stat mine, hosts;
	bool ret;

	if (fd < 0)
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ret = !fstat(fd, &mine) && !stat(name, &hosts) && mine.st_dev == hosts.st_dev &&
	      mine.st_ino == hosts.st_ino;
	close(fd);
	return ret;
}

// A walk that the host has left open has a descriptor of the host's table. On a thread with a table
// of its own the C library would read from that number, and close it. In an empty table that fails
// without harm.
static void *do_errand_apart(void *of)
{
	struct errand *errand = of;

	if (close_range(0, ~0U, CLOSE_RANGE_UNSHARE)) {
		errand->errnum = errno;
		return NULL;
	}
	errand->database->close();
	do_errand(errand);
	return NULL;
}

static void send_errand(struct errand *errand)
{
	sigset_t all, before;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, NULL, do_errand_apart, errand);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		errand->errnum = r;
	else
		pthread_join(thread, NULL);
}

// Read a whole database. Between set...ent() and end...ent() no other thread may call, and the thread
// must not be cancelled. False with errno set: there is no such database, or no memory.
static bool read_database(struct database *database, const char *name, struct copy *copy)
{
	struct errand errand = {database, name, copy, false, 0};
	int before;

	*copy = (struct copy){0};
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&database->lock);
	if (has_hosts_descriptors())
		do_errand(&errand);
	else
		send_errand(&errand);
	pthread_mutex_unlock(&database->lock);
	pthread_setcancelstate(before, NULL);
	if (!errand.done)
		gorgon_list_free(&copy->list);
	errno = errand.errnum;
	return errand.done;
}

// Drop the copy. The last result stays.
static void databases_restart(struct walk *walk)
{
	struct gorgon_list list;

	pthread_mutex_lock(&lock);
	list = walk->copy.list;
	walk->copy = (struct copy){0};
	walk->next = NULL;
	walk->under_way = false;
	pthread_mutex_unlock(&lock);
	gorgon_list_free(&list);
}

// Only the C library can keep a database open; here nothing is open.
static void restart_to_stay_open(int stay_open, struct walk *walk)
{
	(void)stay_open;
	databases_restart(walk);
}

// Make a copy and take the lock. False with errno set: there is no copy, and the lock is not held.
static bool begin_step(struct walk *walk, const char *name)
{
	struct copy copy;

	pthread_mutex_lock(&lock);
	if (walk->under_way)
		return true;
	pthread_mutex_unlock(&lock);
	if (!read_database(walk->database, name, &copy))
		return false;
	pthread_mutex_lock(&lock);
	// Another thread of the namespace may have made a copy meanwhile.
	if (walk->under_way) {
		gorgon_list_free(&copy.list);
	} else {
		walk->copy = copy;
		walk->next = copy.list.first;
		walk->under_way = true;
	}
	return true;
}

// Answer as at the end of the database. The lock is held.
static int say_end(const struct walk *walk, int *host_error)
{
	if (walk->copy.errnum)
		errno = walk->copy.errnum;
	if (walk->copy.host_error)
		*host_error = walk->copy.host_error;
	return walk->copy.code ?: ENOENT;
}

static void *databases_next(struct walk *walk)
{
	void *ret = NULL;

	if (!begin_step(walk, NULL))
		return NULL;
	if (!walk->next) {
		say_end(walk, &h_errno);
	} else {
		ret = gorgon_kept_set(&walk->kept, walk->database->record, walk->next->record);
		if (ret)
			walk->next = walk->next->next;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

// Copy the next entry into the caller's buffer, or return an error. The lock is held.
static int step_into(struct walk *walk, void *ret, char *buffer, size_t size, int *host_error)
{
	if (!walk->next)
		return say_end(walk, host_error);
	if (gorgon_record_copy(walk->database->record, walk->next->record, ret, buffer, size) > size) {
		*host_error = NETDB_INTERNAL;
		return errno = ERANGE;
	}
	walk->next = walk->next->next;
	return 0;
}

static int next_with_host_error_r(void *ret, char *buffer, size_t size, void **result,
				  int *host_error, struct walk *walk)
{
	int code;

	*result = NULL;
	if (!begin_step(walk, NULL)) {
		*host_error = NETDB_INTERNAL;
		return errno;
	}
	code = step_into(walk, ret, buffer, size, host_error);
	pthread_mutex_unlock(&lock);
	if (!code)
		*result = ret;
	return code;
}

static int next_r(void *ret, char *buffer, size_t size, void **result, struct walk *walk)
{
	int unused;

	return next_with_host_error_r(ret, buffer, size, result, &unused, walk);
}

// --- functions with other arguments or results -------------------------------------------------

// setfsent(), setttyent(): whether there is such a file.
static int restart_file(struct walk *walk)
{
	databases_restart(walk);
	if (!begin_step(walk, NULL))
		return 0;
	pthread_mutex_unlock(&lock);
	return 1;
}

static int end_ttys(struct walk *walk)
{
	databases_restart(walk);
	return 1;
}

// The first entry of a file that has that name where @offset says.
static void *find_from_start(const char *name, size_t offset, struct walk *walk)
{
	char *entry, *found;

	databases_restart(walk);
	while ((entry = databases_next(walk))) {
		memcpy(&found, entry + offset, sizeof(found));
		if (found && !strcmp(found, name))
			break;
	}
	return entry;
}

static struct fstab *find_fstab_spec(const char *spec, struct walk *walk)
{
	return find_from_start(spec, offsetof(struct fstab, fs_spec), walk);
}

static struct fstab *find_fstab_file(const char *file, struct walk *walk)
{
	return find_from_start(file, offsetof(struct fstab, fs_file), walk);
}

static struct ttyent *find_tty(const char *name, struct walk *walk)
{
	struct ttyent *ret = find_from_start(name, offsetof(struct ttyent, ty_name), walk);

	databases_restart(walk);
	return ret;
}

static char *next_shell(struct walk *walk)
{
	char **entry = databases_next(walk);

	return entry ? *entry : NULL;
}

static int restart_netgroup(const char *name, struct walk *walk)
{
	databases_restart(walk);
	if (!begin_step(walk, name))
		return 0;
	pthread_mutex_unlock(&lock);
	return 1;
}

// Before setnetgrent() has named a group there are no members.
static bool begin_netgroup_step(struct walk *walk)
{
	pthread_mutex_lock(&lock);
	if (walk->under_way && walk->next)
		return true;
	pthread_mutex_unlock(&lock);
	return false;
}

static void give_netgroup(const struct gorgon_netgroup *entry, char **host, char **user,
			  char **domain)
{
	*host = entry->host;
	*user = entry->user;
	*domain = entry->domain;
}

static int next_netgroup(char **host, char **user, char **domain, struct walk *walk)
{
	struct gorgon_netgroup *entry;

	if (!begin_netgroup_step(walk))
		return 0;
	entry = gorgon_kept_set(&walk->kept, walk->database->record, walk->next->record);
	if (entry) {
		give_netgroup(entry, host, user, domain);
		walk->next = walk->next->next;
	}
	pthread_mutex_unlock(&lock);
	return entry != NULL;
}

static int next_netgroup_r(char **host, char **user, char **domain, char *buffer, size_t size,
			   struct walk *walk)
{
	struct gorgon_netgroup entry;
	int code, unused;

	if (!begin_netgroup_step(walk))
		return 0;
	code = step_into(walk, &entry, buffer, size, &unused);
	pthread_mutex_unlock(&lock);
	if (!code)
		give_netgroup(&entry, host, user, domain);
	return !code;
}

// --- the part ---------------------------------------------------------------------------------

static bool databases_begin(void *of, struct gorgon_ns *ns)
{
	struct state *state = of;

	(void)ns;
	for (size_t i = 0; i < DATABASES; i++)
		state->walks[i].database = &databases[i];
	return true;
}

static void databases_end(void *of)
{
	struct state *state = of;

	for (size_t i = 0; i < DATABASES; i++) {
		gorgon_list_free(&state->walks[i].copy.list);
		gorgon_kept_free(&state->walks[i].kept);
	}
}

static void before_fork(void)
{
	for (size_t i = 0; i < DATABASES; i++)
		pthread_mutex_lock(&databases[i].lock);
	pthread_mutex_lock(&lock);
}

static void after_fork(bool child)
{
	(void)child;
	pthread_mutex_unlock(&lock);
	for (size_t i = DATABASES; i-- > 0;)
		pthread_mutex_unlock(&databases[i].lock);
}

#define WHY                                                                                        \
	"the C library has one position for the process; a program walks a copy that is whole "   \
	"unless the host walks the same database just then, and the host's walk is rewound"
#define BOUND(name, target, args, index, reason)                                                   \
	{name, target, args, offsetof(struct state, walks[index]), GORGON_OWN, reason}
#define WALKED(name, index)                                          \
	BOUND("set" name, databases_restart, 0, index, WHY),         \
		BOUND("end" name, databases_restart, 0, index, WHY), \
		BOUND("get" name, databases_next, 0, index, WHY),    \
		BOUND("get" name "_r", next_r, 4, index, WHY)
#define WALKED_TO_STAY_OPEN(name, index, target, args)               \
	BOUND("set" name, restart_to_stay_open, 1, index, WHY),      \
		BOUND("end" name, databases_restart, 0, index, WHY), \
		BOUND("get" name, databases_next, 0, index, WHY),    \
		BOUND("get" name "_r", target, args, index, WHY)

static const struct gorgon_bound bound[] = {
	WALKED("pwent", PASSWD),
	WALKED("grent", GROUP),
	WALKED("spent", SECRETS),
	WALKED("sgent", GROUP_SECRETS),
	WALKED("aliasent", ALIASES),
	WALKED_TO_STAY_OPEN("servent", SERVICES, next_r, 4),
	WALKED_TO_STAY_OPEN("protoent", PROTOCOLS, next_r, 4),
	WALKED_TO_STAY_OPEN("rpcent", RPC, next_r, 4),
	WALKED_TO_STAY_OPEN("netent", NETWORKS, next_with_host_error_r, 5),
	WALKED_TO_STAY_OPEN("hostent", HOSTS, next_with_host_error_r, 5),
	BOUND("setfsent", restart_file, 0, FILE_SYSTEMS, WHY),
	BOUND("endfsent", databases_restart, 0, FILE_SYSTEMS, WHY),
	BOUND("getfsent", databases_next, 0, FILE_SYSTEMS, WHY),
	BOUND("getfsspec", find_fstab_spec, 1, FILE_SYSTEMS, WHY),
	BOUND("getfsfile", find_fstab_file, 1, FILE_SYSTEMS, WHY),
	BOUND("setttyent", restart_file, 0, TTYS, WHY),
	BOUND("endttyent", end_ttys, 0, TTYS, WHY),
	BOUND("getttyent", databases_next, 0, TTYS, WHY),
	BOUND("getttynam", find_tty, 1, TTYS, WHY),
	BOUND("setusershell", databases_restart, 0, SHELLS, WHY),
	BOUND("endusershell", databases_restart, 0, SHELLS, WHY),
	BOUND("getusershell", next_shell, 0, SHELLS, WHY),
	BOUND("setnetgrent", restart_netgroup, 1, NETGROUP, WHY),
	BOUND("endnetgrent", databases_restart, 0, NETGROUP, WHY),
	BOUND("getnetgrent", next_netgroup, 3, NETGROUP, WHY),
	BOUND("getnetgrent_r", next_netgroup_r, 5, NETGROUP, WHY),
};

const struct gorgon_part gorgon_databases_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct state),
	.begin = databases_begin,
	.end = databases_end,
	.before_fork = before_fork,
	.after_fork = after_fork,
};
