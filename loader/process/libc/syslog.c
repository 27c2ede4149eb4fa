// SPDX-License-Identifier: MIT
// syslog(): who a namespace is in the system's log, what it leaves out, and its connection.
//
// The C library keeps all three for the process, and of the name only the pointer that openlog()
// was given: programs log under each other's names, and the host's next message after a program's
// end reads memory that is gone. Here they are the namespace's. Messages are what the C library
// writes, with the time of the namespace's zone.
//
// Other code may close the descriptor (closerange), and its number may become a file's. So it is
// used only while it is the socket that was connected.
//
// Messages of the C library's own code would go by the process's connection; today it has none.

#define _GNU_SOURCE
#include "output.h"
#include "syslog.h"
#include "time_zone.h"
#include "base/arch.h"
#include "ns/ns.h"
#include "process/part.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <sys/un.h>
#include <unistd.h>

struct log {
	struct gorgon_ns *ns;
	pthread_mutex_t lock; // of this namespace: a message may wait for the daemon
	const char *ident;    // the program's memory; NULL: the process's name
	int options, facility, mask;
	int type; // of socket
	bool open, connected;
	int fd;
	dev_t device; // of the socket
	ino_t inode;
};

const char *gorgon_syslog_path = _PATH_LOG;

extern int __vasprintf_chk(char **text, int flag, const char *format, va_list list);

// --- the connection ------------------------------------------------------------------------------

static bool is_ours(const struct log *log)
{
	struct stat status;

	return log->open && !fstat(log->fd, &status) && S_ISSOCK(status.st_mode) &&
	       status.st_dev == log->device && status.st_ino == log->inode;
}

static void disconnect(struct log *log)
{
	if (is_ours(log))
		close(log->fd);
	log->open = log->connected = false;
}

static bool make_socket(struct log *log)
{
	struct stat status;
	int fd = socket(AF_UNIX, log->type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	if (fstat(fd, &status)) {
		close(fd);
		return false;
	}
	log->fd = fd;
	log->device = status.st_dev;
	log->inode = status.st_ino;
	log->open = true;
	return true;
}

// Try each type of socket that a daemon may have. Without a daemon errno is unchanged.
static void connect_to_daemon(struct log *log)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int before = errno;

	strncpy(address.sun_path, gorgon_syslog_path, sizeof(address.sun_path) - 1);
	if (log->open && !is_ours(log))
		log->open = log->connected = false;
	for (int tries = 0; !log->connected && tries < 2; tries++) {
		if (!log->open && !make_socket(log))
			return;
		log->connected = !connect(log->fd, (struct sockaddr *)&address, sizeof(address));
		if (log->connected)
			break;
		disconnect(log);
		if (errno != EPROTOTYPE)
			break;
		log->type = log->type == SOCK_DGRAM ? SOCK_STREAM : SOCK_DGRAM;
	}
	errno = before;
}

// A stream's records end with a NUL, which the text has behind it.
static bool send_once(struct log *log, const char *text, size_t size)
{
	return log->connected &&
	       send(log->fd, text, size + (log->type == SOCK_STREAM), MSG_NOSIGNAL) >= 0;
}

static bool send_text(struct log *log, const char *text, size_t size)
{
	connect_to_daemon(log);
	if (send_once(log, text, size))
		return true;
	if (log->connected) { // the daemon may have been started again
		disconnect(log);
		connect_to_daemon(log);
	}
	if (send_once(log, text, size))
		return true;
	if (log->connected)
		disconnect(log);
	return false;
}

// --- a message -----------------------------------------------------------------------------------

