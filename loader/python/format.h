/* SPDX-License-Identifier: MIT */
/* What the items of an array are called. See format.c. */
#ifndef GORGON_PYTHON_FORMAT_H
#define GORGON_PYTHON_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

/* Longest text that gorgon_format_parse() makes. */
#define GORGON_FORMAT_TEXT 32

struct gorgon_format {
	bool plain;	  /* one item of a known size; a structure's is not in its format */
	size_t item_size;
	char buffer[GORGON_FORMAT_TEXT]; /* in the words of PEP 3118; empty: as it was given */
	bool differs; /* PEP 3118 has no word for it, and `buffer` is an integer of its size */
};

/* Read a typestr of the array interface, or a PEP 3118 format. False: it is neither. */
bool gorgon_format_parse(const char *text, struct gorgon_format *ret);

/* Whether items hold Python objects, which belong to one interpreter. */
bool gorgon_format_has_objects(const char *text);

#endif
