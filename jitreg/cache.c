// SPDX-License-Identifier: MIT
/*
 * Files that debuggers read, made once and kept: in gorgon/ below $XDG_CACHE_HOME or ~/.cache,
 * where cores of this process still find them. The folder must be the user's, and nobody else may
 * be able to write to it or to replace it, since debuggers trust it. A file is found by its key,
 * which it has in a section; its name is the checksum of the key. When there are more than 256
 * files or more than 512 MiB, the oldest files are removed, except files in use: whoever uses a
 * file holds a shared lock (flock) on it.
 *
 * Such a lock belongs to the open file and not to a descriptor, and a mapping keeps the file open.
 * So a page of the file is mapped, without access, and no descriptor is kept: another thread could
 * close it (a daemon does so when it starts), and a thread may have a table of descriptors of its
 * own. While a descriptor is open, its file is compared before and after each use with the file
 * that was opened.
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
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX   256
#define BYTES_MAX   (UINT64_C(1) << 29)
/* How many files there may be with the same checksum of their keys. */
#define SAME_NAME_MAX 8
/* The name may be that of a FIFO. */
#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

/* The file that is wanted, and the file that was found or made. */
struct cache_lookup {
	const char *key;
	size_t key_size;
	const char *name, *suffix;
	jitreg_cache_build_fn *build;
	void *ctx;
	bool read;
	uint8_t *bytes;
	size_t size;
	struct jitreg_open_file open;
	void *hold;
};

bool jitreg_cache_note_file(struct jitreg_open_file *file, int fd)
{
	*file = (struct jitreg_open_file){.fd = fd};
	if (fd < 0)
		return false;
	file->flags = fcntl(fd, F_GETFL);
	if (!fstat(fd, &file->st))
		return true;
	if (errno != EBADF) // otherwise another thread has closed it
		close(fd);
	file->fd = -1;
	return false;
}

static bool is_ours(const struct jitreg_open_file *file)
{
	return jitreg_fd_is(file->fd, file->flags, &file->st);
}

void jitreg_cache_close_file(struct jitreg_open_file *file)
{
	jitreg_fd_close(file->fd, file->flags, &file->st);
	file->fd = -1;
}

/* Keep the open file, and its lock, without a descriptor. NULL: another thread has closed the
 * descriptor. */
static void *hold_file(const struct jitreg_open_file *file)
{
	void *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, file->fd, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (is_ours(file))
		return page;
	munmap(page, 1);
	return NULL;
}

static void release_file(void *page)
{
	if (page)
		munmap(page, 1);
}

/*
 * Whoever may rename files of the parent may put another folder in the place of the cache at any
 * moment. The user's own group may do so: where groups can write to homes, each user has a group of
 * his own.
 */
static bool is_safe_parent(const char *path)
{
	struct stat st;

	if (stat(path, &st) || (st.st_uid && st.st_uid != geteuid()))
		return false;
	return st.st_mode & S_ISVTX || !(st.st_mode & (st.st_gid == getegid() ? 002 : 022));
}

int jitreg_cache_open_folder(char **path, struct jitreg_open_file *ret)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	char *parent;

	if (cache && *cache == '/')
		parent = strdup(cache);
	else if (!home || *home != '/')
		return -ENOTDIR;
	else if (asprintf(&parent, "%s/.cache", home) < 0)
		parent = NULL;
	if (!parent)
		return -ENOMEM;
	mkdir(parent, 0700); // it may be there; else what follows fails
	if (!is_safe_parent(parent)) {
		free(parent);
		return -ENOTDIR;
	}
	if (asprintf(path, "%s/gorgon", parent) < 0)
		*path = NULL;
	free(parent);
	if (!*path)
		return -ENOMEM;
	mkdir(*path, 0700);
	if (jitreg_cache_note_file(ret, open(*path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
							    O_CLOEXEC)) &&
	    S_ISDIR(ret->st.st_mode) && ret->st.st_uid == geteuid() && !(ret->st.st_mode & 022))
		return 0;
	jitreg_cache_close_file(ret);
	free(*path);
	return -ENOTDIR;
}

