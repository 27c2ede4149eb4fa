// SPDX-License-Identifier: MIT
// Functions that know their namespace.
//
// Private code calls dlopen(name, flags); our dlopen must know for which copy. The
// return address would tell, but not for a tail call from a thread's start routine
// or a pointer that was passed on. So each namespace has a page of thunks, and the
// name is bound to one of them. A thunk puts the namespace into the first argument register
// that the function itself does not use, and jumps to the function.
//
// The page is anonymous, so that it is in core files without a file that debuggers
// would miss, and becomes executable when it is no longer writable. Where the system
// forbids that change (PR_SET_MDWE, SELinux) it is mapped from a memfd instead.

#define _GNU_SOURCE
#include "thunk.h"
#include "base/arch.h"
#include "error.h"
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct gorgon_thunks {
	uint8_t *code;
	size_t size;
};

// From a file in memory: executable without ever having been writable.
static struct gorgon_error *map_from_file(const uint8_t *code, size_t size, uint8_t **ret)
{
	struct gorgon_error *err = NULL;
	struct gorgon_file file;
	void *mapped;
	int errnum = gorgon_file_create("gorgon-thunks", code, size, &file);

	if (errnum)
		return gorgon_error_create_os(errnum, "memfd of thunks");
	mapped = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.fd, 0);
	if (mapped == MAP_FAILED) {
		err = gorgon_error_create_os(errno, "cannot map thunks");
	} else if (!gorgon_file_is_ours(&file)) {
		munmap(mapped, size);
		err = gorgon_error_create_os(EBADF, "memfd of thunks");
	} else {
		*ret = mapped;
	}
	gorgon_file_close(&file);
	return err;
}

static struct gorgon_error *map_code(const uint8_t *code, size_t size, uint8_t **ret)
{
	void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int errnum;

	if (mapped == MAP_FAILED)
		return gorgon_error_create_os(errno, "cannot map thunks");
	memcpy(mapped, code, size);
	__builtin___clear_cache(mapped, (char *)mapped + size);
	if (!mprotect(mapped, size, PROT_READ | PROT_EXEC)) {
		*ret = mapped;
		return NULL;
	}
	errnum = errno;
	munmap(mapped, size);
	if (errnum == EACCES || errnum == EPERM)
		return map_from_file(code, size, ret);
	return gorgon_error_create_os(errnum, "cannot protect thunks");
}

struct gorgon_error *gorgon_thunks_create(const struct gorgon_thunk *list, size_t count,
					  struct gorgon_thunks **ret)
{
	struct gorgon_thunks *thunks = calloc(1, sizeof(*thunks));
	struct gorgon_error *err;
	uint8_t *code;

	if (!thunks)
		return &gorgon_error_nomem;
	thunks->size = count * GORGON_ARCH_THUNK_SIZE;
	code = calloc(count, GORGON_ARCH_THUNK_SIZE);
	if (!code) {
		free(thunks);
		return &gorgon_error_nomem;
	}
	for (size_t i = 0; i < count; i++)
		gorgon_arch_thunk_write(code + i * GORGON_ARCH_THUNK_SIZE, list[i].args,
					list[i].context, list[i].target);
	err = map_code(code, thunks->size, &thunks->code);
	free(code);
	if (err)
		free(thunks);
	else
		*ret = thunks;
	return err;
}

void gorgon_thunks_destroy(struct gorgon_thunks *thunks)
{
	if (!thunks)
		return;
	munmap(thunks->code, thunks->size);
	free(thunks);
}

void *gorgon_thunks_get(const struct gorgon_thunks *thunks, size_t index)
{
	return thunks->code + index * GORGON_ARCH_THUNK_SIZE;
}
