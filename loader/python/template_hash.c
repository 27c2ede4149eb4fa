// SPDX-License-Identifier: MIT
// Hashes of objects that do not depend on where a zone is.
//
// CPython makes the hash of an object that has none of its own out of its address. So two runs of a
// program would have such objects in another order in a set, would free them in another order, and
// would get other memory for what they allocate next, until nothing could be compared any more. In
// an interpreter of which copies are made, and in the copies, the hash is made of the offset in the
// zone. It is as good as the other, because zones begin at multiples of their size; objects that a
// copy has outside of its zone may have the hash of an object inside, as any two objects may.
//
// The function stands in types of libpython, from which all other types have it: it is exchanged
// there before Python starts.

#include "template_hash.h"
#include "image/image.h"
#include "image/zones.h"
#include "ns/object.h"

#include <sys/mman.h>

// Objects lie at multiples of 16, as CPython's own function takes them to.
static intptr_t hash_of_offset(const void *object)
{
	uint64_t offset = (uintptr_t)object & (GORGON_ZONE_SIZE - 1);

	return (intptr_t)(offset >> 4 | offset << 60);
}

bool gorgon_hash_begin(const struct gorgon_interp *interp)
{
	const struct gorgon_object *libpython = interp->libpython;
	// 3.13 has a public function for it, versions before it a private one.
	const void *before = gorgon_interp_find_api(interp, "PyObject_GenericHash")
				     ?: gorgon_interp_find_api(interp, "_Py_HashPointer");
	const uint64_t relro_end = libpython->bias + libpython->image->relro_vaddr +
				   libpython->image->relro_size;
	size_t found = 0;

	for (size_t i = 0; before && i < libpython->image->segment_count; i++) {
		const struct gorgon_segment *segment = &libpython->image->segments[i];
		uint64_t start = (libpython->bias + segment->vaddr + 7) & ~UINT64_C(7),
			 end = libpython->bias + segment->vaddr + segment->file_size;

		// What may not be written after relocation has no types of objects.
		if (start < relro_end && relro_end < end)
			start = (relro_end + 7) & ~UINT64_C(7);
		for (; (segment->prot & PROT_WRITE) && start + sizeof(void *) <= end;
		     start += sizeof(void *)) {
			const void **word = (const void **)(uintptr_t)start;

			if (*word != before)
				continue;
			*word = (const void *)hash_of_offset;
			found++;
		}
	}
	return found;
}
