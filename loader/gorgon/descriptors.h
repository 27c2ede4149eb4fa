/* SPDX-License-Identifier: MIT */
/* A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_DESCRIPTORS_H
#define GORGON_DESCRIPTORS_H

#include "api.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- descriptors: handed on between those who have their own ------------ */

/**
 * Put what a descriptor of the calling thread stands for under a name, for whoever asks for it
 * with gorgon_descriptor_receive() or, in a program, `gorgon.receive_fd(name)`: the host, or a
 * program with descriptors of its own (enum gorgon_files), in either direction. The caller's
 * descriptor stays open, and may be closed at once. As with unix(7), SCM_RIGHTS, both then refer
 * to one open file: its offset and its status flags are common.
 *
 * The first call starts a thread that keeps such files, for the rest of the process's life. A
 * child of fork() has none of what its parent keeps.
 *
 * @param name  1 to 255 bytes.
 * @return GORGON_ERROR_BUSY: the name has one that nobody has received. GORGON_ERROR_OS: no open
 *         descriptor, or none left for a moment's socket. GORGON_ERROR_ARGUMENT: the name.
 *         Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_descriptor_send(const char *name, int fd);

/**
 * Take what was sent under a name: a new descriptor of the calling thread, close-on-exec. The
 * name is free again.
 *
 * @return GORGON_ERROR_MISSING: nobody has sent it. GORGON_ERROR_OS: no descriptor left; what was
 *         sent can still be received. GORGON_ERROR_ARGUMENT: the name. Since 0.1.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *gorgon_descriptor_receive(const char *name,
									     int *fd);

#ifdef __cplusplus
}
#endif

#endif
