// SPDX-License-Identifier: MIT What the interpreters of the process know of modules' files: where a
// folder has a module, and the contents of compiled files.
//
// An import asks importlib.machinery.FileFinder of each folder of sys.path, and
// importlib.machinery.SourceFileLoader for the code. Both are written in Python, and both do equal
// work in each interpreter. This file keeps the results of the work for all interpreters. A result
// is used as long as the files that it was made of have not changed: the folder, the package's
// folder, the source and the compiled file have the inodes, sizes and times that they had. So an
// import sees what CPython itself would see, which asks the system for the time of the folder and
// of the source, too.
//
// A file that was changed just now could change again without another time. Nothing is kept of such
// files.
//
// Entries are in a hash table, and in a list by their last use. Both are under a lock that is a
// leaf. No system call is made under it: an entry does not change, so whoever has found one holds
// it, and looks at the files afterwards.

#define _GNU_SOURCE
#include "pyfiles.h"
#include "link.h"
#include "base/clock.h"
#include "base/file.h"
#include "gorgon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUCKETS 4096
#define HEADER_SIZE 16 // of compiled files (PEP 552)

struct entry {
	struct gorgon_pyfile pyfile; // the first member
	struct gorgon_link used;     // in the list by the last use
	struct entry *next;	     // in the bucket
	unsigned refs;		     // one of them is the table's
	uint64_t learnt;	     // a number that grows
	uint64_t used_at;	     // gorgon_now()
	size_t bytes;
	// the folder, and a package's own; for code the source and the compiled file
	struct stat first, second;
	uint64_t hash;
	size_t key_size;
	char key[]; // then the texts that `pyfile` points to
};

// The words of a key, and what they hash to.
struct key {
	char kind; // f: what a folder has; c: the code of a source, which is in @folder
	const char *folder, *name;
	const struct gorgon_pyfile_rules *rules;
	uint64_t hash;
	size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *buckets[BUCKETS];
static struct gorgon_link used = {&used, &used}; // the first one was used last
static uint64_t count, bytes, last_learnt;
static uint64_t limit = GORGON_KEEP_IMPORT_BYTES;
static uint64_t limit_ns = GORGON_KEEP_SECONDS * UINT64_C(1000000000);

// --- keys ---------------------------------------------------------------------------------

// FNV-1a.
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static struct key make_key(char kind, const struct gorgon_pyfile_rules *rules, const char *folder,
			   const char *name)
{
	size_t folder_size = strlen(folder) + 1, name_size = strlen(name) + 1;
	uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), &kind, 1);

	hash = hash_bytes(hash, folder, folder_size);
	hash = hash_bytes(hash, name, name_size);
	return (struct key){kind,  folder, name,
			    rules, hash,   1 + folder_size + name_size + rules->size};
}

static char *append_bytes(char *to, const void *from, size_t size)
{
	return (char *)memcpy(to, from, size) + size;
}

static void write_key(const struct key *key, char *to)
{
	*to++ = key->kind;
	to = append_bytes(to, key->folder, strlen(key->folder) + 1);
	to = append_bytes(to, key->name, strlen(key->name) + 1);
	append_bytes(to, key->rules->text, key->rules->size);
}

static bool has_key(const struct entry *entry, const struct key *key)
{
	size_t folder_size = strlen(key->folder) + 1, name_size = strlen(key->name) + 1;
	const char *at = entry->key;

	return entry->hash == key->hash && entry->key_size == key->size && at[0] == key->kind &&
	       !memcmp(at + 1, key->folder, folder_size) &&
	       !memcmp(at + 1 + folder_size, key->name, name_size) &&
	       !memcmp(at + 1 + folder_size + name_size, key->rules->text, key->rules->size);
}

// --- the table, under the lock ------------------------------------------------------------

static struct entry **find_place(const struct key *key)
{
	struct entry **at = &buckets[key->hash % BUCKETS];

	while (*at && !has_key(*at, key))
		at = &(*at)->next;
	return at;
}

static void drop_reference(struct entry *entry)
{
	if (--entry->refs)
		return;
	free((void *)entry->pyfile.code);
	free(entry);
}

static void remove_entry(struct entry *entry)
{
	struct entry **at = &buckets[entry->hash % BUCKETS];

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	gorgon_link_remove(&entry->used);
	count--;
	bytes -= entry->bytes;
	drop_reference(entry);
}

static struct entry *entry_of(struct gorgon_link *link)
{
	return (struct entry *)((char *)link - offsetof(struct entry, used));
}

static void drop_surplus(void)
{
	uint64_t now = gorgon_now();

	while (used.prev != &used &&
	       (bytes > limit || now - entry_of(used.prev)->used_at >= limit_ns))
		remove_entry(entry_of(used.prev));
}

