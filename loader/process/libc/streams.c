// SPDX-License-Identifier: MIT
// Streams (FILE) that a program has opened.
//
// The C library has one list of streams, and exit() flushes the streams on it. A program that ends
// here does not end the process: what its C code has left in a stream would be written by the
// host's thread at the process's end, to the host's descriptor of that number. So streams are
// flushed when their program ends, by its thread, while its descriptors are there; and fflush(NULL)
// is about the program's own streams, because other programs' are open in other descriptor tables.
//
// A stream is known by its address and by its file. Nobody tells us when it is closed. A stream
// that has come to its address since is not touched, unless it has the descriptor number and the
// file of the first. A stream that another thread uses at that moment is left alone: it may wait
// for input.
//
// Not handled: streams that were opened again (freopen()), and streams without a descriptor
// (fopencookie(), open_memstream()).

#define _GNU_SOURCE
#include "streams.h"
#include "process_variables.h"
#include "ns/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#define BUCKETS 64

// The C library exports these, and no header declares them.
extern void _IO_list_lock(void);
extern void _IO_list_unlock(void);
extern FILE *_IO_iter_begin(void);
extern FILE *_IO_iter_end(void);
extern FILE *_IO_iter_next(FILE *iter);
extern FILE *_IO_iter_file(FILE *iter);

struct known {
	struct known *next;
	FILE *stream;
	int fd;
	dev_t device;
	ino_t inode;
	unsigned long seen; // the number of the flush that has looked at it last
};

struct gorgon_streams {
	struct known **buckets; // NULL: no stream yet
	unsigned long flushes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // a leaf

static struct known **streams_bucket(const struct gorgon_streams *streams, const FILE *stream)
{
	return &streams->buckets[((uintptr_t)stream >> 4) % BUCKETS];
}

static struct known *streams_find(const struct gorgon_streams *streams, const FILE *stream)
{
	struct known *known = streams->buckets ? *streams_bucket(streams, stream) : NULL;

	while (known && known->stream != stream)
		known = known->next;
	return known;
}

// NULL: no memory.
static struct known *find_or_add(struct gorgon_streams *streams, FILE *stream)
{
	struct known *known = streams_find(streams, stream);

