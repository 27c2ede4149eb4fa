/* SPDX-License-Identifier: MIT */
/*
 * Child processes of a namespace: which there are (children_list.c), the thread that looks after
 * them (children_watch.c), making them (children_making.c), waiting for them (children_wait.c),
 * system() (children_system.c), and all of it together (children.c).
 */
#ifndef GORGON_PROCESS_CHILDREN_H
#define GORGON_PROCESS_CHILDREN_H

#include "process/part.h"

#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

struct termios;
struct winsize;

extern const struct gorgon_part gorgon_children_part;

/* A namespace's state, or the host's. */
struct gorgon_children {
	struct gorgon_ns *ns; /* NULL: the host's */
	pid_t pid;	      /* of the process that has made them; atomic */
	uint32_t ended;	      /* counts what waiting threads want to know of: a futex */
	unsigned waiting;     /* threads that sleep until a child ends; under the lock */
};

/* A child. Its serial number is never given to another child, unlike its process id; 0 is no
 * child. */
struct gorgon_child {
	pid_t pid;
	/* its owner ignored SIGCHLD when it was made, and is not told how it ended */
	bool unwanted;
	uint64_t serial;
};

/* --- children_list.c -------------------------------------------------------------------- */

/* Whether @children are children of the calling process. They are not in a process that was forked
 * since, nor in a child of vfork(), which runs in this memory. */
bool gorgon_children_are_ours(const struct gorgon_children *children);

/* Note that the child @pid belongs to @children from now on. False: no memory, the child stays
 * unknown. @wanted is set when a thread waits for its end. */
bool gorgon_children_list_add(struct gorgon_children *children, pid_t pid, bool *wanted);
/* Note a child that may be noted already; its owner stays then. */
void gorgon_children_note_unknown(struct gorgon_children *children, pid_t pid);
/* The child has been waited for, by any code of the process. */
void gorgon_children_forget(struct gorgon_child child);
/* The owner of a child; NULL: it is an orphan, or unknown, and then its serial is 0. */
struct gorgon_children *gorgon_children_owner(pid_t pid, struct gorgon_child *ret);
/* Up to @count children of @children whose serials are greater than @after, in order. */
size_t gorgon_children_list(const struct gorgon_children *children, uint64_t after,
			    struct gorgon_child *list, size_t count);
/* @change more threads (fewer, if negative) sleep until a child of @children ends. */
void gorgon_children_list_sleeping(struct gorgon_children *children, int change);
/* Make the child an orphan. False: it is not in the list. */
bool gorgon_children_list_orphan(struct gorgon_child child);

/* The thread of children_watch.c is to look again. True: there is none, and the caller is to start
 * it, or to give that up. */
bool gorgon_children_list_claim_watch(void);
void gorgon_children_list_give_watch_up(void);
/* Up to @count children whose end somebody wants to know; returns how many there are. When there
 * are none the thread that asks is to end. */
size_t gorgon_children_wanted(struct gorgon_child *list, size_t count);
/* The child has ended, or is not there any more. True: the caller is to wait for it, as nobody else
 * will, and then to forget it. */
bool gorgon_children_tell_end(struct gorgon_child child);

void gorgon_children_list_before_fork(void);
void gorgon_children_list_after_fork(bool child);

/* --- children_making.c ------------------------------------------------------------------ */

/* Wait until each child that private code was making has been noted, for some milliseconds. False:
 * some have not. */
bool gorgon_children_settle(void);
void gorgon_children_making_in_child(void);

pid_t gorgon_children_fork(struct gorgon_children *children);
int gorgon_children_forkpty(int *master, char *name, const struct termios *termios,
			    const struct winsize *size, struct gorgon_children *children);

/* --- children_wait.c: as the functions of the same names ----------------------------------- */

pid_t gorgon_children_wait(int *status, struct gorgon_children *children);
pid_t gorgon_children_wait3(int *status, int options, struct rusage *usage,
			    struct gorgon_children *children);
pid_t gorgon_children_wait4(pid_t pid, int *status, int options, struct rusage *usage,
			    struct gorgon_children *children);
pid_t gorgon_children_waitpid(pid_t pid, int *status, int options,
			      struct gorgon_children *children);
int gorgon_children_waitid(idtype_t type, id_t id, siginfo_t *info, int options,
			   struct gorgon_children *children);

/* --- children_system.c ---------------------------------------------------------------------- */

int gorgon_children_system(const char *command, struct gorgon_children *children);

/* --- children_watch.c ---------------------------------------------------------------------- */

/* gorgon_children_wanted() has a new child. False: there is no thread to watch it. */
bool gorgon_children_watch(void);
/* The child belongs to @children from now on. False: no memory, the child stays unknown. */
bool gorgon_children_note(struct gorgon_children *children, pid_t pid);
/* A thread begins or ceases to sleep until @ended changes. False: it must not, because nobody would
 * wake it. */
bool gorgon_children_sleep(struct gorgon_children *children);
void gorgon_children_wake_up(struct gorgon_children *children);

/* --- children.S of the machine ------------------------------------------------------------------
 */

/* vfork(2), which returns twice. */
pid_t gorgon_children_vfork(struct gorgon_children *children);
/* posix_spawn(3) and posix_spawnp(3): six arguments, with the state where thunks put it. */
void gorgon_children_spawn(void);
void gorgon_children_spawnp(void);

/* What these call; see children_making.c. */
unsigned gorgon_children_before_vfork(struct gorgon_children *children);
pid_t gorgon_children_after_vfork(struct gorgon_children *children, long result, unsigned before);
int gorgon_children_run_spawn(pid_t *ret, const char *path,
			      const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attributes, char *const *argv,
			      char *const *envp, struct gorgon_children *children);
int gorgon_children_run_spawnp(pid_t *ret, const char *path,
			       const posix_spawn_file_actions_t *actions,
			       const posix_spawnattr_t *attributes, char *const *argv,
			       char *const *envp, struct gorgon_children *children);

#endif
