/* SPDX-License-Identifier: MIT */
/* Finding a symbol in one image. See symbol.c. */
#ifndef GORGON_IMAGE_SYMBOL_H
#define GORGON_IMAGE_SYMBOL_H

#include "image.h"

/* A name to look up, with what can be computed once for many images. */
struct gorgon_symbol_query {
	const char *name;
	const char *version; /* or NULL */
	const char *file;    /* library that the version need names, or NULL */
	bool by_name;	     /* of dlsym or dlvsym, not a reference in a file */
	uint32_t gnu_hash, sysv_hash, version_hash;
};

uint32_t gorgon_symbol_sysv_hash(const char *name);

/* The query that dlsym (@version NULL) or dlvsym makes. Strings are borrowed. */
struct gorgon_symbol_query gorgon_symbol_query(const char *name, const char *version);

/* The query that symbol @index of @image makes, with the version it asks for. */
struct gorgon_symbol_query gorgon_symbol_query_of(const struct gorgon_image *image, uint32_t index);

/* The definition that answers @query, or NULL. */
const Elf64_Sym *gorgon_symbol_find(const struct gorgon_image *image,
				    const struct gorgon_symbol_query *query);

/* The function or variable that contains @vaddr, or NULL. */
const Elf64_Sym *gorgon_symbol_at(const struct gorgon_image *image, uint64_t vaddr);

#endif
