// SPDX-License-Identifier: MIT
// Descriptors handed on between programs that have descriptors of their own, and the host.
//
// A descriptor's number means nothing in another table, and the kernel hands on what it stands
// for in one way: as a message over a UNIX socket (unix(7), SCM_RIGHTS). Somebody has to hold it
// until it is asked for, in a table that no program can change. That is a thread with a table of
// its own, the keeper, which is started when the first descriptor is sent. It has one socket, at
// an address in the abstract namespace that the kernel chooses, and listens to this process only.
//
// A thread that sends or receives makes a socket for its question and the answer, and closes it. So
// nothing stays open in a program's table.
//
// A forked child has no keeper, and starts its own. Descriptors that were held stay with the parent's.
//
// Not handled: threads in different network namespaces, which do not see each other's sockets
// (ENOENT or ECONNREFUSED is the error then).

#define _GNU_SOURCE
#include "exchange.h"
#include "files.h"
#include "gorgon.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NAME_MAX_SIZE 256 // of a descriptor's name, the final zero included

enum request { SEND, RECEIVE };

struct question {
	enum request request;
	char name[NAME_MAX_SIZE];
};

struct address {
	struct sockaddr_un un;
	socklen_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards `keeper`; a leaf
static struct address keeper;				   // size 0: there is none

static void after_fork(bool child)
{
	if (child)
		keeper.size = 0;
}

// --- messages with a descriptor, or without (-1) ----------------------------------------------

// Room for a descriptor and for the sender's credentials, each aligned.
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

static bool exchange_post(int at, const struct address *to, const void *data, size_t size, int fd)
{
	struct iovec part = {(void *)data, size};
	union control control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {
		.msg_name = (void *)&to->un,
		.msg_namelen = to->size,
		.msg_iov = &part,
		.msg_iovlen = 1,
	};
	ssize_t sent;

	if (fd >= 0) {
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(fd));
	}
	do
		sent = sendmsg(at, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size;
}

// Returns false with errno set. @pid may be NULL.
static bool exchange_take(int at, struct address *from, void *data, size_t size, int *fd,
			  pid_t *pid)
{
	struct iovec part = {data, size};
	union control control;
	struct msghdr message = {
		.msg_name = &from->un,
		.msg_namelen = sizeof(from->un),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got;

	*fd = -1;
	do
		got = recvmsg(at, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return false;
	from->size = message.msg_namelen;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(c), sizeof(*fd));
		if (c->cmsg_type == SCM_CREDENTIALS && pid)
			*pid = ((const struct ucred *)CMSG_DATA(c))->pid;
	}
	errno = EBADMSG;
	return got == (ssize_t)size;
}

// A socket at an address that the kernel chooses, or -1. @address may be NULL.
static int make_socket(struct address *address)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), saved;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	bool done = fd >= 0 && !bind(fd, (struct sockaddr *)&un, sizeof(un.sun_family));

	if (done && address) {
		address->size = sizeof(address->un);
		done = !getsockname(fd, (struct sockaddr *)&address->un, &address->size);
	}
	if (done || fd < 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

// --- the keeper -----------------------------------------------------------------------------

struct kept {
	struct kept *next;
	int fd;
	char name[];
};

static struct kept **exchange_find(struct kept **list, const char *name)
{
	while (*list && strcmp((*list)->name, name))
		list = &(*list)->next;
	return list;
}

// Returns an error number. Takes @fd on success.
static int exchange_keep(struct kept **list, const char *name, int fd)
{
	struct kept *kept;

	if (fd < 0)
		return EBADF;
	if (*exchange_find(list, name))
		return EEXIST;
	kept = malloc(sizeof(*kept) + strlen(name) + 1);
	if (!kept)
		return ENOMEM;
	kept->next = *list;
	kept->fd = fd;
	strcpy(kept->name, name);
	*list = kept;
	return 0;
}

// Returns whether the asking thread has the answer: it may be gone. It waits, so when the kernel has no memory for
// the message the keeper tries again.
static bool exchange_answer(int at, const struct address *to, int err, int fd)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	bool sent;

	while (!(sent = exchange_post(at, to, &err, sizeof(err), fd)) && (errno == ENOBUFS || errno == ENOMEM))
		nanosleep(&pause, NULL);
	return sent;
}

static void answer_receive(struct kept **list, int at, const struct address *to, const char *name)
{
	struct kept **place = exchange_find(list, name), *kept = *place;

	if (!exchange_answer(at, to, kept ? 0 : ENOENT, kept ? kept->fd : -1) || !kept)
		return; // the descriptor stays for the next
	*place = kept->next;
	close(kept->fd);
	free(kept);
}

