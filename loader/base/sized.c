// SPDX-License-Identifier: MIT
// Public structures that begin with their own size.
//
// Structures of options and figures grow: a later version of the library adds members at the
// end. The caller sets the first member to the size that the caller was compiled with, so that
// a host and a library of different versions understand each other:
// - a shorter structure of a host that is older than the library: the members that it does not
//   have are zero, which means the default for each option;
// - a longer structure of a host that is newer: what this library does not know must be zero,
//   because an option cannot be ignored without a word. Figures that it does not know are zero.
//
// A structure never contains another one that can grow: it has a pointer to it.

#include "sized.h"
#include "error.h"

#include <stdalign.h>
#include <string.h>

static struct gorgon_error *sized_check(const char *name, size_t size, size_t known)
{
	// A size is a multiple of the alignment. Anything else is not a size, but garbage.
	if (size >= sizeof(size) && size % alignof(size_t) == 0)
		return NULL;
	return gorgon_error_create(GORGON_ERROR_ARGUMENT, "%s: size is %zu, expected %zu", name,
				   size, known);
}

struct gorgon_error *gorgon_sized_read(const char *name, const void *from, void *to, size_t known)
{
	size_t size = from ? *(const size_t *)from : known;
	const unsigned char *bytes = from;
	struct gorgon_error *err = sized_check(name, size, known);

	if (err)
		return err;
	for (size_t i = known; i < size; i++)
		if (bytes[i])
			return gorgon_error_create(
				GORGON_ERROR_ARGUMENT,
				"%s: byte %zu of %zu is set, expected 0: this library "
				"is older than the caller and knows %zu bytes",
				name, i, size, known);
	memset(to, 0, known);
	if (from)
		memcpy(to, from, size < known ? size : known);
	*(size_t *)to = known;
	return NULL;
}

struct gorgon_error *gorgon_sized_write(const char *name, const void *from, void *to, size_t known)
{
	size_t size = *(const size_t *)to;
	struct gorgon_error *err = sized_check(name, size, known);

	if (err)
		return err;
	memset(to, 0, size);
	memcpy(to, from, size < known ? size : known);
	*(size_t *)to = size;
	return NULL;
}
