// SPDX-License-Identifier: MIT Whether this processor has the instructions that a file says it
// needs, and how its code is mapped.
//
// Compilers write what a file needs as a program property (a note of 8-byte words). Code that was
// built for a level which the processor does not have would end the process at its first such
// instruction.
// A note that is cut or of another format says nothing, as for the system's linker.
//
// Specification: Linux extensions to gABI, "Program Property"; x86-64 psABI, "Micro-Architecture
// Levels"; sysvabi64, "Program Property".

#include "property.h"
#include "image/arch.h"
#include "base/error.h"

#include <string.h>
#include <sys/mman.h>

struct span {
	const uint8_t *p, *end;
};

static bool property_take(struct span *span, size_t size, struct span *ret)
{
	if ((size_t)(span->end - span->p) < size)
		return false;
	*ret = (struct span){span->p, span->p + size};
	span->p += size;
	return true;
}

static bool take_words(struct span *span, uint32_t *words, size_t count)
{
	struct span bytes;

	if (!property_take(span, count * sizeof(*words), &bytes))
		return false;
	memcpy(words, bytes.p, count * sizeof(*words));
	return true;
}

// The next item of @size bytes; what fills up to 8 may be missing at the end.
static bool take_padded(struct span *span, uint32_t size, struct span *ret)
{
	size_t padding = -(size_t)size % 8;

	if (!property_take(span, size, ret))
		return false;
	if ((size_t)(span->end - span->p) < padding)
		padding = (size_t)(span->end - span->p);
	span->p += padding;
	return true;
}

struct properties {
	uint32_t isa, features;
};

static struct properties read_properties(struct span properties)
{
	struct properties ret = {0};
	uint32_t header[2]; // type, size
	struct span data;

	while (take_words(&properties, header, 2) && take_padded(&properties, header[1], &data)) {
		if (header[1] != sizeof(uint32_t))
			continue;
		if (header[0] == GORGON_ARCH_PROPERTY_ISA)
			memcpy(&ret.isa, data.p, sizeof(ret.isa));
		if (header[0] == GORGON_ARCH_PROPERTY_FEATURES)
			memcpy(&ret.features, data.p, sizeof(ret.features));
	}
	return ret;
}

static struct properties read_notes(struct span notes)
{
	uint32_t header[3]; // sizes of name and description, type
	struct span name, description;

	// The name of these notes is 4 bytes: with the header, what comes next is aligned.
	while (take_words(&notes, header, 3) && header[0] == sizeof("GNU") &&
	       property_take(&notes, header[0], &name) &&
	       take_padded(&notes, header[1], &description))
		if (header[2] == NT_GNU_PROPERTY_TYPE_0 && !memcmp(name.p, "GNU", sizeof("GNU")))
			return read_properties(description);
	return (struct properties){0};
}

struct gorgon_error *gorgon_property_check(struct gorgon_image *image)
{
	uint32_t needed = 0, has = gorgon_arch_isa();
	int prot = 0;

	for (size_t i = 0; i < image->phdr_count; i++) {
		const Elf64_Phdr *ph = &image->phdrs[i];
		const uint8_t *notes = gorgon_image_at(image, ph->p_vaddr, ph->p_filesz);

		if (notes && ph->p_align == 8 &&
		    (ph->p_type == PT_GNU_PROPERTY || ph->p_type == PT_NOTE)) {
			struct properties found =
				read_notes((struct span){notes, notes + ph->p_filesz});

			needed |= found.isa;
			prot |= gorgon_arch_code_prot(found.features);
		}
	}
	for (size_t i = 0; i < image->segment_count; i++)
		if (image->segments[i].prot & PROT_EXEC)
			image->segments[i].prot |= prot;
	if (!(needed & ~has))
		return NULL;
	return gorgon_error_create(GORGON_ERROR_MACHINE,
				   "%s: needs instructions of levels 0x%x, this processor has 0x%x",
				   image->path, needed, has);
}
