// SPDX-License-Identifier: MIT
/*
 * This file keeps sources that are in no file where debuggers find them: in gorgon/sources/ of the
 * cache. Each text has a folder there, named after its contents, so that a file in the folder can
 * have the name that the program knows. When there are more than 1,024 folders, the oldest ones
 * are removed.
 */
#define _GNU_SOURCE 1
#include "cache.h"

#include "file/checksum.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER      "sources"
#define FOLDERS_MAX 1024
#define FOLDERS_FEW 768 // so many are left
#define BYTES_MAX   (1u << 24)

struct source_folder {
	struct timespec when; // first, for jitreg_cache_by_age()
	char name[32];
};

/* Remove the files in a folder, and the folder. */
static void remove_folder(int sources, const char *name)
{
	int fd = openat(sources, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0); // it fails for . and ..
	if (dir)
		closedir(dir);
	unlinkat(sources, name, AT_REMOVEDIR);
}

/* Nothing is removed if the folder cannot be read: the next source tries again. */
static void remove_oldest(int sources)
{
	int copy = openat(sources, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct source_folder *found = calloc(2 * FOLDERS_MAX, sizeof(*found));
	const struct dirent *entry;
	size_t count = 0;
	struct stat st;

	if (!dir && copy >= 0)
		close(copy);
	while (dir && found && count < 2 * FOLDERS_MAX && (entry = readdir(dir))) {
		if (*entry->d_name == '.' || strlen(entry->d_name) >= sizeof(found->name) ||
		    fstatat(sources, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		found[count].when = st.st_mtim;
		strcpy(found[count++].name, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (count > FOLDERS_MAX) {
		qsort(found, count, sizeof(*found), jitreg_cache_by_age);
		for (size_t i = 0; i < count - FOLDERS_FEW; i++)
			remove_folder(sources, found[i].name);
	}
	free(found);
}

/* Whether the file at @path has these contents. */
static bool has_text(const char *path, const uint8_t *text, size_t size)
{
	struct jitreg_open_file file;
	uint8_t *bytes = malloc(size + 1);
	size_t done = 0;
	bool same;

	if (!bytes || !jitreg_cache_note_file(
			      &file, open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))) {
		free(bytes);
		return false;
	}
	while (done <= size) {
		ssize_t n = pread(file.fd, bytes + done, size + 1 - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	same = jitreg_fd_is(file.fd, file.flags, &file.st) && done == size &&
	       !memcmp(bytes, text, size);
	jitreg_cache_close_file(&file);
	free(bytes);
	return same;
}

/* The file gets its name when it is whole, so that nobody ever reads half of it. */
static int write_text(const char *folder, const char *path, const uint8_t *text, size_t size)
{
	struct jitreg_open_file file;
	char *temporary;
	int r, fd;

	if (asprintf(&temporary, "%s/new-XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	r = jitreg_cache_note_file(&file, fd) ? jitreg_cache_write(&file, text, size) : -errno;
	if (!r && rename(temporary, path))
		r = -errno;
	if (r && fd >= 0)
		unlink(temporary);
	jitreg_cache_close_file(&file);
	free(temporary);
	return r;
}

static int keep_in(const char *sources, int sources_fd, const char *name, const uint8_t *text,
		   size_t size, char **ret)
{
	char *folder = NULL, *path = NULL;
	int r = -ENOMEM;

	if (asprintf(&folder, "%s/%08" PRIx32 "%zx", sources, jitreg_crc32(text, size), size) < 0)
		folder = NULL;
	if (folder && asprintf(&path, "%s/%s", folder, name) < 0)
		path = NULL;
	if (path && !mkdir(folder, 0700))
		remove_oldest(sources_fd);
	if (path)
		r = has_text(path, text, size) ? 0 : write_text(folder, path, text, size);
	free(folder);
	if (r)
		free(path);
	else
		*ret = path;
	return r;
}

int jitreg_keep_source(const char *name, const void *text, uint64_t size, char **ret)
{
	struct jitreg_open_file cache, sources;
	char *cache_path, *path;
	int r;

	if (!*name || strlen(name) > NAME_MAX || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return -EINVAL;
	if (size > BYTES_MAX)
		return -EFBIG;
	r = jitreg_cache_open_folder(&cache_path, &cache);
	if (r)
		return r;
	r = asprintf(&path, "%s/" FOLDER, cache_path) < 0 ? -ENOMEM : 0;
	if (!r) {
		mkdir(path, 0700); // it may be there
		r = jitreg_cache_note_file(
			    &sources, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
			    ? keep_in(path, sources.fd, name, text, size, ret)
			    : -ENOTDIR;
		jitreg_cache_close_file(&sources);
		free(path);
	}
	free(cache_path);
	jitreg_cache_close_file(&cache);
	return r;
}
