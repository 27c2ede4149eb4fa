/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_DESCRIPTORS_H
#define GORGON_DESCRIPTORS_H

#include "api.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- descriptors: handed on between programs and the host --------------- */

/**
 * Offer the open file behind a descriptor of the calling thread under a name. The host takes it
 * with gorgon_descriptor_receive(), a program with `gorgon.receive_fd(name)`. So the host and
 * programs that have descriptors of their own (enum gorgon_files) hand files to each other. The
 * caller's descriptor stays open, and may be closed at once. As with SCM_RIGHTS in unix(7), both
 * descriptors then refer to one open file, with one offset and one set of status flags.
 *
 * The first call starts a thread that keeps such files, for the rest of the process's life. A
 * child of fork() has none of the files that its parent keeps.
 *
 * @param name  1 to 255 bytes.
 * @param fd    An open descriptor.
 * @return GORGON_ERROR_BUSY: a file that nobody has received yet has the name. GORGON_ERROR_OS: @p
 *         fd is not open, there are no three descriptors left for a moment's sockets, or the kernel
 *         does not carry the file (ETOOMANYREFS: the user has too many under way); then nothing was
 *         sent. GORGON_ERROR_ARGUMENT: the name is empty or too long. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_descriptor_send(const char *name, int fd);

/**
 * Take the file that was sent under a name, after which the name is free again.
 *
 * @param[out] fd  A new descriptor of the calling thread, close-on-exec; the caller closes it.
 * @return GORGON_ERROR_MISSING: no file has that name. GORGON_ERROR_OS: no descriptor left, or the
 *         kernel does not carry the file; it can still be received. GORGON_ERROR_ARGUMENT: the name
 *         is empty or too long. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_descriptor_receive(const char *name,
									     int *fd);

#ifdef __cplusplus
}
#endif

#endif
