/* SPDX-License-Identifier: MIT */
/* Messages of the library: one line each, fit for a terminal, valid UTF-8. */
#ifndef GORGON_BASE_TEXT_H
#define GORGON_BASE_TEXT_H

/* Take over @text (malloc()ed, or NULL) and return it as it may be shown: see ../printable.h. NULL:
 * no memory. */
char *gorgon_text_clean(char *text);

#endif
