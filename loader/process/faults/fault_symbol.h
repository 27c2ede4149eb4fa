/* SPDX-License-Identifier: MIT */
/* What an address of code is called, found in the handler of a signal. See fault_symbol.c. */
#ifndef GORGON_PROCESS_FAULT_SYMBOL_H
#define GORGON_PROCESS_FAULT_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

struct gorgon_ns;

struct gorgon_fault_symbol {
	const char *object;   /* name of the file, or NULL: the address is in no object */
	uint64_t object_off;  /* the address as in the file: run-time address less the bias */
	const char *function; /* the exported function that the address is in, or NULL */
	uint64_t function_off;
	const struct gorgon_ns *ns; /* whose private code it is, or NULL */
};

/* Takes no lock, allocates nothing and opens no file. The strings belong to the objects. Tables of
 * objects are read as they are: a caller whose stack is damaged catches faults. */
void gorgon_fault_symbol_find(uint64_t addr, struct gorgon_fault_symbol *ret);

/* Whether the place is in a library with a name that begins so, such as "libc.so". */
bool gorgon_fault_symbol_is_in(const struct gorgon_fault_symbol *place, const char *name);

#endif
