/* SPDX-License-Identifier: MIT */
/* What record.c, watch.c, samples.c and native.c share: the interpreters of a process and its
 * threads, while they are sampled. */
#ifndef GORGON_SYMDUMP_RECORD_H
#define GORGON_SYMDUMP_RECORD_H

#include "pages.h"
#include "profile.h"

/* A copy of CPython. */
struct copy {
	uint64_t id; /* of its namespace, or HOST_ID */
	size_t ns;   /* in the snapshot, or NO_NS */
	struct python_layout *layout;
	uint64_t bias;
	size_t label; /* index of the frame that names it */
};

/* The id of the copy that the system's linker has loaded, python3's own or a program's libpython.
 */
#define HOST_ID UINT64_MAX

/* What the kernel says of a thread. */
enum kernel_state {
	THREAD_GONE,
	THREAD_SAME, /* it sleeps, and has not run since the last look */
	THREAD_RUNS,
	THREAD_SLEEPS,
};

/* A thread that is watched. */
struct watched {
	pid_t tid;
	int schedstat, syscall;  /* files of /proc */
	uint64_t runs;           /* how often it had got a processor at the last look */
	bool slept, was_stopped; /* at the last look; native.c has stopped it since */
	uint64_t futex;          /* the address that it waits at, or 0 */
	uint64_t sp, pc;         /* where it sleeps */
	size_t node, track;      /* of the last sample */
	size_t thread_frame;
	bool has_track;
	uint64_t sample; /* number of the last sample */
	uint64_t looked; /* number of the sample in which the kernel was asked */
	enum kernel_state state; /* what it said */
};

struct recording {
	struct dump *dump;
	struct profile profile;
	struct pages pages;
	struct python_codes *codes;
	struct copy *copies;
	size_t copy_count;
	struct watched *threads;
	size_t thread_count;
	struct map thread_map; /* thread and copy: index in the list */
	struct map python_map; /* function's name, line: frame */
	uint64_t sample;       /* number of the present one */
	size_t unread;         /* stacks */
	bool is_refused;       /* threads may not be stopped */
	struct native *native; /* or NULL */
};

/* watch.c: @copy's id tells apart the samples of one thread in several copies. NULL: the thread has
 * gone. */
struct watched *watch(struct recording *recording, pid_t tid, uint64_t copy_id);
enum kernel_state watched_look(struct watched *thread);
void watched_end(struct recording *recording);

/* samples.c */
size_t python_frame_of(struct recording *recording, const struct python_frame *frame);
/*
 * Count a sample: @frames innermost first. @copy may be NULL: no interpreter. @gil: it is held, or
 * waited for.
 */
enum gil { GIL_NONE, GIL_HELD, GIL_WAITED_FOR };
void count_sample(struct recording *recording, struct watched *thread, const struct copy *copy,
		  enum kernel_state state, enum gil gil, const size_t *frames, size_t count);

/* native.c: samples of all threads with the frames of both languages. */
struct native *native_create(struct recording *recording);
void native_destroy(struct native *native);
/* The snapshot has changed, or is about to. */
void native_forget(struct native *native);
/* False: threads cannot be stopped; a problem says why. */
bool native_sample(struct native *native);

#endif