/*
 * Its age counts from its last use. That is the time of its last access: when its time of
 * modification is another than before, gdb reads the file again at each `attach` or `run`, and gdb
 * 13 then loses what it knows of the copies.
 */
static void note_use(const struct jitreg_open_file *file)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};

	futimens(file->fd, times);
}

/*
 * Hold the file at @path, if it still is the file with this identity and size. NULL: it is another
 * file, or gone.
 */
static void *hold_path(const char *path, dev_t dev, ino_t ino, off_t size)
{
	struct jitreg_open_file file;
	void *hold = NULL;

	if (jitreg_cache_note_file(&file, open(path, OPEN_FLAGS)) &&
	    !flock(file.fd, LOCK_SH | LOCK_NB) && !fstat(file.fd, &file.st) &&
	    file.st.st_nlink && file.st.st_dev == dev && file.st.st_ino == ino &&
	    file.st.st_size == size) {
		note_use(&file);
		hold = hold_file(&file);
	}
	jitreg_cache_close_file(&file);
	return hold;
}

/* What there is under a name. */
enum found {
	FOUND_WANTED, // the file that is searched for, locked, so that no other process removes it
	FOUND_NOTHING,
	FOUND_OTHER,  // a file with another key, no file, or nothing can be said of it now
	FOUND_DAMAGED // a file that is not as this library has written it, or cannot be read
};