static void use_entry(struct entry *entry)
{
	entry->used_at = gorgon_now();
	gorgon_link_remove(&entry->used);
	entry->used.prev = &used;
	entry->used.next = used.next;
	used.next->prev = &entry->used;
	used.next = &entry->used;
}

// --- entries ------------------------------------------------------------------------------

static struct entry *hold_entry(const struct key *key, uint64_t since)
{
	struct entry *ret;

	pthread_mutex_lock(&lock);
	ret = *find_place(key);
	if (ret && ret->learnt <= since)
		ret = NULL;
	if (ret) {
		ret->refs++;
		use_entry(ret);
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

// Put a new entry into the table, in place of an older one. The caller has a reference of its own.
static void learn_entry(struct entry *entry, const struct key *key)
{
	struct entry **at;

	entry->refs = 2;
	entry->hash = key->hash;
	entry->key_size = key->size;
	pthread_mutex_lock(&lock);
	at = find_place(key);
	if (*at)
		remove_entry(*at);
	at = &buckets[key->hash % BUCKETS];
	entry->next = *at;
	*at = entry;
	entry->learnt = ++last_learnt;
	gorgon_link_init(&entry->used);
	use_entry(entry);
	count++;
	bytes += entry->bytes;
	drop_surplus();
	pthread_mutex_unlock(&lock);
}

void gorgon_pyfile_release(const struct gorgon_pyfile *pyfile)
{
	pthread_mutex_lock(&lock);
	drop_reference((struct entry *)pyfile);
	pthread_mutex_unlock(&lock);
}

// --- files --------------------------------------------------------------------------------

enum presence {
	PRESENT,
	MISSING,
	// the system could not say, for want of memory or rights: nothing is concluded from that
	IN_DOUBT,
};

// Whether there is something of this type (S_IFMT).
static enum presence look_at(const char *path, mode_t type, struct stat *ret)
{
	if (!stat(path, ret))
		return (ret->st_mode & S_IFMT) == type ? PRESENT : MISSING;
	return errno == ENOENT || errno == ENOTDIR ? MISSING : IN_DOUBT;
}

static enum presence look_at_file(const char *path)
{
	struct stat st;

	return look_at(path, S_IFREG, &st);
}

// --- finding ------------------------------------------------------------------------------

// What is known of a folder and a name while it is looked for.
struct module_search {
	const struct gorgon_pyfile_rules *rules;
	const char *folder, *name;
	struct stat folder_st, own_st; // of the folder, and of a package's own
	enum gorgon_pyfile_kind kind;
	char origin[PATH_MAX], compiled[PATH_MAX], own[PATH_MAX];
};

// A path of at most PATH_MAX - 1 bytes.
static bool __attribute__((format(printf, 2, 3))) make_path(char ret[PATH_MAX], const char *format,
							    ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(ret, PATH_MAX, format, args);
	va_end(args);
	return size >= 0 && size < PATH_MAX;
}

// FOLDER/__pycache__/STEM.TAG.pyc of FOLDER/STEM.py (PEP 3147).
static bool make_compiled_path(const struct gorgon_pyfile_rules *rules, const char *source,
			       char ret[PATH_MAX])
{
	const char *base = strrchr(source, '/'), *dot = strrchr(source, '.');

	return base && dot > base &&
	       make_path(ret, "%.*s/__pycache__/%.*s.%s.pyc", (int)(base - source), source,
			 (int)(dot - base - 1), base + 1, rules->tag);
}

// Whether the package FOLDER/NAME is of a kind that is kept. CPython looks for extensions first.
static bool look_for_package(struct module_search *search)
{
	for (const char *const *suffix = search->rules->suffixes; *suffix; suffix++)
		if (!make_path(search->origin, "%s/__init__%s", search->own, *suffix) ||
		    look_at_file(search->origin) != MISSING)
			return false;
	if (!make_path(search->origin, "%s/__init__.py", search->own) ||
	    look_at_file(search->origin) != PRESENT)
		return false;
	search->kind = GORGON_PYFILE_PACKAGE;
	return make_compiled_path(search->rules, search->origin, search->compiled);
}

// A file of the folder, under the module's name with a suffix, which is left in @origin.
static enum presence look_for_file(struct module_search *search, const char *suffix)
{
	return make_path(search->origin, "%s/%s%s", search->folder, search->name, suffix)
		       ? look_at_file(search->origin)
		       : IN_DOUBT;
}

// A module that is no package. False: what is there, if anything, is not kept.
static bool look_for_module(struct module_search *search)
{
	enum presence found = MISSING;

	search->kind = GORGON_PYFILE_EXTENSION;
	for (const char *const *suffix = search->rules->suffixes; *suffix && found == MISSING;
	     suffix++)
		found = look_for_file(search, *suffix);
	if (found != MISSING)
		return found == PRESENT;
	search->kind = GORGON_PYFILE_SOURCE;
	found = look_for_file(search, ".py");
	if (found != MISSING)
		return found == PRESENT &&
		       make_compiled_path(search->rules, search->origin, search->compiled);
	search->kind = GORGON_PYFILE_ABSENT;
	return look_for_file(search, ".pyc") == MISSING;
}

static bool look(struct module_search *search)
{
	if (stat(search->folder, &search->folder_st) ||
	    !gorgon_file_is_settled(&search->folder_st) ||
	    !make_path(search->own, "%s/%s", search->folder, search->name))
		return false;
	switch (look_at(search->own, S_IFDIR, &search->own_st)) {
	case MISSING:
		return look_for_module(search);
	case PRESENT: // without __init__.py it may be part of a namespace package
		return gorgon_file_is_settled(&search->own_st) && look_for_package(search);
	default:
		return false;
	}
}

static struct entry *create_found(const struct module_search *search, const struct key *key)
{
	bool has_origin = search->kind != GORGON_PYFILE_ABSENT,
	     is_package = search->kind == GORGON_PYFILE_PACKAGE;
	bool has_compiled = is_package || search->kind == GORGON_PYFILE_SOURCE;
	size_t origin_size = has_origin ? strlen(search->origin) + 1 : 0,
	       own_size = is_package ? strlen(search->own) + 1 : 0;
	size_t compiled_size = has_compiled ? strlen(search->compiled) + 1 : 0;
	size_t size = sizeof(struct entry) + key->size + origin_size + compiled_size + own_size;
	struct entry *ret = calloc(1, size);
	char *text;

	if (!ret)
		return NULL;
	write_key(key, ret->key);
	text = ret->key + key->size;
	ret->bytes = size;
	ret->first = search->folder_st;
	if (is_package)
		ret->second = search->own_st;
	ret->pyfile = (struct gorgon_pyfile){
		.kind = search->kind,
		.origin = has_origin ? text : NULL,
		.compiled = has_compiled ? text + origin_size : NULL,
		.folder = is_package ? text + origin_size + compiled_size : NULL,
	};
	text = append_bytes(text, search->origin, origin_size);
	text = append_bytes(text, search->compiled, compiled_size);
	append_bytes(text, search->own, own_size);
	return ret;
}

// Whether an entry is still true. A name that was no folder cannot become one without a change of
// the folder.
static bool is_still_there(const struct entry *entry, const char *folder)
{
	struct stat st;

	if (stat(folder, &st) || !gorgon_file_is_untouched(&entry->first, &st))
		return false;
	if (entry->pyfile.folder &&
	    (stat(entry->pyfile.folder, &st) || !gorgon_file_is_untouched(&entry->second, &st)))
		return false;
	return entry->pyfile.kind == GORGON_PYFILE_ABSENT ||
	       look_at_file(entry->pyfile.origin) == PRESENT;
}

static const struct gorgon_pyfile *look_and_learn(const struct key *key)
{
	struct module_search search;
	struct entry *entry;

	search.rules = key->rules;
	search.folder = key->folder;
	search.name = key->name;
	if (!look(&search) || !(entry = create_found(&search, key)))
		return NULL;
	learn_entry(entry, key);
	return &entry->pyfile;
}

const struct gorgon_pyfile *gorgon_pyfile_find(const struct gorgon_pyfile_rules *rules,
					       const char *folder, const char *name, uint64_t since)
{
	struct key key = make_key('f', rules, folder, name);
	struct entry *entry = hold_entry(&key, since);

	if (entry && is_still_there(entry, folder))
		return &entry->pyfile;
	if (entry)
		gorgon_pyfile_release(&entry->pyfile);
	return gorgon_pyfile_is_on() ? look_and_learn(&key) : NULL;
}

// --- compiled files -----------------------------------------------------------------------

// All of the file, or NULL. Its descriptor is opened and closed on the interpreter's thread, as
// CPython does.
static char *read_file(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *ret = NULL;
	size_t done = 0;
	ssize_t got = 1;

	if (fd == -1)
		return NULL;
	if (!fstat(fd, st) && S_ISREG(st->st_mode) && st->st_size > HEADER_SIZE &&
	    gorgon_file_is_settled(st))
		ret = malloc((size_t)st->st_size);
	while (ret && done < (size_t)st->st_size && got > 0) {
		got = read(fd, ret + done, (size_t)st->st_size - done);
		if (got > 0)
			done += (size_t)got;
		else if (got == -1 && errno == EINTR)
			got = 1;
	}
	close(fd);
	if (ret && done == (size_t)st->st_size)
		return ret;
	free(ret);
	return NULL;
}

static uint32_t read_le32(const char *from)
{
	const unsigned char *byte = (const unsigned char *)from;

	return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

// What CPython asks of a compiled file (PEP 552): no flags, that is no hash, and the source's time
// and size.
static bool is_compiled_from(const struct gorgon_pyfile_rules *rules, const char *header,
			     const struct stat *source)
{
	return !memcmp(header, rules->magic, sizeof(rules->magic)) && !read_le32(header + 4) &&
	       read_le32(header + 8) == (uint32_t)source->st_mtim.tv_sec &&
	       read_le32(header + 12) == (uint32_t)source->st_size;
}

static bool is_still_compiled(const struct entry *entry, const char *source)
{
	struct stat st;

	return !stat(source, &st) && gorgon_file_is_untouched(&entry->first, &st) &&
	       !stat(entry->pyfile.compiled, &st) && gorgon_file_is_untouched(&entry->second, &st);
}

static struct entry *create_code(const struct key *key, const char *compiled, char *contents,
				 const struct stat *source_st, const struct stat *compiled_st)
{
	size_t compiled_size = strlen(compiled) + 1,
	       size = sizeof(struct entry) + key->size + compiled_size;
	struct entry *ret = calloc(1, size);

	if (!ret)
		return NULL;
	write_key(key, ret->key);
	memcpy(ret->key + key->size, compiled, compiled_size);
	ret->bytes = size + (size_t)compiled_st->st_size;
	ret->first = *source_st;
	ret->second = *compiled_st;
	ret->pyfile = (struct gorgon_pyfile){
		.kind = GORGON_PYFILE_CODE,
		.compiled = ret->key + key->size,
		.code = contents,
		.code_size = (size_t)compiled_st->st_size - HEADER_SIZE,
	};
	// The header is not needed any more, and free() wants the block's own address.
	memmove(contents, contents + HEADER_SIZE, ret->pyfile.code_size);
	return ret;
}

static const struct gorgon_pyfile *read_and_learn(const struct key *key)
{
	const char *source = key->folder;
	struct stat source_st, compiled_st;
	char compiled[PATH_MAX], *contents;
	struct entry *entry = NULL;

	if (!make_compiled_path(key->rules, source, compiled) || stat(source, &source_st) ||
	    !gorgon_file_is_settled(&source_st) || !(contents = read_file(compiled, &compiled_st)))
		return NULL;
	if (is_compiled_from(key->rules, contents, &source_st))
		entry = create_code(key, compiled, contents, &source_st, &compiled_st);
	if (!entry) {
		free(contents);
		return NULL;
	}
	learn_entry(entry, key);
	return &entry->pyfile;
}

const struct gorgon_pyfile *gorgon_pyfile_code(const struct gorgon_pyfile_rules *rules,
					       const char *source)
{
	struct key key = make_key('c', rules, source, "");
	struct entry *entry = hold_entry(&key, 0);

	if (entry && is_still_compiled(entry, source))
		return &entry->pyfile;
	if (entry)
		gorgon_pyfile_release(&entry->pyfile);
	return gorgon_pyfile_is_on() ? read_and_learn(&key) : NULL;
}

// --- what is kept -------------------------------------------------------------------------

uint64_t gorgon_pyfile_now(void)
{
	uint64_t ret;

	pthread_mutex_lock(&lock);
	ret = last_learnt;
	pthread_mutex_unlock(&lock);
	return ret;
}

bool gorgon_pyfile_is_on(void)
{
	return __atomic_load_n(&limit, __ATOMIC_RELAXED);
}

void gorgon_pyfile_keep(uint64_t most)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&limit, most, __ATOMIC_RELAXED);
	drop_surplus();
	pthread_mutex_unlock(&lock);
}

void gorgon_pyfile_keep_for(uint64_t ns)
{
	pthread_mutex_lock(&lock);
	limit_ns = ns;
	drop_surplus();
	pthread_mutex_unlock(&lock);
}

void gorgon_pyfile_trim(void)
{
	pthread_mutex_lock(&lock);
	while (used.next != &used)
		remove_entry(entry_of(used.next));
	pthread_mutex_unlock(&lock);
}

uint64_t gorgon_pyfile_kept(uint64_t *ret_count)
{
	uint64_t ret;

	pthread_mutex_lock(&lock);
	drop_surplus();
	*ret_count = count;
	ret = bytes;
	pthread_mutex_unlock(&lock);
	return ret;
}

void gorgon_pyfile_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void gorgon_pyfile_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}
