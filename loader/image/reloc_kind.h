/* SPDX-License-Identifier: MIT */
/* What relocations do, on whatever machine: each machine's image/arch.h says which kind a type is.
 */
#ifndef GORGON_IMAGE_RELOC_KIND_H
#define GORGON_IMAGE_RELOC_KIND_H

/* What the value of a relocation is made of; reloc.c computes it. */
enum gorgon_reloc_kind {
	GORGON_RELOC_NONE,
	GORGON_RELOC_RELATIVE,   /* B + A */
	GORGON_RELOC_SYMBOL,     /* S + A */
	GORGON_RELOC_PC,         /* S + A - P */
	GORGON_RELOC_SIZE,       /* Z + A */
	GORGON_RELOC_IRELATIVE,  /* (B + A)() */
	GORGON_RELOC_TLS_MODULE, /* module of S */
	GORGON_RELOC_TLS_OFFSET, /* S within its module + A */
	GORGON_RELOC_TLS_STATIC, /* S + A relative to the thread pointer */
	GORGON_RELOC_TLS_DESC,	 /* a function and its argument, for S + A */
};

#endif
