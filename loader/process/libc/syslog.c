// SPDX-License-Identifier: MIT
// syslog(): who a namespace is in the system's log, and what it leaves out.
//
// The C library keeps both for the process, and of the name only the pointer that openlog()
// was given: programs log under each other's names, and the host's next message after a program's
// end reads memory that is gone. Here they are the namespace's. Messages are what the C library
// writes, with the time of the namespace's zone.
//
// Each message has a connection of its own: a descriptor that was kept could be closed by other
// code (closerange), and its number become a file's. So LOG_NDELAY means nothing.
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
#include <sys/syslog.h>
#include <sys/un.h>
#include <unistd.h>

struct log {
	struct gorgon_ns *ns;
	pthread_mutex_t lock; // of this namespace: a message may wait for the daemon
	const char *ident;    // the program's memory; NULL: the process's name
	int options, facility, mask;
};

const char *gorgon_syslog_path = _PATH_LOG;

extern int __vasprintf_chk(char **text, int flag, const char *format, va_list list);

// --- the connection ------------------------------------------------------------------------------

// A stream's records end with a NUL, which the text has behind it.
static bool send_by(int type, const char *text, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), err;
	bool ret;

	if (fd < 0)
		return false;
	strncpy(address.sun_path, gorgon_syslog_path, sizeof(address.sun_path) - 1);
	ret = !connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
	      send(fd, text, size + (type == SOCK_STREAM), MSG_NOSIGNAL) >= 0;
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

// Try each type of socket that a daemon may have. Without a daemon errno is unchanged.
static bool send_text(const char *text, size_t size)
{
	int before = errno;
	bool ret = send_by(SOCK_DGRAM, text, size) ||
		   (errno == EPROTOTYPE && send_by(SOCK_STREAM, text, size));

	errno = before;
	return ret;
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
	if (!send_text(text, size) && (log->options & LOG_CONS))
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
	syslog_leave(log, cancel);
}

static void log_close(struct log *log)
{
	int cancel;

	enter_log(log, &cancel);
	log->ident = NULL;
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
	};
	return true;
}

static bool syslog_copy(void *to, const void *from, gorgon_moved_fn *moved, void *ctx)
{
	const struct log *source = from;
	struct log *log = to;

	log->ident = moved(ctx, (char *)source->ident);
	log->options = source->options;
	log->facility = source->facility;
	log->mask = source->mask;
	return true;
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
	.copy = syslog_copy,
	.in_child = in_child,
};
