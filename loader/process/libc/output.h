/* SPDX-License-Identifier: MIT */
/* Where output and errors of private code go: to the process, or to the host's function. */
#ifndef GORGON_PROCESS_OUTPUT_H
#define GORGON_PROCESS_OUTPUT_H

#include "ns/ns.h"

#include <unistd.h>

/* write() of a namespace whose output the host wants. */
static inline ssize_t gorgon_output_write(int fd, const void *data, size_t size,
					  struct gorgon_ns *ns)
{
	if (fd == STDOUT_FILENO || fd == STDERR_FILENO)
		return ns->opts.write_output(ns->opts.write_ctx, fd, data, size);
	return write(fd, data, size);
}

#endif
