/* SPDX-License-Identifier: MIT */
/* exec() and its relatives of private code. See exec.c. */
#ifndef GORGON_PROCESS_EXEC_H
#define GORGON_PROCESS_EXEC_H

struct gorgon_part;

extern const struct gorgon_part gorgon_exec_part;

#endif