static void write_all(const struct log *log, int fd, const char *text, size_t size)
{
	bool to_host = fd == STDERR_FILENO && log->ns->opts.write_output;

	while (size) {
		ssize_t done = to_host ? gorgon_output_write(fd, text, size, log->ns)
				       : write(fd, text, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		size -= (size_t)done;
	}
}

// Write @text and an end of line by a single call.
static void write_line(const struct log *log, int fd, const char *text, const char *end)
{
	char *line;
	int size = asprintf(&line, "%s%s", text, end);

	if (size < 0)
		return;
	write_all(log, fd, line, (size_t)size);
	free(line);
}

static void write_console(const struct log *log, const char *text)
{
	int fd = open(_PATH_CONSOLE, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return;
	write_line(log, fd, text, "\r\n");
	close(fd);
}

// "<13>Nov 23 06:37:14 ", or without the time in years that no tm has.
static void make_stamp(const struct log *log, int priority, char *to, size_t size)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t now = time(NULL);
	struct tm tm;

	if (gorgon_time_zone_local(log->ns, &now, &tm))
		snprintf(to, size, "<%d>%.3s %2d %02d:%02d:%02d ", priority, months + 3 * tm.tm_mon,
			 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	else
		snprintf(to, size, "<%d>: ", priority);
}

// The whole record; *@message_at is where the part begins that people read. NULL: no memory.
static char *make_record(const struct log *log, int priority, const char *message,
			 size_t *message_at)
{
	char stamp[64], pid[24] = "", *ret;

	make_stamp(log, priority, stamp, sizeof(stamp));
	*message_at = strlen(stamp);
	if (log->options & LOG_PID)
		snprintf(pid, sizeof(pid), "[%d]", (int)getpid());
	return asprintf(&ret, "%s%s%s: %s", stamp, log->ident ?: program_invocation_short_name, pid,
			message) < 0
		       ? NULL
		       : ret;
}

static void log_text(struct log *log, int priority, const char *message)
{
	char *record, *text, small[64];
	size_t message_at, size;

	if (!(priority & LOG_FACMASK))
		priority |= log->facility;
	record = make_record(log, priority, message, &message_at);
	if (!record) {
		snprintf(small, sizeof(small), "out of memory[%d]", (int)getpid());
		message_at = 0;
	}
	text = record ?: small;
	size = strlen(text);
	if (log->options & LOG_PERROR)
		write_line(log, STDERR_FILENO, text + message_at,
			   text[size - 1] == '\n' ? "" : "\n");
	if (!send_text(log, text, size) && (log->options & LOG_CONS))
		write_console(log, text + message_at);
	free(record);
}

// The lock is held with cancellation disabled.
static void enter_log(struct log *log, int *cancel)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	pthread_mutex_lock(&log->lock);
}

static void syslog_leave(struct log *log, int cancel)
{
	pthread_mutex_unlock(&log->lock);
	pthread_setcancelstate(cancel, &cancel);
}

static bool is_wanted(const struct log *log, int priority)
{
	return LOG_MASK(LOG_PRI(priority)) & __atomic_load_n(&log->mask, __ATOMIC_RELAXED);
}

static void log_message(struct log *log, int priority, const char *message)
{
	int cancel;

	enter_log(log, &cancel);
	if (is_wanted(log, priority))
		log_text(log, priority, message);
	syslog_leave(log, cancel);
}

// The message that the C library writes then.
static void syslog_complain(struct log *log, int priority)
{
	char text[64];

	snprintf(text, sizeof(text), "syslog: unknown facility/priority: %x", (unsigned)priority);
	log_message(log, LOG_ERR | LOG_CONS | LOG_PERROR | LOG_PID, text);
}

// --- the names -----------------------------------------------------------------------------------

void gorgon_syslog_write_list_chk(int priority, int flag, const char *format, va_list list,
				  struct log *log)
{
	int number = errno;
	char *message;

	if (priority & ~(LOG_PRIMASK | LOG_FACMASK)) {
		syslog_complain(log, priority);
		priority &= LOG_PRIMASK | LOG_FACMASK;
	}
	errno = number; // for %m
	if (!is_wanted(log, priority) || __vasprintf_chk(&message, flag > 0, format, list) < 0)
		return;
	log_message(log, priority, message);
	free(message);
}

void gorgon_syslog_write_list(int priority, const char *format, va_list list, struct log *log)
{
	gorgon_syslog_write_list_chk(priority, 0, format, list, log);
}

static void log_open(const char *ident, int options, int facility, struct log *log)
{
	int cancel;

	enter_log(log, &cancel);
	if (ident)
		log->ident = ident;
	log->options = options;
	if (!(facility & ~LOG_FACMASK))
		log->facility = facility;
	if (options & LOG_NDELAY)
		connect_to_daemon(log);
	syslog_leave(log, cancel);
}

static void log_close(struct log *log)
{
	int cancel;

	enter_log(log, &cancel);
	disconnect(log);
	log->ident = NULL;
	log->type = SOCK_DGRAM;
	syslog_leave(log, cancel);
}

static int log_set_mask(int mask, struct log *log)
{
	int cancel, before;

	enter_log(log, &cancel);
	before = log->mask;
	if (mask)
		__atomic_store_n(&log->mask, mask, __ATOMIC_RELAXED);
	syslog_leave(log, cancel);
	return before;
}

// --- the part ------------------------------------------------------------------------------------

static bool syslog_begin(void *arg, struct gorgon_ns *ns)
{
	*(struct log *)arg = (struct log){
		.ns = ns,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.facility = LOG_USER,
		.mask = 0xff,
		.type = SOCK_DGRAM,
		.fd = -1,
	};
	return true;
}

static void syslog_stop(void *arg)
{
	struct log *log = arg;
	int cancel;

	enter_log(log, &cancel);
	disconnect(log);
	syslog_leave(log, cancel);
}

static void syslog_end(void *arg)
{
	disconnect(arg);
}

// The thread that held the lock is not in the forked child.
static void in_child(void *arg)
{
	struct log *log = arg;

	pthread_mutex_init(&log->lock, NULL);
}

#define OWN(name, target, args, reason) {name, target, args, 0, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN("openlog", log_open, 3, "programs do not log under each other's names"),
	OWN("closelog", log_close, 0, "as openlog"),
	OWN("setlogmask", log_set_mask, 1, "a program leaves out its own messages only"),
	OWN("syslog", gorgon_syslog_write, GORGON_ARCH_THUNK_ARGS_MAX, "as openlog"),
	OWN("__syslog_chk", gorgon_syslog_write_chk, GORGON_ARCH_THUNK_ARGS_MAX, "as openlog"),
	OWN("vsyslog", gorgon_syslog_write_list, 3, "as openlog"),
	OWN("__vsyslog_chk", gorgon_syslog_write_list_chk, 4, "as openlog"),
};

const struct gorgon_part gorgon_syslog = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct log),
	.begin = syslog_begin,
	.stop = syslog_stop,
	.end = syslog_end,
	.in_child = in_child,
};
