// SPDX-License-Identifier: MIT
// Reading /etc/ld.so.cache, glibc's format 1.1 (magic "glibc-ld.so.cache1.1"):
//
//	char magic[20]; uint32 entries; uint32 string_size; uint8 flags; pad; ...   48 bytes
//	{ int32 flags; uint32 name; uint32 path; uint32 osversion; uint64 hwcap; }  24 each
//	strings
//
// Name and path are offsets from the start of the header, which may itself follow an
// older table in the same file. The file is trusted for nothing: offsets are
// checked and strings must end inside it. Entries for a special CPU level
// (hwcap != 0) are left to the system's linker; the plain ones are always there.

#define _GNU_SOURCE
#include "ldcache.h"
#include "base/arch.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_PATH  "/etc/ld.so.cache"
#define MAGIC       "glibc-ld.so.cache1.1"
#define HEADER_SIZE 48

// The file as gorgon_ldcache_find() has read it last, mapped; under the loader's lock. ldconfig
// puts a new file in its place.
static struct {
	char *file; // or NULL
	struct stat st;
	bool settled; // when it was read
} kept;

struct entry {
	int32_t flags;
	uint32_t name, path, osversion;
	uint64_t hwcap;
};

void gorgon_ldcache_read(const char *file, size_t size, gorgon_ldcache_fn *fn, void *ctx)
{
	// The new header is at the start, or after an old table. Strings end before the last zero.
	const char *base = memmem(file, size, MAGIC, sizeof(MAGIC) - 1),
		   *last = memrchr(file, 0, size);
	size_t end = base && last > base ? (size_t)(last - base) : 0;
	uint32_t count;

	if (end < HEADER_SIZE)
		return;
	memcpy(&count, base + 20, sizeof(count));
	if (count > (end - HEADER_SIZE) / sizeof(struct entry))
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct entry entry;

		memcpy(&entry, base + HEADER_SIZE + (size_t)i * sizeof(entry), sizeof(entry));
		if (entry.flags == GORGON_ARCH_CACHE_FLAGS && !entry.hwcap && entry.name <= end &&
		    entry.path <= end && !fn(ctx, base + entry.name, base + entry.path))
			return;
	}
}

// @ret: NULL where the system has none.
static int map_cache(char **ret, struct stat *st)
{
	int fd = open(CACHE_PATH, O_RDONLY | O_CLOEXEC), err = 0;
	char *file = NULL;

	*ret = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	if (fstat(fd, st))
		err = errno;
	else if (st->st_size > 0 &&
		 (file = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
			 MAP_FAILED)
		err = errno;
	close(fd);
	if (!err)
		*ret = file;
	return err;
}

int gorgon_ldcache_for_each(gorgon_ldcache_fn *fn, void *ctx)
{
	struct stat st;
	char *file;
	int err = map_cache(&file, &st);

	if (!file)
		return err;
	gorgon_ldcache_read(file, (size_t)st.st_size, fn, ctx);
	munmap(file, (size_t)st.st_size);
	return 0;
}

struct find {
	const char *name;
	char *path;
	int err;
};

static bool ldcache_match(void *ctx, const char *name, const char *path)
{
	struct find *find = ctx;

	if (strcmp(name, find->name))
		return true;
	find->path = strdup(path);
	find->err = find->path ? 0 : ENOMEM;
	return false;
}

// The file as it is: most loads look for names, and hardly ever has somebody changed it.
static int renew_kept(void)
{
	struct stat st;
	int err;

	if (kept.settled && !stat(CACHE_PATH, &st) && gorgon_file_is_untouched(&kept.st, &st))
		return 0;
	if (kept.file)
		munmap(kept.file, (size_t)kept.st.st_size);
	err = map_cache(&kept.file, &kept.st);
	kept.settled = kept.file && gorgon_file_is_settled(&kept.st);
	return err;
}

int gorgon_ldcache_find(const char *name, char **ret)
{
	struct find find = {.name = name};
	int err = renew_kept();

	if (kept.file)
		gorgon_ldcache_read(kept.file, (size_t)kept.st.st_size, ldcache_match, &find);
	*ret = find.path;
	return err ?: find.err;
}
