// SPDX-License-Identifier: MIT
// Descriptors handed on between programs that have descriptors of their own, and the host.
//
// A descriptor's number means nothing in another table, and the kernel hands on what it stands
// for in one way: as a message over a UNIX socket (unix(7), SCM_RIGHTS). Somebody has to hold it
// until it is asked for, in a table that no program can change. That is a thread with a table of
// its own, the keeper, which is started when the first descriptor is sent. It has one socket, at
// an address in the abstract namespace that the kernel chooses, and listens to this process only.
//
// A thread that sends or receives makes a pair of sockets for the answer, sends one of them along
// with its question, and closes what it has made: nothing stays open in a program's table. The
// keeper closes its socket whether it could answer or not, so nobody waits for an answer that does
// not come.
//
// A forked child has no keeper, and starts its own. Descriptors that were held stay with the
// parent's.
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

// Answers beside 0 and the system's error numbers.
enum { NOT_SENT = -1, NOT_RECEIVED = -2 };

struct question {
	enum request request;
	char name[NAME_MAX_SIZE];
};

struct address {
	struct sockaddr_un un;
	socklen_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards `keeper`, and its start
static struct address keeper;				   // size 0: there is none

static void after_fork(bool child)
{
	if (child)
		keeper.size = 0;
}

// --- messages with descriptors ------------------------------------------------------------------

#define FDS_MAX 2 // of a message

// Room for descriptors and for the sender's credentials, each aligned.
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

// @to is NULL for a socket that has a peer.
static bool exchange_post(int at, const struct address *to, const void *data, size_t size,
			  const int *fds, size_t count)
{
	struct iovec part = {(void *)data, size};
	union control control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {
		.msg_name = to ? (void *)&to->un : NULL,
		.msg_namelen = to ? to->size : 0,
		.msg_iov = &part,
		.msg_iovlen = 1,
	};
	ssize_t sent;

	if (count) {
		control.header.cmsg_len = CMSG_LEN(count * sizeof(*fds));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(*fds));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(*fds));
	}
	do
		sent = sendmsg(at, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size;
}

// Returns false with errno set. A descriptor that did not come, or for which the table has no room,
// is -1. @pid may be NULL.
static bool exchange_take(int at, void *data, size_t size, int fds[static FDS_MAX], pid_t *pid)
{
	struct iovec part = {data, size};
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got;
	int fd;

	fds[0] = fds[1] = -1;
	do
		got = recvmsg(at, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && pid)
			*pid = ((const struct ucred *)CMSG_DATA(c))->pid;
		for (size_t i = 0;
		     c->cmsg_type == SCM_RIGHTS && CMSG_LEN((i + 1) * sizeof(fd)) <= c->cmsg_len;
		     i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (i < FDS_MAX)
				fds[i] = fd;
			else
				close(fd); // a stranger may send any number
		}
	}
	errno = got ? EBADMSG : ECONNRESET;
	return got == (ssize_t)size;
}

// --- the keeper -----------------------------------------------------------------------------

struct sent_fd {
	struct sent_fd *next;
	int fd;
	char name[];
};

static struct sent_fd **exchange_find(struct sent_fd **list, const char *name)
{
	while (*list && strcmp((*list)->name, name))
		list = &(*list)->next;
	return list;
}

// Returns an answer. Takes @fd on success.
static int exchange_keep(struct sent_fd **list, const char *name, int fd)
{
	struct sent_fd *kept;

	if (fd < 0)
		return EMFILE; // it was sent, and there was no room for it
	if (*exchange_find(list, name))
		return NOT_RECEIVED;
	kept = malloc(sizeof(*kept) + strlen(name) + 1);
	if (!kept)
		return ENOMEM;
	kept->next = *list;
	kept->fd = fd;
	strcpy(kept->name, name);
	*list = kept;
	return 0;
}

static void exchange_drop(struct sent_fd **place)
{
	struct sent_fd *kept = *place;

	*place = kept->next;
	close(kept->fd);
	free(kept);
}