static bool read_bytes(struct cache_lookup *c)
{
	size_t done = 0;

	c->size = (size_t)c->open.st.st_size;
	c->bytes = malloc(c->size + 1);
	while (c->bytes && done < c->size) {
		ssize_t n = pread(c->open.fd, c->bytes + done, c->size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return c->bytes;
}

static bool has_key(const struct cache_lookup *c, const char *path)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	GElf_Shdr shdr;

	return !jitreg_object_open(path, c->open.fd, &object) &&
	       jitreg_object_find_section(object, JITREG_CACHE_KEY, &shdr) &&
	       shdr.sh_size == c->key_size &&
	       jitreg_range_ok(shdr.sh_offset, shdr.sh_size, c->size) &&
	       !memcmp(c->bytes + shdr.sh_offset, c->key, c->key_size);
}

/* Open, lock and read what has this name. All of it is read: a debugger would believe a damaged
 * file. */
static enum found read_file(struct cache_lookup *c, const char *path)
{
	enum found found;

	if (!jitreg_cache_note_file(&c->open, open(path, OPEN_FLAGS)))
		return errno == ENOENT   ? FOUND_NOTHING
		       : errno == EACCES ? FOUND_DAMAGED
					 : FOUND_OTHER;
	if (!S_ISREG(c->open.st.st_mode) || flock(c->open.fd, LOCK_SH | LOCK_NB) ||
	    !(c->hold = hold_file(&c->open)) || fstat(c->open.fd, &c->open.st))
		return FOUND_OTHER;
	if (!c->open.st.st_nlink) // somebody removed it before we had the lock
		return FOUND_NOTHING;
	if (!read_bytes(c))
		found = c->bytes ? FOUND_DAMAGED : FOUND_OTHER;
	else if (jitreg_crc32(c->bytes, c->size) != JITREG_CACHE_CRC)
		found = FOUND_DAMAGED;
	else
		found = has_key(c, path) ? FOUND_WANTED : FOUND_OTHER;
	return is_ours(&c->open) ? found : FOUND_OTHER;
}

static void forget_file(struct cache_lookup *c)
{
	free(c->bytes);
	c->bytes = NULL;
	release_file(c->hold);
	c->hold = NULL;
	jitreg_cache_close_file(&c->open);
}

/* A process that writes more than RLIMIT_FSIZE allows gets a signal that ends it. */
static int check_limit(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && size > limit.rlim_cur ? -EFBIG : 0;
}

int jitreg_cache_write(const struct jitreg_open_file *file, const uint8_t *bytes, size_t size)
{
	int r = check_limit(size);

	while (!r && size) {
		ssize_t n;

		// another thread has closed it, and opened another file under its number
		if (!is_ours(file))
			return -EBADF;
		n = write(file->fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		size -= (size_t)n;
	}
	return r;
}

/*
 * Under a temporary name first, so that nobody ever reads half a file. -EEXIST: another process has
 * written the same file in the meantime; its file may be in use and stays. A damaged file is
 * replaced.
 */
static int write_file(struct cache_lookup *c, const char *folder_path, const char *path,
		      bool replace)
{
	char *temporary;
	int r = 0, fd;

	if (asprintf(&temporary, "%s/new-XXXXXX%s", folder_path, c->suffix) < 0)
		return -ENOMEM;
	fd = mkostemps(temporary, (int)strlen(c->suffix), O_CLOEXEC);
	if (!jitreg_cache_note_file(&c->open, fd) || flock(c->open.fd, LOCK_SH))
		r = -errno;
	if (!r)
		r = jitreg_cache_write(&c->open, c->bytes, c->size);
	if (!r && (replace ? rename(temporary, path) : link(temporary, path)))
		r = -errno;
	// Opened again by its final name: a mapping, and so each core, has the name by which its
	// file was opened.
	if (!r &&
	    !(c->hold = hold_path(path, c->open.st.st_dev, c->open.st.st_ino, (off_t)c->size)))
		r = -EBADF;
	if (fd >= 0)
		unlink(temporary);
	free(temporary);
	return r;
}

struct old_file {
	struct timespec when; // first, for jitreg_cache_by_age()
	uint64_t size;
	char name[NAME_MAX + 1];
};

/* Whether the file belongs to the cache: other files in the folder must not be removed. */
static bool is_kept_here(const char *name)
{
	static const char *const suffixes[] = {JITREG_CACHE_DEBUG, JITREG_CACHE_LINES};
	size_t size = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (size > strlen(suffixes[i]) &&
		    !strcmp(name + size - strlen(suffixes[i]), suffixes[i]))
			return true;
	return false;
}

/* Remove a file that no process has locked. */
static bool remove_unused(int folder, const char *name)
{
	struct jitreg_open_file file;
	struct stat st;
	bool unused = jitreg_cache_note_file(&file, openat(folder, name, OPEN_FLAGS)) &&
		      !flock(file.fd, LOCK_EX | LOCK_NB) && is_ours(&file) &&
		      !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
		      st.st_dev == file.st.st_dev && st.st_ino == file.st.st_ino &&
		      !unlinkat(folder, name, 0);

	jitreg_cache_close_file(&file);
	return unused;
}

int jitreg_cache_by_age(const void *a, const void *b)
{
	const struct timespec *x = a, *y = b;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Make room for one more file. If the folder cannot be read, the next file that is made tries
 * again. */
static void remove_oldest(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct old_file *files = calloc(2 * FILES_MAX, sizeof(*files));
	struct dirent *entry;
	uint64_t bytes = 0;
	size_t count = 0;
	struct stat st;

	if (!dir || !files) {
		if (dir)
			closedir(dir);
		else if (copy >= 0)
			close(copy);
		free(files);
		return;
	}
	while (count < 2 * FILES_MAX && (entry = readdir(dir))) {
		if (!is_kept_here(entry->d_name) ||
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		files[count].when = st.st_atim;
		files[count].size = (uint64_t)st.st_size;
		bytes += files[count].size;
		strcpy(files[count++].name, entry->d_name);
	}
	closedir(dir);
	qsort(files, count, sizeof(*files), jitreg_cache_by_age);
	for (size_t i = 0, left = count; i < count && (left >= FILES_MAX || bytes > BYTES_MAX);
	     i++) {
		if (!remove_unused(folder, files[i].name))
			continue;
		left--;
		bytes -= files[i].size;
	}
	free(files);
}

/* See JITREG_CACHE_CRC. */
static int add_checksum(struct cache_lookup *c)
{
	uint32_t crc = jitreg_crc32(c->bytes, c->size);
	uint8_t *grown = realloc(c->bytes, c->size + sizeof(crc));

	if (!grown)
		return -ENOMEM;
	memcpy(grown + c->size, &crc, sizeof(crc));
	c->bytes = grown;
	c->size += sizeof(crc);
	return 0;
}

/* Make the file: no file has that name, though another process may be about to write it, or a
 * damaged one has it. */
static int make_file(struct cache_lookup *c, int folder, const char *folder_path, const char *path,
		     bool replace)
{
	int r = c->build(c->ctx, &c->bytes, &c->size);

	if (!r)
		r = add_checksum(c);
	if (r)
		return r;
	remove_oldest(folder);
	r = write_file(c, folder_path, path, replace);
	if (r != -EEXIST)
		return r;
	forget_file(c);
	return read_file(c, path) == FOUND_WANTED ? 0 : r;
}

/* malloc()ed name of the file number @number with this key; NULL: no memory. */
static char *format_path(const struct cache_lookup *c, const char *folder_path, uint32_t checksum,
			 unsigned number)
{
	char *path;
	int r;

	if (c->name)
		r = asprintf(&path, "%s/%s%s", folder_path, c->name, c->suffix);
	else
		r = asprintf(&path, "%s/%08" PRIx32 "-%u%s", folder_path, checksum, number,
			     c->suffix);
	return r < 0 ? NULL : path;
}

static int find_in(struct cache_lookup *c, int folder, const char *folder_path, char **path)
{
	unsigned count = c->name ? 1 : SAME_NAME_MAX;
	uint32_t checksum = jitreg_crc32(c->key, c->key_size);
	int r = -EEXIST;

	for (unsigned i = 0; i < count; i++) {
		enum found found;

		*path = format_path(c, folder_path, checksum, i);
		if (!*path)
			return -ENOMEM;
		found = read_file(c, *path);
		if (found == FOUND_WANTED) {
			note_use(&c->open);
			return 0;
		}
		forget_file(c);
		if (found != FOUND_OTHER) {
			r = make_file(c, folder, folder_path, *path, found == FOUND_DAMAGED);
			break;
		}
		free(*path);
		*path = NULL;
	}
	if (r) {
		free(*path);
		*path = NULL;
	}
	return r;
}

int jitreg_cache_find(const char *key, size_t key_size, const char *name, const char *suffix,
		      jitreg_cache_build_fn *build, void *ctx, bool read, struct jitreg_cached *ret)
{
	struct cache_lookup c = {.key = key,
				 .key_size = key_size,
				 .name = name,
				 .suffix = suffix,
				 .build = build,
				 .ctx = ctx,
				 .read = read,
				 .open.fd = -1};
	char *folder_path = NULL, *path = NULL;
	struct jitreg_open_file folder;
	int r;

	*ret = (struct jitreg_cached){0};
	r = jitreg_cache_open_folder(&folder_path, &folder);
	if (r)
		return r;
	r = find_in(&c, folder.fd, folder_path, &path);
	if (!r) {
		*ret = (struct jitreg_cached){
			{path, c.open.st.st_dev, c.open.st.st_ino, (off_t)c.size, c.hold},
			c.bytes,
			c.size};
		c.bytes = NULL;
		c.hold = NULL;
	}
	forget_file(&c);
	free(folder_path);
	jitreg_cache_close_file(&folder);
	return r;
}

void jitreg_cached_deinit(struct jitreg_cached *cached)
{
	free(cached->bytes);
	cached->bytes = NULL;
	jitreg_companion_deinit(&cached->file);
}

void jitreg_cached_take(struct jitreg_cached *cached, struct jitreg_companion *ret)
{
	*ret = cached->file;
	cached->file = (struct jitreg_companion){0};
	jitreg_cached_deinit(cached);
}

void jitreg_companion_let_go(struct jitreg_companion *companion)
{
	release_file(companion->hold);
	companion->hold = NULL;
}

/* A companion never changes, so it is enough that the file is still there. */
bool jitreg_companion_hold(struct jitreg_companion *companion)
{
	if (!companion->path)
		return true;
	companion->hold =
		hold_path(companion->path, companion->dev, companion->ino, companion->size);
	return companion->hold;
}

void jitreg_companion_deinit(struct jitreg_companion *companion)
{
	jitreg_companion_let_go(companion);
	free(companion->path);
	companion->path = NULL;
}
