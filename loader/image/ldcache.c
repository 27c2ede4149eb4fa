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
#include "ns/search.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_PATH  "/etc/ld.so.cache"
#define MAGIC       "glibc-ld.so.cache1.1"
#define HEADER_SIZE 48

// FLAG_ELF_LIBC6 with the machine in the second byte (glibc: ldconfig.h).
#if defined(__x86_64__)
#define ENTRY_FLAGS 0x0303
#elif defined(__aarch64__)
#define ENTRY_FLAGS 0x0a03
#endif

struct entry {
	int32_t flags;
	uint32_t name, path, osversion;
	uint64_t hwcap;
};

static const char *string_at(const char *base, size_t size, uint32_t off)
{
	return off < size && memchr(base + off, 0, size - off) ? base + off : NULL;
}

static void walk(const char *base, size_t size,
		 bool (*fn)(void *ctx, const char *name, const char *path), void *ctx)
{
	uint32_t count;

	if (size < HEADER_SIZE || memcmp(base, MAGIC, sizeof(MAGIC) - 1))
		return;
	memcpy(&count, base + 20, 4);
	if (count > (size - HEADER_SIZE) / sizeof(struct entry))
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct entry entry;
		const char *name, *path;

		memcpy(&entry, base + HEADER_SIZE + (size_t)i * sizeof(entry), sizeof(entry));
		if (entry.flags != ENTRY_FLAGS || entry.hwcap)
			continue;
		name = string_at(base, size, entry.name);
		path = string_at(base, size, entry.path);
		if (name && path && !fn(ctx, name, path))
			return;
	}
}

void gorgon_ldcache_for_each(bool (*fn)(void *ctx, const char *name, const char *path), void *ctx)
{
	int fd = open(CACHE_PATH, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *file;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size >= HEADER_SIZE) {
		size_t size = (size_t)st.st_size;

		file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file != MAP_FAILED) {
			// The new header is at the start, or after an old table.
			char *base = memmem(file, size, MAGIC, sizeof(MAGIC) - 1);

			if (base)
				walk(base, size - (size_t)(base - file), fn, ctx);
			munmap(file, size);
		}
	}
	close(fd);
}

struct find {
	const char *name;
	char *path;
	bool found;
};

static bool match(void *ctx, const char *name, const char *path)
{
	struct find *find = ctx;

	if (strcmp(name, find->name))
		return true;
	find->found = true;
	find->path = strdup(path);
	return false;
}

bool gorgon_ldcache_find(const char *name, char **ret)
{
	struct find find = {.name = name};

	gorgon_ldcache_for_each(match, &find);
	*ret = find.path;
	return !find.found || find.path;
}