// Returns whether the answer goes to the asking thread as it is. If not, it gets the reason, which
// needs less of the kernel, or none.
static bool exchange_answer(int reply, int answer, const int *fd)
{
	if (exchange_post(reply, NULL, &answer, sizeof(answer), fd, fd ? 1 : 0))
		return true;
	answer = errno;
	exchange_post(reply, NULL, &answer, sizeof(answer), NULL, 0);
	return false;
}

static void answer_send(struct sent_fd **list, int reply, const char *name, int fd)
{
	int answer = exchange_keep(list, name, fd);

	if (answer && fd >= 0)
		close(fd);
	if (!exchange_answer(reply, answer, NULL) && !answer)
		exchange_drop(exchange_find(list, name)); // the asking thread takes it for not sent
}

static void answer_receive(struct sent_fd **list, int reply, const char *name)
{
	struct sent_fd **place = exchange_find(list, name);

	if (!*place)
		exchange_answer(reply, NOT_SENT, NULL);
	else if (exchange_answer(reply, 0, &(*place)->fd))
		exchange_drop(place);
}

// Nobody can close the socket, which is in the keeper's own table. That has room for another socket
// for an answer at all times: a descriptor comes behind the one for the answer to its question, and
// stays only if there was room for both.
static __attribute__((noreturn)) void keep_descriptors(int at)
{
	struct sent_fd *list = NULL;
	struct question question;
	pid_t pid = 0;
	int fds[FDS_MAX];

	for (;;) {
		bool whole = exchange_take(at, &question, sizeof(question), fds, &pid);

		question.name[NAME_MAX_SIZE - 1] = '\0';
		// Any process may write to the address.
		if (whole && pid == getpid() && question.request == SEND) {
			answer_send(&list, fds[0], question.name, fds[1]);
			fds[1] = -1;
		} else if (whole && pid == getpid()) {
			answer_receive(&list, fds[0], question.name);
		}
		shutdown(fds[0], SHUT_RDWR); // a child forked meanwhile may have it, too
		for (size_t i = 0; i < FDS_MAX; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
}

// A socket at an address that the kernel chooses, and which tells who sends, or -1; then the
// thread's end closes what it has made.
static int make_socket(struct address *address)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	address->size = sizeof(address->un);
	return fd >= 0 && !bind(fd, (struct sockaddr *)&un, sizeof(un.sun_family)) &&
			       !getsockname(fd, (struct sockaddr *)&address->un, &address->size) &&
			       !setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))
		       ? fd
		       : -1;
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
	int err = -gorgon_files_unshare(), at = -1;

	(void)arg;
	pthread_setname_np(pthread_self(), "gorgon-keeper");
	// The starter's descriptors would stay open in the keeper's table.
	if (!err) {
		closefrom(0);
		at = make_socket(&address);
	}
	if (!err && at < 0)
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

// Returns an answer; its descriptor in @ret. @fd is -1 if none goes with the question.
static int exchange_ask(const struct question *question, int fd, int *ret)
{
	struct address to;
	int err = find_keeper(&to), at, ends[2], fds[FDS_MAX] = {-1, -1}, answer = 0;

	*ret = -1;
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return errno;
	at = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (at < 0 || !exchange_post(at, &to, question, sizeof(*question), (int[]){ends[1], fd},
				     fd < 0 ? 1 : 2))
		err = errno;
	if (at >= 0)
		close(at);
	// The answer's descriptor has room now. Without, the message would come without it, and it
	// would be lost.
	close(ends[1]);
	if (!err && !exchange_take(ends[0], &answer, sizeof(answer), fds, NULL))
		err = errno;
	close(ends[0]);
	*ret = fds[0];
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
	if (number == NOT_RECEIVED)
		return gorgon_error_create(
			GORGON_ERROR_BUSY,
			"descriptor '%s': nobody has received the one that was sent before", name);
	return number ? gorgon_error_create_os(number, "descriptor '%s': cannot be sent", name)
		      : NULL;
}

struct gorgon_error *gorgon_descriptor_receive(const char *name, int *fd)
{
	struct question question;
	struct gorgon_error *err = make_question(RECEIVE, name, &question);
	int number, received;

	if (err)
		return err;
	number = exchange_ask(&question, -1, &received);
	if (number == NOT_SENT)
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
