/* SPDX-License-Identifier: MIT */
/* The names of an array's item types. See format.c. */
#ifndef GORGON_PYTHON_FORMAT_H
#define GORGON_PYTHON_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

/* Longest text that gorgon_format_parse() makes. */
#define GORGON_FORMAT_TEXT 32

struct gorgon_format {
	/* one item of a known size; the format of a structure does not say its size */
	bool plain;
	size_t item_size;
	/* the PEP 3118 format; empty: the text that was read is one */
	char buffer[GORGON_FORMAT_TEXT];
	bool differs; /* PEP 3118 has no code for it, and `buffer` is an integer of its size */
};

/* Read a typestr of the array interface, or a PEP 3118 format. False: it is neither. */
bool gorgon_format_parse(const char *text, struct gorgon_format *ret);

/* Whether items hold Python objects, which belong to one interpreter. */
bool gorgon_format_has_objects(const char *text);

#endif