// Nobody can close the socket, which is in the keeper's own table.
static __attribute__((noreturn)) void keep_descriptors(int at)
{
	struct kept *list = NULL;
	struct question question;
	struct address from;
	pid_t pid = 0;
	int fd, err;

	for (;;) {
		bool whole = exchange_take(at, &from, &question, sizeof(question), &fd, &pid);

		question.name[NAME_MAX_SIZE - 1] = '\0';
		// Any process may write to the address.
		if (whole && pid == getpid() && question.request == SEND) {
			err = exchange_keep(&list, question.name, fd);
			if (!err)
				fd = -1;
			exchange_answer(at, &from, err, -1);
		} else if (whole && pid == getpid()) {
			answer_receive(&list, at, &from, question.name);
		}
		if (fd >= 0)
			close(fd);
	}
}

// A new keeper's answer to the thread that has started it.
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
	struct address address;
	int err;
} begun = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *begin_to_keep(void *arg)
{
	struct address address = {.size = 0};
	int err = -gorgon_files_unshare(), at = -1, on = 1;

	(void)arg;
	pthread_setname_np(pthread_self(), "gorgon-keeper");
	// The starter's descriptors would stay open in the keeper's table.
	if (!err) {
		gorgon_files_close_from(0);
		at = make_socket(&address);
	}
	if (!err && (at < 0 || setsockopt(at, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))))
		err = errno;
	pthread_mutex_lock(&begun.lock);
	begun.address = address;
	begun.err = err;
	begun.done = true;
	pthread_cond_signal(&begun.changed);
	pthread_mutex_unlock(&begun.lock);
	if (!err)
		keep_descriptors(at);
	return NULL;
}

// The lock is held. Returns an error number.
static int start_keeper(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	begun.done = false;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&thread, NULL, begin_to_keep, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return err;
	pthread_detach(thread);
	pthread_mutex_lock(&begun.lock);
	while (!begun.done)
		pthread_cond_wait(&begun.changed, &begun.lock);
	pthread_mutex_unlock(&begun.lock);
	if (!begun.err)
		keeper = begun.address;
	return begun.err;
}

// --- for everybody else ---------------------------------------------------------------------

static int find_keeper(struct address *ret)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!keeper.size)
		err = start_keeper();
	*ret = keeper;
	pthread_mutex_unlock(&lock);
	return err;
}

// Returns an error number; the answer's descriptor in @ret.
static int exchange_ask(const struct question *question, int fd, int *ret)
{
	struct address to, from;
	int err = find_keeper(&to), at, spare, answer = 0;

	*ret = -1;
	if (err)
		return err;
	at = make_socket(NULL);
	if (at < 0)
		return errno;
	// Without room for a descriptor the message would come without it, and it would be lost.
	spare = fcntl(at, F_DUPFD_CLOEXEC, 0);
	if (spare < 0 || !exchange_post(at, &to, question, sizeof(*question), fd))
		err = errno;
	if (spare >= 0)
		close(spare);
	do {
		if (!err && !exchange_take(at, &from, &answer, sizeof(answer), ret, NULL))
			err = errno;
		// A message from another process is not the answer.
	} while (!err && (from.size != to.size || memcmp(&from.un, &to.un, to.size)));
	close(at);
	return err ?: answer;
}

static struct gorgon_error *make_question(enum request request, const char *name,
					  struct question *ret)
{
	*ret = (struct question){.request = request};
	if (!*name || strlen(name) >= NAME_MAX_SIZE)
		return gorgon_error_create(GORGON_ERROR_ARGUMENT,
					   "descriptor: its name has %zu bytes, expected 1 to %d",
					   strlen(name), NAME_MAX_SIZE - 1);
	strcpy(ret->name, name);
	return NULL;
}

struct gorgon_error *gorgon_descriptor_send(const char *name, int fd)
{
	struct question question;
	struct gorgon_error *err = make_question(SEND, name, &question);
	int number, none;

	if (err)
		return err;
	number = fd < 0 ? EBADF : exchange_ask(&question, fd, &none);
	if (number == EEXIST)
		return gorgon_error_create(
			GORGON_ERROR_BUSY,
			"descriptor '%s': nobody has received the one that was sent before", name);
	return number ? gorgon_error_create_os(number, "descriptor '%s': cannot be sent", name) : NULL;
}

struct gorgon_error *gorgon_descriptor_receive(const char *name, int *fd)
{
	struct question question;
	struct gorgon_error *err = make_question(RECEIVE, name, &question);
	int number, received;

	if (err)
		return err;
	number = exchange_ask(&question, -1, &received);
	if (number == ENOENT)
		return gorgon_error_create(GORGON_ERROR_MISSING,
					   "descriptor '%s': nobody has sent it", name);
	// When the table has no room, the message comes without its descriptor.
	if (!number && received < 0)
		number = EMFILE;
	if (number)
		return gorgon_error_create_os(number, "descriptor '%s': cannot be received", name);
	*fd = received;
	return NULL;
}

const struct gorgon_part gorgon_exchange_part = {
	.lock = &lock,
	.after_fork = after_fork,
};
