/* SPDX-License-Identifier: MIT */
/*
 * Child processes of a namespace: which there are (children.c), waiting for them
 * (children_wait.c), system() (children_system.c), and the thread that looks after them
 * (children_watch.c).
 */
#ifndef GORGON_PROCESS_CHILDREN_H
#define GORGON_PROCESS_CHILDREN_H

#include "part.h"

#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

extern const struct gorgon_part gorgon_children_part;

/* A namespace's state, or the host's. */
struct gorgon_children {
	struct gorgon_ns *ns; /* NULL: the host's */
	pid_t pid;	      /* the process whose children these are; atomic */
	uint32_t ended;	      /* counts what waiting threads want to know of: a futex */
	unsigned waiting;     /* threads that sleep until one ends; under the lock */
};

/* Of a child: never again another's, unlike its process id. 0: none. */
struct gorgon_child {
	pid_t pid;
	uint64_t serial;
};

/* --- children.c ------------------------------------------------------------------------- */

/* Whether these are children of the calling process: not in one that was forked, or in a child of
 * vfork(), which runs in this memory. */
bool gorgon_children_are_ours(const struct gorgon_children *children);

/* The child is theirs from now on. False: no memory, it stays unknown. */
bool gorgon_children_note(struct gorgon_children *children, pid_t pid);
/* The same, unless it is somebody's already. */
void gorgon_children_note_unknown(struct gorgon_children *children, pid_t pid);
/* It has been waited for, by whomever. */
void gorgon_children_forget(struct gorgon_child child);
/* Whose it is; NULL: an orphan's or unknown, then its serial is 0. */
struct gorgon_children *gorgon_children_owner(pid_t pid, struct gorgon_child *ret);
/* Up to @count of theirs that come after serial @after, in order. */
size_t gorgon_children_list(const struct gorgon_children *children, uint64_t after,
			    struct gorgon_child *list, size_t count);
/* Wait until each child that private code was making has been noted, for some milliseconds. False:
 * some have not. */
bool gorgon_children_settle(void);

/* A thread begins or ceases to sleep until @ended changes. False: nobody would tell it. */
bool gorgon_children_sleep(struct gorgon_children *children);
void gorgon_children_wake_up(struct gorgon_children *children);

/* Up to @count children whose end somebody wants to know; returns how many there are. When there
 * are none the thread that asks is to end. */
size_t gorgon_children_wanted(struct gorgon_child *list, size_t count);
/* It has ended, or is not there any more. Returns whether it is to be waited for: nobody will. */
bool gorgon_children_tell_end(struct gorgon_child child);
/* Let threads that sleep look again. */
void gorgon_children_tell(struct gorgon_children *children);

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

/* A thread that looks at gorgon_children_wanted(). Returns 0 or an error number. */
int gorgon_children_watch_start(void);
/* It is to look again; it runs. */
void gorgon_children_watch_wake(pid_t thread);

/* --- children_x86_64.S ------------------------------------------------------------------ */

/* vfork(2), which returns twice. */
pid_t gorgon_children_vfork(struct gorgon_children *children);
/* posix_spawn(3) and posix_spawnp(3): six arguments, with the state in r10. */
void gorgon_children_spawn(void);
void gorgon_children_spawnp(void);

/* What these call; see children.c. */
unsigned gorgon_children_before_vfork(struct gorgon_children *children);
pid_t gorgon_children_after_vfork(struct gorgon_children *children, long result, unsigned parity);
int gorgon_children_run_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attributes, char *const *argv,
			      char *const *envp, struct gorgon_children *children);
int gorgon_children_run_spawnp(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
			       const posix_spawnattr_t *attributes, char *const *argv,
			       char *const *envp, struct gorgon_children *children);

#endif
