/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_PROCESS_H
#define GORGON_PROCESS_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- process: what the host and its interpreters have together ---------- */

/**
 * waitpid(2) about the host's own children: all that no interpreter has made. Interpreters see
 * their own alone, by os.wait() and everything that rests on it.
 *
 * The kernel does not know of this. A host that calls wait(), waitpid(-1) or waitid(P_ALL) takes
 * interpreters' children, too, and their programs learn nothing of how they ended (Python's
 * `Popen.wait()` returns 0 then). Such a host calls this function instead. waitpid() for one
 * child that the host has made itself needs no change. A host that ignores SIGCHLD does the same
 * harm: the kernel keeps no child's status for anybody.
 *
 * Children of interpreters that have ended are waited for by the library.
 *
 * To be used in a handler of SIGCHLD: with WNOHANG it is async-signal-safe.
 *
 * @param      pid      As of waitpid(): a child, -1 for any, 0 or less for those of a process
 *                      group. A child that an interpreter has made is none: ECHILD. What C
 *                      libraries of an interpreter start by popen(), clone() or syscall() counts as
 *                      the host's.
 * @param[out] status   How it ended, or NULL.
 * @param      options  As of waitpid(). Without WNOHANG any handler of a signal ends the call
 *                      (EINTR) when it waits for more than one child.
 * @return the child, 0, or -1 with errno set, as waitpid() says. ENOSYS: @p pid is not one
 *         child's, and /proc has no lists of children. Since 0.1.
 */
GORGON_API pid_t gorgon_waitpid(pid_t pid, int *status, int options);

#ifdef __cplusplus
}
#endif

#endif
