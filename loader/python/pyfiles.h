/* SPDX-License-Identifier: MIT */
/* What the interpreters of the process know of modules' files. See pyfiles.c. */
#ifndef GORGON_PYTHON_PYFILES_H
#define GORGON_PYTHON_PYFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What decides which files a CPython looks for, and reads. Interpreters with equal rules know the
 * same. */
struct gorgon_pyfile_rules {
	/* the names below, one after the other, each with its NUL; for comparison */
	char *text;
	size_t size;	 /* bytes of @text */
	const char *tag; /* of compiled files: "cpython-311", and ".opt-1" behind it for `-O` */
	/* of extension modules, in the order in which they are looked for; ends with NULL */
	const char *const *suffixes;
	char magic[4];	 /* the first bytes of compiled files */
};

enum gorgon_pyfile_kind {
	GORGON_PYFILE_ABSENT,	 /* the folder has no module of that name */
	GORGON_PYFILE_SOURCE,	 /* NAME.py */
	GORGON_PYFILE_PACKAGE,	 /* NAME/__init__.py */
	GORGON_PYFILE_EXTENSION, /* NAME with a suffix of extension modules */
	GORGON_PYFILE_CODE,	 /* a compiled file's contents */
};

/* An entry; whoever has it releases it. Nothing in it changes. */
struct gorgon_pyfile {
	enum gorgon_pyfile_kind kind;
	const char *origin;   /* the module's file, absolute; NULL with ABSENT */
	/* where its compiled file is, or would be; NULL with ABSENT and EXTENSION */
	const char *compiled;
	const char *folder;   /* of the package; otherwise NULL */
	const void *code;     /* what is behind the compiled file's header; NULL but with CODE */
	size_t code_size;     /* bytes */
};

/*
 * What a folder has under the name of a module, as importlib.machinery.FileFinder would find it
 * now, or NULL: FileFinder is to look itself (namespace packages, compiled files without a source,
 * folders that change). @folder is absolute. Nothing that was learnt before @since counts.
 */
const struct gorgon_pyfile *gorgon_pyfile_find(const struct gorgon_pyfile_rules *rules,
					       const char *folder, const char *name,
					       uint64_t since);
/*
 * Returns the compiled file of a source, if importlib.machinery.SourceFileLoader would take that
 * file as it is now. Otherwise it returns NULL, and the caller calls SourceFileLoader: there is no
 * compiled file, it is older than the source, or it has a hash of the source in place of its time.
 */
const struct gorgon_pyfile *gorgon_pyfile_code(const struct gorgon_pyfile_rules *rules,
					       const char *source);
void gorgon_pyfile_release(const struct gorgon_pyfile *pyfile);

/* A value for @since: with it gorgon_pyfile_find() ignores all that the store has learnt so far. */
uint64_t gorgon_pyfile_now(void);

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
