// SPDX-License-Identifier: MIT
/*
 * The companion of a pack: a debug file on disk with what GDB would otherwise read once
 * for each interpreter.
 *
 *     .text, .text.1 ...    the code of each object, for an address of 0
 *     .symtab               functions, of the library or of its detached debug file
 *     .debug_frame          unwind data of all objects
 *     .gorgon.key           which objects, at which distances
 *
 * GDB opens a debug file once, however many object files refer to it, and keeps its names
 * and unwind data once. Only functions: with variables GDB would take a variable of any
 * copy from the first one. (.debug_frame and not .eh_frame, which GDB ignores in a debug
 * file.)
 *
 * The file is made once and stays: in gorgon/ below $XDG_CACHE_HOME or ~/.cache, where
 * cores of this process still find it. Only in a folder that is ours and that nobody else
 * can write to, since debuggers trust it. The oldest go when there are more than 256 or they
 * have more than 512 MiB, except those in use: each process that has a pack holds a shared lock
 * (flock) on its companion.
 *
 * Such a lock belongs to the open file and not to its descriptor, and a mapping keeps the file open.
 * So a page of it is mapped, without access, and no descriptor kept: another thread could close it
 * (a daemon's start does), and a thread may have a table of descriptors of its own. While there
 * is one, it is asked before and after each use whether it still is what was opened.
 */
#define _GNU_SOURCE 1
#include "companion.h"

#include "debuginfo.h"

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

#define KEY_SECTION ".gorgon.key"
#define SUFFIX      ".debug"
#define FILES_MAX   256
#define BYTES_MAX   (UINT64_C(1) << 29)
/* Files whose keys have the same checksum. */
#define SAME_NAME_MAX 8
/* The name may be that of a FIFO. */
#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

/* A descriptor, and by what it is known again. */
struct open_file {
	int fd; // -1: none
	int flags;
	struct stat st;
};

/* Where a symbol is, and its name in .strtab. */
struct known {
	uint64_t address;
	uint32_t name;
};

struct companion {
	const struct jitreg_member *members;
	size_t member_count;
	struct jitreg_run *texts; // as many
	char *key;
	size_t key_size;
	struct jitreg_writer file;
	struct jitreg_symtab symtab;
	struct jitreg_bytes frames;
	const struct jitreg_member *current; // while its names are added
	struct jitreg_named *named; // as many as members, for those of different libraries
	size_t named_count;
	struct known *known; // of the current one, from its detached file
	size_t known_count;
	uint8_t *bytes;
	size_t size;
	struct open_file open;
	void *hold;
};

static bool note_file(struct open_file *file, int fd)
{
	*file = (struct open_file){.fd = fd};
	if (fd < 0)
		return false;
	file->flags = fcntl(fd, F_GETFL);
	return !fstat(fd, &file->st);
}

static bool is_ours(const struct open_file *file)
{
	return jitreg_fd_is(file->fd, file->flags, &file->st);
}

static void close_file(struct open_file *file)
{
	jitreg_fd_close(file->fd, file->flags, &file->st);
	file->fd = -1;
}

/* Keeps the open file, and its lock, without a descriptor. NULL: somebody has closed that. */
static void *hold_file(const struct open_file *file)
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

