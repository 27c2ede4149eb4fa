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
// there before Python starts. A context variable keeps a hash of its address and its name, by which
// CPython puts it into trees; its type gets the same function.

#include "hash.h"
#include "layout.h"
#include "image/zones.h"
#include "python/api.h"

// Objects lie at multiples of 16, as CPython's own function takes them to.
static intptr_t hash_of_offset(const void *object)
{
	uint64_t offset = (uintptr_t)object & (GORGON_ZONE_SIZE - 1);

	return (intptr_t)(offset >> 4 | offset << 60);
}

bool gorgon_hash_begin(struct gorgon_interp *interp)
{
	// 3.13 has a public function for it, versions before it a private one.
	const void *before = gorgon_interp_find_api(interp, "PyObject_GenericHash")
				     ?: gorgon_interp_find_api(interp, "_Py_HashPointer");
	PyTypeObject *variable = gorgon_interp_find_api(interp, "PyContextVar_Type");
	__typeof__(&PyType_GetSlot) slot = API(interp, PyType_GetSlot);
	const void *of_variable = variable && slot ? slot(variable, Py_tp_hash) : before;
	struct gorgon_words words = {0};
	size_t found = 0;

	for (uint64_t *word; before && (word = gorgon_words_next(interp, &words));)
		if (*word == (uintptr_t)before || *word == (uintptr_t)of_variable) {
			found += *word == (uintptr_t)before;
			*word = (uintptr_t)hash_of_offset;
		}
	return found;
}
