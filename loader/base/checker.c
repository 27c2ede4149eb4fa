// SPDX-License-Identifier: MIT
// Is somebody looking for memory errors?
//
// A memory checker's malloc() gives blocks that have exactly the size that was asked for, so that
// it sees the first byte behind them used. All others round sizes up. valgrind also reads the names
// in a library only when it sees the library's data mapped from the file.
//
// If libgorgon itself is built with a sanitizer, gorgon_checker stays false: the sanitizer shall
// test the code that runs in processes without a memory checker.

#include "checker.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

bool gorgon_checker;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static __attribute__((constructor)) void look_at_malloc(void)
{
	static const size_t sizes[] = {1, 25, 1001};
	bool exact = true;

	for (size_t i = 0; exact && i < sizeof(sizes) / sizeof(*sizes); i++) {
		void *p = malloc(sizes[i]);

		exact = p && malloc_usable_size(p) == sizes[i];
		free(p);
	}
	gorgon_checker = exact;
}
#endif