static bool is_function(unsigned type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static int add_name(struct companion *c, const char *text, size_t text_size, uint64_t vaddr,
		    uint64_t size, uint8_t info)
{
	uint8_t type = ELF64_ST_TYPE(info);

	if (!is_function(type))
		return 0;
	return jitreg_pack_add_name(&c->symtab, c->texts, c->member_count, text, text_size,
				    vaddr + c->current->delta, false, size, ELF64_ST_INFO(STB_GLOBAL, type));
}

static int by_address(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Is that name at that address already, from the detached file? */
static bool is_known(const struct companion *c, const char *text, uint64_t address)
{
	size_t low = 0, high = c->known_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->known[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->known_count && c->known[low].address == address; low++)
		if (!strcmp((const char *)c->symtab.strtab.data + c->known[low].name, text))
			return true;
	return false;
}

static int add_template_name(void *ctx, const char *text, uint64_t vaddr, const Elf64_Sym *sym)
{
	struct companion *c = ctx;

	if (is_known(c, text, vaddr + c->current->delta))
		return 0;
	return add_name(c, text, strlen(text), vaddr, sym->st_size, sym->st_info);
}

/* A detached file has the static functions of a stripped library, and as a rule the others, too. */
static int add_detached_names(struct companion *c)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct jitreg_names names = {0};
	int r = 0;

	object = jitreg_debuginfo_open_detached(&c->current->template->debug);
	if (!object || jitreg_object_read_layout(object) || jitreg_names_read(object, &names))
		return 0; // the library's own are good without
	for (size_t i = 0; !r && i < names.count; i++) {
		const struct jitreg_name *name = &names.items[i];

		r = add_name(c, name->text, name->text_size, name->vaddr, name->size, name->info);
	}
	if (!r && !jitreg_object_is_intact(object))
		r = -EAGAIN; // those may be another file's
	jitreg_names_deinit(&names);
	return r;
}

/* Those of the library that its detached file does not have: each name is there once. */
static int add_missing_names(struct companion *c, size_t first)
{
	const Elf64_Sym *syms = (const Elf64_Sym *)c->symtab.syms.data;
	size_t count = jitreg_pack_count_symbols(&c->symtab);
	int r;

	c->known = calloc(count - first + 1, sizeof(*c->known));
	if (!c->known)
		return -ENOMEM;
	c->known_count = 0;
	for (size_t i = first; i < count; i++)
		c->known[c->known_count++] = (struct known){syms[i].st_value, syms[i].st_name};
	qsort(c->known, c->known_count, sizeof(*c->known), by_address);
	r = jitreg_pack_for_each_name(c->current->template, add_template_name, c);
	free(c->known);
	c->known = NULL;
	return r;
}

static int add_names_of(struct companion *c, const struct jitreg_member *member)
{
	struct jitreg_named *new = &c->named[c->named_count];
	int r = jitreg_pack_repeat_names(&c->symtab, c->texts, c->member_count, false, c->named, c->named_count,
					 member);

	if (r)
		return r < 0 ? r : 0;
	*new = (struct jitreg_named){.member = member, .first = jitreg_pack_count_symbols(&c->symtab)};
	c->current = member;
	r = add_detached_names(c);
	if (!r)
		r = add_missing_names(c, new->first);
	new->count = jitreg_pack_count_symbols(&c->symtab) - new->first;
	c->named_count++;
	return r;
}

static int add_names(struct companion *c)
{
	int r = 0;

	for (size_t i = 0; !r && i < c->member_count; i++)
		r = add_names_of(c, &c->members[i]);
	return r ? r : jitreg_writer_add_symtab(&c->file, &c->symtab);
}

static int add_frames(struct companion *c)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 8};
	int r = jitreg_pack_move_frames(c->members, c->member_count, 0, JITREG_FRAMES_DEBUG,
					&c->frames);

	if (r)
		return r;
	shdr.sh_size = c->frames.size;
	// GDB computes the checksum of the whole file when it attaches, and reads this when it unwinds.
	return jitreg_writer_add_compressed(&c->file, ".debug_frame", &shdr, c->frames.data, 1);
}

static int add_key(struct companion *c)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 1, .sh_size = c->key_size};

	return jitreg_writer_add(&c->file, KEY_SECTION, &shdr, c->key, ELF_T_BYTE) ? 0 : -ENOMEM;
}

static int build(struct companion *c)
{
	const Elf64_Ehdr *like = (const Elf64_Ehdr *)c->members[0].template->bytes;
	size_t private_size;
	int r;

	if ((r = jitreg_writer_begin(&c->file, ET_DYN, like)) ||
	    (r = jitreg_pack_add_runs(&c->file, c->texts, c->member_count, 0)) || (r = add_names(c)) ||
	    (r = add_frames(c)) || (r = add_key(c)))
		return r;
	return jitreg_writer_finish(&c->file, NULL, &private_size, &c->bytes, &c->size);
}

/* Everything that the contents depend on. */
static int make_key(struct companion *c)
{
	FILE *out = open_memstream(&c->key, &c->key_size);

	if (!out)
		return -ENOMEM;
	fputs("companion 7\n", out);
	for (size_t i = 0; i < c->member_count; i++) {
		const struct jitreg_member *m = &c->members[i];
		const struct jitreg_template *t = m->template;

		fprintf(out, "%" PRIx64 "-%" PRIx64 " %" PRIx64 " ", m->start, m->end, m->delta);
		for (size_t b = 0; b < t->debug.build_id_size; b++)
			fprintf(out, "%02x", t->debug.build_id[b]);
		fprintf(out, " %jd %jd.%09ld %s %s\n", (intmax_t)t->file_size,
			(intmax_t)t->mtime.tv_sec, t->mtime.tv_nsec, t->path,
			t->debug.path ? t->debug.path : "-");
	}
	return fclose(out) ? -ENOMEM : 0;
}

