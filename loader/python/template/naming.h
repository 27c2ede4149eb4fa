/* SPDX-License-Identifier: MIT */
/* Whose memory it is for which a template is refused. See template/naming.c. */
#ifndef GORGON_PYTHON_TEMPLATE_NAMING_H
#define GORGON_PYTHON_TEMPLATE_NAMING_H

#include "map.h"

struct gorgon_template;

/* The mapping of the process that an address is in; false: none. */
bool gorgon_naming_mapping(uint64_t addr, char *ret, size_t size);
/* The library that an address is in, libpython if it is in none. */
const char *gorgon_naming_library(const struct gorgon_interp *interp, uint64_t addr);
/* What the word at an offset of the zone is a part of. */
void gorgon_naming_word(const struct gorgon_interp *interp, const struct gorgon_template *template,
			uint64_t offset, char *ret, size_t size);
/* Where many of the map's words are that nothing explains; there is one at least. */
void gorgon_naming_most(const struct gorgon_interp *interp, const struct gorgon_template *template,
			char *ret, size_t size);
/* The first block that one run has, and another one has not. */
void gorgon_naming_difference(const struct gorgon_runs *runs,
			      const struct gorgon_template *template, char *ret, size_t size);

#endif