	if (!streams->buckets)
		streams->buckets = calloc(BUCKETS, sizeof(*streams->buckets));
	if (known || !streams->buckets)
		return known;
	known = calloc(1, sizeof(*known));
	if (known) {
		known->stream = stream;
		known->next = *streams_bucket(streams, stream);
		*streams_bucket(streams, stream) = known;
	}
	return known;
}

// Without memory the stream is not noted, and is flushed at the end of the process.
FILE *gorgon_streams_note(struct gorgon_streams *streams, FILE *stream)
{
	int saved = errno;
	struct known *known;
	struct stat st;

	if (!stream || fstat(fileno_unlocked(stream), &st)) {
		errno = saved;
		return stream;
	}
	pthread_mutex_lock(&lock);
	known = find_or_add(streams, stream);
	if (known) {
		known->fd = fileno_unlocked(stream);
		known->device = st.st_dev;
		known->inode = st.st_ino;
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
	return stream;
}

// Whether a stream of the C library's list is one of these, and has not been looked at in this
// flush. Called with the lock.
static bool streams_take(struct gorgon_streams *streams, FILE *stream, unsigned long flush)
{
	struct known *known = streams_find(streams, stream);
	struct stat st;
	bool ret = false;

	if (known && known->seen != flush) {
		known->seen = flush;
		ret = known->fd == fileno_unlocked(stream) && !fstat(known->fd, &st) &&
		      st.st_dev == known->device && st.st_ino == known->inode;
	}
	return ret;
}

// Take both locks: the C library's for its list of streams, and this file's. A thread in fork()
// holds this file's lock while it waits for the list's, so this function never waits with the
// list's held.
static void lock_list(void)
{
	for (;;) {
		_IO_list_lock();
		if (!pthread_mutex_trylock(&lock))
			return;
		_IO_list_unlock();
		sched_yield();
	}
}

// The next stream that is not in use, locked, so that fclose() waits. NULL: there is no other.
static FILE *lock_next(struct gorgon_streams *streams, unsigned long flush)
{
	FILE *found = NULL;

	lock_list();
	for (FILE *iter = _IO_iter_begin(); !found && iter != _IO_iter_end();
	     iter = _IO_iter_next(iter)) {
		FILE *stream = _IO_iter_file(iter);

		if (streams_take(streams, stream, flush) && !ftrylockfile(stream))
			found = stream;
	}
	pthread_mutex_unlock(&lock);
	_IO_list_unlock();
	return found;
}

static int flush_all(struct gorgon_streams *streams)
{
	unsigned long flush;
	FILE *stream;
	int ret = 0;

	pthread_mutex_lock(&lock);
	flush = ++streams->flushes;
	pthread_mutex_unlock(&lock);
	while ((stream = lock_next(streams, flush))) {
		ret |= fflush(stream);
		funlockfile(stream);
	}
	return ret;
}

// --- what private code calls ---------------------------------------------------------------------

static FILE *streams_fdopen(int fd, const char *mode, struct gorgon_streams *streams)
{
	return gorgon_streams_note(streams, fdopen(fd, mode));
}

static FILE *streams_tmpfile(struct gorgon_streams *streams)
{
	return gorgon_streams_note(streams, tmpfile());
}

static FILE *streams_popen(const char *command, const char *mode, struct gorgon_streams *streams)
{
	bool held = gorgon_process_variables_hold();
	FILE *stream = popen(command, mode);

	gorgon_process_variables_let_go(held);
	return gorgon_streams_note(streams, stream);
}

int gorgon_streams_flush(struct gorgon_streams *streams)
{
	int ret = flush_all(streams);

	ret |= fflush(stdout);
	ret |= fflush(stderr);
	return ret;
}

static int streams_fflush(FILE *stream, struct gorgon_streams *streams)
{
	return stream ? fflush(stream) : gorgon_streams_flush(streams);
}

// The process's three streams outlive the library that has the buffer.
static bool is_processs(const FILE *stream)
{
	return stream == stdin || stream == stdout || stream == stderr;
}

static int streams_setvbuf(FILE *stream, char *buffer, int mode, size_t size)
{
	return setvbuf(stream, is_processs(stream) ? NULL : buffer, mode, size);
}

static void streams_setbuffer(FILE *stream, char *buffer, size_t size)
{
	streams_setvbuf(stream, buffer, buffer ? _IOFBF : _IONBF, size);
}

static void streams_setbuf(FILE *stream, char *buffer)
{
	streams_setbuffer(stream, buffer, BUFSIZ);
}

// --- the part ------------------------------------------------------------------------------------

static void streams_stop(void *state)
{
	flush_all(state);
}

static void streams_end(void *state)
{
	struct gorgon_streams *streams = state;

	for (size_t i = 0; streams->buckets && i < BUCKETS; i++)
		for (struct known *known = streams->buckets[i], *next; known; known = next) {
			next = known->next;
			free(known);
		}
	free(streams->buckets);
}

// A thread that has the lock of a stream is not ended in a wait (waiting.c): others would wait
// for the lock for ever. The signal that would end it may come at any instruction.
static void count_stream(int change)
{
	struct gorgon_thread *thread = gorgon_thread_peek();

	if (thread)
		__atomic_store_n(&thread->streams, thread->streams + (unsigned)change,
				 __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void streams_lock(FILE *stream)
{
	count_stream(1);
	flockfile(stream);
}

static int streams_trylock(FILE *stream)
{
	int ret;

	count_stream(1);
	ret = ftrylockfile(stream);
	if (ret)
		count_stream(-1);
	return ret;
}

static void streams_unlock(FILE *stream)
{
	funlockfile(stream);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	count_stream(-1);
}

static const struct gorgon_bound bound[] = {
	{"fdopen", streams_fdopen, 2, 0, GORGON_OWN,
	 "what a program leaves in a stream is written when it ends, as exit() does"},
	{"tmpfile", streams_tmpfile, 0, 0, GORGON_OWN, "as fdopen"},
	{"tmpfile64", streams_tmpfile, 0, 0, GORGON_OWN, "as fdopen"},
	{"popen", streams_popen, 2, 0, GORGON_OWN,
	 "written as those of fdopen(); the command has the process's environment, and in it the C "
	 "library closes what has the numbers of other programs' popen() streams, too"},
	{"fflush", streams_fflush, 1, 0, GORGON_OWN,
	 "without a stream it writes what the program's own have, and stdout and stderr"},
	{"setvbuf", streams_setvbuf, GORGON_BOUND_PLAIN, 0, GORGON_ORDERED,
	 "stdin, stdout and stderr get the mode and keep their buffers: a private library's is "
	 "unloaded with it"},
	{"setbuffer", streams_setbuffer, GORGON_BOUND_PLAIN, 0, GORGON_ORDERED, "as setvbuf"},
	{"setbuf", streams_setbuf, GORGON_BOUND_PLAIN, 0, GORGON_ORDERED, "as setvbuf"},
	{"flockfile", streams_lock, GORGON_BOUND_PLAIN, 0, GORGON_ORDERED,
	 "the stream is the caller's; a thread that has locked one goes on when its interpreter "
	 "ends"},
	{"ftrylockfile", streams_trylock, GORGON_BOUND_PLAIN, 0, GORGON_ORDERED, "as flockfile"},
	{"funlockfile", streams_unlock, GORGON_BOUND_PLAIN, 0, GORGON_ORDERED, "as flockfile"},
};

const struct gorgon_part gorgon_streams_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct gorgon_streams),
	.stop = streams_stop,
	.end = streams_end,
	.lock = &lock,
	.title = "Streams of the C library",
};