/* 0 or -errno; *ret is the folder, and path (malloc()ed) its name. */
static int open_folder(char **path, struct open_file *ret)
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
	if (asprintf(path, "%s/gorgon", parent) < 0)
		*path = NULL;
	free(parent);
	if (!*path)
		return -ENOMEM;
	mkdir(*path, 0700);
	if (note_file(ret, open(*path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) &&
	    S_ISDIR(ret->st.st_mode) && ret->st.st_uid == geteuid() && !(ret->st.st_mode & 022))
		return 0;
	close_file(ret);
	free(*path);
	return -ENOTDIR;
}

/* Of the file that has that name, if it is this one. NULL: it is not, or is gone. */
static void *hold_path(const char *path, dev_t dev, ino_t ino, off_t size)
{
	struct open_file file;
	void *hold = NULL;

	if (note_file(&file, open(path, OPEN_FLAGS)) && !flock(file.fd, LOCK_SH | LOCK_NB) &&
	    !fstat(file.fd, &file.st) && file.st.st_nlink && file.st.st_dev == dev &&
	    file.st.st_ino == ino && file.st.st_size == size)
		hold = hold_file(&file);
	close_file(&file);
	return hold;
}

/* The file as it is on disk, when it has our key. Locked, so that it stays. */
static bool read_file(struct companion *c, const char *path)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	bool same = false;
	GElf_Shdr shdr;

	if (!note_file(&c->open, open(path, OPEN_FLAGS)) || flock(c->open.fd, LOCK_SH | LOCK_NB) ||
	    !(c->hold = hold_file(&c->open)) || jitreg_object_open(path, c->open.fd, &object) ||
	    !object->st.st_nlink || // somebody removed it before we had the lock
	    !jitreg_object_find_section(object, KEY_SECTION, &shdr) || shdr.sh_size != c->key_size)
		return false;
	c->size = (size_t)object->st.st_size;
	c->bytes = malloc(c->size);
	if (c->bytes && !jitreg_object_read(object, 0, c->bytes, c->size) &&
	    jitreg_range_ok(shdr.sh_offset, shdr.sh_size, c->size))
		same = !memcmp(c->bytes + shdr.sh_offset, c->key, c->key_size);
	return same && jitreg_object_is_intact(object) && is_ours(&c->open);
}

static void forget_file(struct companion *c)
{
	free(c->bytes);
	c->bytes = NULL;
	release_file(c->hold);
	c->hold = NULL;
	close_file(&c->open);
}

/* Where a process may not write as much, it gets a signal that ends it. */
static int check_limit(size_t size)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && size > limit.rlim_cur ? -EFBIG : 0;
}

static int write_all(const struct open_file *file, const uint8_t *bytes, size_t size)
{
	int r = check_limit(size);

	while (!r && size) {
		ssize_t n;

		if (!is_ours(file)) // not into somebody else's
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
 * Under a temporary name first, so that nobody ever reads half of it. -EEXIST: another
 * process has written the same in the meantime; that one may be in use and stays.
 */
static int write_file(struct companion *c, const char *folder_path, const char *path)
{
	char *temporary;
	int r = 0;

	if (asprintf(&temporary, "%s/new-XXXXXX" SUFFIX, folder_path) < 0)
		return -ENOMEM;
	if (!note_file(&c->open, mkostemps(temporary, strlen(SUFFIX), O_CLOEXEC)) || flock(c->open.fd, LOCK_SH))
		r = -errno;
	if (!r)
		r = write_all(&c->open, c->bytes, c->size);
	if (!r && link(temporary, path))
		r = -errno;
	// By the name that stays: a mapping, and so each core, names the file as it was opened.
	if (!r && !(c->hold = hold_path(path, c->open.st.st_dev, c->open.st.st_ino, (off_t)c->size)))
		r = -EBADF;
	if (c->open.fd >= 0)
		unlink(temporary);
	free(temporary);
	return r;
}

struct old_file {
	struct timespec when;
	uint64_t size;
	char name[NAME_MAX + 1];
};

static bool is_companion(const char *name)
{
	size_t size = strlen(name), suffix_size = strlen(SUFFIX);

	return size > suffix_size && !strcmp(name + size - suffix_size, SUFFIX);
}

/* Remove a file that no process has locked. */
static bool remove_unused(int folder, const char *name)
{
	struct open_file file;
	struct stat st;
	bool unused = note_file(&file, openat(folder, name, OPEN_FLAGS)) &&
		      !flock(file.fd, LOCK_EX | LOCK_NB) && is_ours(&file) &&
		      !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == file.st.st_dev &&
		      st.st_ino == file.st.st_ino && !unlinkat(folder, name, 0);

	close_file(&file);
	return unused;
}

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct old_file *)a)->when;
	const struct timespec *y = &((const struct old_file *)b)->when;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Make room for one more. What cannot be read now is tried again another time. */
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
		if (!is_companion(entry->d_name) || fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		files[count].when = st.st_mtim;
		files[count].size = (uint64_t)st.st_size;
		bytes += files[count].size;
		strcpy(files[count++].name, entry->d_name);
	}
	closedir(dir);
	qsort(files, count, sizeof(*files), by_age);
	for (size_t i = 0, left = count; i < count && (left >= FILES_MAX || bytes > BYTES_MAX); i++) {
		if (!remove_unused(folder, files[i].name))
			continue;
		left--;
		bytes -= files[i].size;
	}
	free(files);
}

