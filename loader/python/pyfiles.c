// SPDX-License-Identifier: MIT
// What the interpreters of the process know of compiled files: their contents.
//
// An import asks importlib.machinery.SourceFileLoader for the code. It is written in Python, and
// does equal work in each interpreter. This file keeps what it reads for all interpreters.
// Contents are used as long as the file has the inode, size and times that it had, and they are
// compared with the source as it is now, as CPython does. So an import sees what CPython itself
// would see.
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
	uint64_t used_at;	     // gorgon_now()
	uint64_t hash;		     // of the path
	size_t bytes;
	struct stat st;
	char *contents; // of the whole file
	char path[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *buckets[BUCKETS];
static struct gorgon_link used = {&used, &used}; // the first one was used last
static uint64_t count, bytes;
static uint64_t limit = GORGON_KEEP_IMPORT_BYTES;
static uint64_t limit_ns = GORGON_KEEP_SECONDS * UINT64_C(1000000000);

// --- the table, under the lock ------------------------------------------------------------

// FNV-1a.
static uint64_t hash_path(const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	return hash;
}

static struct entry *find_entry(const char *path, uint64_t hash)
{
	struct entry *ret = buckets[hash % BUCKETS];

	while (ret && (ret->hash != hash || strcmp(ret->path, path) != 0))
		ret = ret->next;
	return ret;
}

static void drop_reference(struct entry *entry)
{
	if (--entry->refs)
		return;
	free(entry->contents);
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

static struct entry *hold_entry(const char *path)
{
	uint64_t hash = hash_path(path);
	struct entry *ret;

	pthread_mutex_lock(&lock);
	ret = find_entry(path, hash);
	if (ret) {
		ret->refs++;
		use_entry(ret);
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

// Put a new entry into the table, in place of an older one. The caller has a reference of its own.
static void learn_entry(struct entry *entry)
{
	struct entry *older;

	entry->refs = 2;
	entry->hash = hash_path(entry->path);
	pthread_mutex_lock(&lock);
	older = find_entry(entry->path, entry->hash);
	if (older)
		remove_entry(older);
	entry->next = buckets[entry->hash % BUCKETS];
	buckets[entry->hash % BUCKETS] = entry;
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

// --- compiled files -----------------------------------------------------------------------

// FOLDER/__pycache__/STEM.TAG.pyc of FOLDER/STEM.py (PEP 3147), of at most PATH_MAX - 1 bytes.
static bool make_compiled_path(const struct gorgon_pyfile_rules *rules, const char *source,
			       char ret[PATH_MAX])
{
	const char *base = strrchr(source, '/'), *dot = strrchr(source, '.');
	int size;

	if (!base || dot <= base)
		return false;
	size = snprintf(ret, PATH_MAX, "%.*s/__pycache__/%.*s.%s.pyc", (int)(base - source), source,
			(int)(dot - base - 1), base + 1, rules->tag);
	return size >= 0 && size < PATH_MAX;
}

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

static const struct gorgon_pyfile *read_and_learn(const struct gorgon_pyfile_rules *rules,
						  const char *compiled, const struct stat *source)
{
	size_t size = sizeof(struct entry) + strlen(compiled) + 1;
	struct stat st;
	char *contents = read_file(compiled, &st);
	struct entry *entry = NULL;

	if (contents && is_compiled_from(rules, contents, source))
		entry = calloc(1, size);
	if (!entry) {
		free(contents);
		return NULL;
	}
	entry->st = st;
	entry->contents = contents;
	strcpy(entry->path, compiled);
	entry->bytes = size + (size_t)st.st_size;
	entry->pyfile = (struct gorgon_pyfile){
		.code = contents + HEADER_SIZE,
		.code_size = (size_t)st.st_size - HEADER_SIZE,
	};
	learn_entry(entry);
	return &entry->pyfile;
}

const struct gorgon_pyfile *gorgon_pyfile_code(const struct gorgon_pyfile_rules *rules,
					       const char *source)
{
	char compiled[PATH_MAX];
	struct stat source_st, st;
	struct entry *entry;

	if (!make_compiled_path(rules, source, compiled) || stat(source, &source_st))
		return NULL;
	entry = hold_entry(compiled);
	if (entry && !stat(compiled, &st) && gorgon_file_is_untouched(&entry->st, &st) &&
	    is_compiled_from(rules, entry->contents, &source_st))
		return &entry->pyfile;
	if (entry)
		gorgon_pyfile_release(&entry->pyfile);
	return gorgon_pyfile_is_on() ? read_and_learn(rules, compiled, &source_st) : NULL;
}

// --- what is kept -------------------------------------------------------------------------

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
