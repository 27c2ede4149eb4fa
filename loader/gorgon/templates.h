/* SPDX-License-Identifier: MIT */
/** @file
 * A part of ../gorgon.h, which has the rules that hold for all parts. */
#ifndef GORGON_TEMPLATES_H
#define GORGON_TEMPLATES_H

#include "api.h"
#include "errors.h"
#include "interpreters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- templates: interpreters that are copies of one that has imported ---- */

/** Options of gorgon_template_create(). */
struct gorgon_template_opts {
	size_t size; /**< sizeof(struct gorgon_template_opts) */
	/** Of the interpreters that run the program: @c python, @c end, the @c label of copies, and
	 * of @c ns what decides which libraries are private, and @c pool_threads, which is 1 if it
	 * is 0. NULL for defaults. Read during the call only. */
	const struct gorgon_interp_opts *interp;
	/** How their Python starts, which holds for all copies; NULL for defaults. Read during the
	 * call only. */
	const struct gorgon_start_opts *start;
	/** Statements that each copy has run, as gorgon_interp_run_string() runs them: imports.
	 * NULL for none. Copied. */
	const char *program;
};

/**
 * Make a template: what an interpreter is after it has started and run a program. An interpreter
 * that is created with it (@c from in struct gorgon_interp_opts) is a copy, which costs a
 * fraction of a start.
 *
 * The program is run four times, one after the other, in interpreters of their own on threads of
 * the library, which end before this returns. Their memory is compared word by word. What differs
 * must be an address or a number of the interpreter's own in all of them, or this fails; up to 16
 * words may differ otherwise (a time of day). Copies have such words as the first interpreter had
 * them.
 *
 * A copy is to the program what the child of a fork() of that interpreter would be:
 * os.register_at_fork() and pthread_atfork() functions run (those of `random` among them), thread
 * identities are the copy's, signal handlers, the locale and the environment are the template's.
 * numpy.random is seeded anew, too, and gorgon.interpreter is the copy's number. The seed of the
 * hashes of strings is the same in all copies.
 * A program that has drawn random numbers otherwise (random.Random(), ssl, names of temporary
 * files) is refused: what it has is different in each run.
 *
 * Unless the host shares libraries (@c share of @c ns), libstdc++ is private in it and in its
 * copies, so that what C++ has allocated is the interpreter's. CPython 3.11 and 3.13,
 * isolated by the loader.
 *
 * @param      opts  NULL for defaults.
 * @param[out] ret   To be released with gorgon_template_free().
 * @return every error of gorgon_interp_create(), gorgon_interp_start() and
 *         gorgon_interp_run_string(); GORGON_ERROR_UNSUPPORTED, with one line that says what and
 *         where: another CPython, or the program has left what cannot be copied (threads,
 *         descriptors, memory outside of the interpreter, words that nothing explains). Since 1.0.
 */
GORGON_API GORGON_MUST_CHECK struct gorgon_error *
gorgon_template_create(const struct gorgon_template_opts *opts, struct gorgon_template **ret);

/** Release a template. Interpreters that were created with it stay, and are started as before. NULL
 * is ignored. */
GORGON_API void gorgon_template_free(struct gorgon_template *template_);

#ifdef __cplusplus
}
#endif

#endif