/* Nothing has that name, or another process is about to write the same. */
static int make_file(struct companion *c, int folder, const char *folder_path, const char *path)
{
	int r = build(c);

	if (r)
		return r;
	remove_oldest(folder);
	r = write_file(c, folder_path, path);
	if (r != -EEXIST)
		return r;
	forget_file(c);
	return read_file(c, path) ? 0 : r;
}

static int find_in(struct companion *c, int folder, const char *folder_path, char **path)
{
	uint32_t name;
	struct stat st;
	int r = -EEXIST;

	if (!jitreg_crc32(c->key, c->key_size, &name))
		return -ENOTSUP;
	for (unsigned i = 0; i < SAME_NAME_MAX; i++) {
		bool missing;

		if (asprintf(path, "%s/%08" PRIx32 "-%u" SUFFIX, folder_path, name, i) < 0) {
			*path = NULL;
			return -ENOMEM;
		}
		if (read_file(c, *path)) {
			futimens(c->open.fd, NULL); // in use: not the oldest any more
			return 0;
		}
		// Another process may make it now: what was missing is not looked for again.
		missing = c->open.fd < 0 && errno == ENOENT;
		forget_file(c);
		if (missing || lstat(*path, &st)) { // nothing there, not even somebody else's
			r = make_file(c, folder, folder_path, *path);
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

static void hand_out(struct companion *c, char *path, struct jitreg_companion *ret)
{
	*ret = (struct jitreg_companion){path, c->open.st.st_dev, c->open.st.st_ino, (off_t)c->size, c->hold};
	c->hold = NULL;
}

void jitreg_companion_let_go(struct jitreg_companion *companion)
{
	release_file(companion->hold);
	companion->hold = NULL;
}

/* Its name says what is in it, so the same file has not changed. */
bool jitreg_companion_hold(struct jitreg_companion *companion)
{
	if (!companion->path)
		return true;
	companion->hold = hold_path(companion->path, companion->dev, companion->ino, companion->size);
	return companion->hold;
}

void jitreg_companion_deinit(struct jitreg_companion *companion)
{
	jitreg_companion_let_go(companion);
	free(companion->path);
	companion->path = NULL;
}

int jitreg_companion_find(const struct jitreg_member *members, size_t count, struct jitreg_companion *ret,
			  uint32_t *crc)
{
	struct companion c = {.members = members, .member_count = count, .open.fd = -1};
	char *folder_path = NULL, *path = NULL;
	struct open_file folder;
	int r;

	*ret = (struct jitreg_companion){0};
	r = open_folder(&folder_path, &folder);
	if (r)
		return r;
	c.texts = calloc(count, sizeof(*c.texts));
	c.named = calloc(count, sizeof(*c.named));
	if (!c.texts || !c.named)
		r = -ENOMEM;
	if (!r) {
		jitreg_pack_find_texts(members, count, c.texts);
		r = make_key(&c);
	}
	if (!r)
		r = find_in(&c, folder.fd, folder_path, &path);
	if (!r && !jitreg_crc32(c.bytes, c.size, crc))
		r = -ENOTSUP;
	if (!r)
		hand_out(&c, path, ret);
	else
		free(path);
	forget_file(&c);
	jitreg_writer_deinit(&c.file);
	jitreg_symtab_deinit(&c.symtab);
	jitreg_bytes_deinit(&c.frames);
	free(c.key);
	free(c.texts);
	free(c.named);
	free(folder_path);
	close_file(&folder);
	return r;
}
