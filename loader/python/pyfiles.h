/* SPDX-License-Identifier: MIT */
/* Compiled files of modules, for all interpreters of the process. See pyfiles.c. */
#ifndef GORGON_PYTHON_PYFILES_H
#define GORGON_PYTHON_PYFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What decides which compiled files a CPython reads. */
struct gorgon_pyfile_rules {
	char tag[80];  /* "cpython-311", and ".opt-1" behind it for `-O` */
	char magic[4]; /* the first bytes of compiled files */
};

/* An entry; whoever has it releases it. Nothing in it changes. */
struct gorgon_pyfile {
	const void *code; /* what is behind the compiled file's header */
	size_t code_size; /* bytes */
};

/*
 * Returns the compiled file of a source, if importlib.machinery.SourceFileLoader would take that
 * file as it is now. Otherwise it returns NULL, and the caller calls SourceFileLoader: there is no
 * compiled file, it is older than the source, or it has a hash of the source in place of its time.
 */
const struct gorgon_pyfile *gorgon_pyfile_code(const struct gorgon_pyfile_rules *rules,
					       const char *source);
void gorgon_pyfile_release(const struct gorgon_pyfile *pyfile);

/* Bytes that may be kept, and nanoseconds since the last use. 0 bytes: nothing is kept, and
 * gorgon_pyfile_is_on() is false. */
void gorgon_pyfile_keep(uint64_t bytes);
void gorgon_pyfile_keep_for(uint64_t ns);
bool gorgon_pyfile_is_on(void);
void gorgon_pyfile_trim(void);
/* Bytes that are kept, and of how many entries. */
uint64_t gorgon_pyfile_kept(uint64_t *count);

/* fork() calls these once for each interpreter, with the loader's lock held. In between the store's
 * lock is held. */
void gorgon_pyfile_before_fork(void);
void gorgon_pyfile_after_fork(void);

#endif
