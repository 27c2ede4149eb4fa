/* SPDX-License-Identifier: MIT */
/* Who is charged for memory that several interpreters hold. See charges.c. */
#ifndef GORGON_PYTHON_CHARGES_H
#define GORGON_PYTHON_CHARGES_H

#include <stdbool.h>
#include <stdint.h>

struct gorgon_array;
struct gorgon_block;
struct gorgon_interp;

/* The number by which charges know an interpreter; no other interpreter of the process ever has it.
 * 0 stands for the host, which is charged for nothing. */
uint64_t gorgon_charges_holder(const struct gorgon_interp *interp);

/* An array over @block is being made; @interp has the block, and may have made it. False: no
 * memory. */
bool gorgon_charges_open(struct gorgon_block *block, struct gorgon_interp *interp);
/* The interpreter holds the memory of an array, and that of its mask, once more. False: there is no
 * memory to record that, or the share would be more than the interpreter's limit allows. The host,
 * and NULL, are not charged. */
bool gorgon_charges_enter(struct gorgon_array *array, struct gorgon_interp *interp);
/* A holder holds this memory once less. It still holds the array itself. */
void gorgon_charges_leave(struct gorgon_array *array, uint64_t holder);
/* The interpreter that has made a block gives it up; it still holds it. */
void gorgon_charges_close(struct gorgon_block *block, struct gorgon_interp *interp);
/* No code of the interpreter runs any more: it is charged for nothing, and others for more. As
 * struct gorgon_ns_user has it. */
void gorgon_charges_end(void *interp);

#endif
