/* SPDX-License-Identifier: MIT */
/* A locale per namespace. See locales.c. */
#ifndef GORGON_PROCESS_LOCALES_H
#define GORGON_PROCESS_LOCALES_H

#include <locale.h>

struct gorgon_environment;
struct gorgon_locale;
struct gorgon_part;

/* The process's locale now, as setlocale() names it; NULL: no memory. The name "" of private code
 * means what @environment says, which must live as long. */
struct gorgon_locale *gorgon_locale_create(struct gorgon_environment *environment);
void gorgon_locale_destroy(struct gorgon_locale *locale);

/* The calling thread uses the namespace's locale until it leaves. Returns what leave()
 * puts back: the process's, or another namespace's. */
void *gorgon_locale_enter(struct gorgon_locale *locale);
void gorgon_locale_leave(void *outer);

extern const struct gorgon_part gorgon_locale_part; /* its lock, for fork() */

/* --- replacements (see replacements.c) -------------------------------------------- */

char *gorgon_setlocale(int category, const char *name, struct gorgon_locale *locale);
locale_t gorgon_newlocale(int mask, const char *name, locale_t base, struct gorgon_locale *locale);

#endif
