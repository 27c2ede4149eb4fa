/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_PROCESS_H
#define GORGON_PROCESS_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- process: what the host and its interpreters have in common --------- */

/**
 * waitpid(2) for the host's own children: all children that no interpreter has made. A program in
 * an interpreter waits, with os.wait() and everything that is made of it, for its own children.
 *
 * The kernel knows only the process. A host that calls wait(), waitpid(-1) or waitid(P_ALL) takes
 * interpreters' children, too, and the programs do not learn how these ended (Python's
 * `Popen.wait()` returns 0 then). Such a host calls this function instead. waitpid() for a
 * certain child of the host's needs no change. A host that ignores SIGCHLD does the same
 * harm: the kernel then keeps no child's status for anybody.
 *
 * Children of interpreters that have ended are waited for by the library.
 *
 * A handler of SIGCHLD may call it: with WNOHANG it is async-signal-safe.
 *
 * @param      pid      As of waitpid(): a child, -1 for any, 0 or less than -1 for the children of
 *                      a process group. A child that an interpreter has made is not found: ECHILD.
 *                      Children that C libraries of an interpreter make by popen(), clone() or
 *                      syscall() count as the host's.
 * @param[out] status   How the child ended, as of waitpid(); or NULL.
 * @param      options  As of waitpid(). Without WNOHANG any handler of a signal ends the call
 *                      (EINTR) when it waits for more than one child.
 * @return the child, 0, or -1 with errno set, as waitpid() says. ENOSYS: @p pid does not name a
 *         child, and /proc has no lists of children. Since 0.1.
 */
GORGON_API pid_t gorgon_waitpid(pid_t pid, int *status, int options);

#ifdef __cplusplus
}
#endif

#endif
