// SPDX-License-Identifier: MIT
/*
 * Symfiles: one per registered object, made from one template per file.
 *
 * The second and all later copies of a library cost a memcpy() of what differs and as
 * many additions as there are sections. The memory (rows.c, arena.c) is
 * anonymous because the kernel's default core filter leaves out private file mappings,
 * and debuggers need the symfile from a core; it is read-only once written.
 *
 * Cache: a list of templates keyed by path, device, inode, size and time of
 * modification. The path is part of the key because the symfile can contain it.
 * Templates are built outside the lock (building reads files and may dlopen()), so
 * two threads can build the same one; the second drops its own.
 */
#define _GNU_SOURCE 1
#include "symfile.h"

#include "descriptor.h"
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* How often a file is read again when somebody has closed its descriptor in between. */
#define TRIES 4

static struct jitreg_template *templates; // under jitreg_lock()

static struct jitreg_template *find_locked(const char *path, const struct stat *st, enum jitreg_symfile_kind kind)
{
	for (struct jitreg_template *t = templates; t; t = t->next) {
		if (t->kind == kind && t->dev == st->st_dev && t->ino == st->st_ino && t->file_size == st->st_size &&
		    t->mtime.tv_sec == st->st_mtim.tv_sec &&
		    t->mtime.tv_nsec == st->st_mtim.tv_nsec && !strcmp(t->path, path)) {
			t->ref_count++;
			return t;
		}
	}
	return NULL;
}

static struct jitreg_template *find_cached(const char *path, int fd, enum jitreg_symfile_kind kind)
{
	struct jitreg_template *found;
	struct stat st;

	if (fd >= 0 ? fstat(fd, &st) : stat(path, &st))
		return NULL; // opening will say why
	jitreg_lock();
	found = find_locked(path, &st, kind);
	jitreg_unlock();
	return found;
}

struct jitreg_template *jitreg_template_first(void)
{
	return templates;
}

void jitreg_template_add(struct jitreg_template *template)
{
	template->ref_count = 1;
	template->next = templates;
	templates = template;
}

/* -EAGAIN: another file was read in between. */
static int build(const char *path, int fd, enum jitreg_symfile_kind kind, struct jitreg_template **ret)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct jitreg_template *built = NULL;
	int r = jitreg_object_open(path, fd, &object);

	if (r)
		return r;
	r = jitreg_template_create(object, kind, &built);
	if (jitreg_object_is_intact(object)) {
		*ret = built;
		return r;
	}
	if (built)
		jitreg_template_destroy(built);
	return -EAGAIN;
}

int jitreg_template_acquire(const char *path, int fd, enum jitreg_symfile_kind kind, struct jitreg_template **ret)
{
	struct jitreg_template *built = NULL, *cached;
	int r = -EAGAIN;

	*ret = find_cached(path, fd, kind);
	if (*ret)
		return 0;
	for (unsigned i = 0; r == -EAGAIN && i < TRIES; i++)
		r = build(path, fd, kind, &built);
	if (r)
		return r;

	jitreg_lock();
	for (cached = templates; cached && !(cached->kind == kind && jitreg_template_same_file(cached, built));)
		cached = cached->next;
	if (cached)
		cached->ref_count++;
	else
		jitreg_template_add(built);
	jitreg_unlock();

	if (cached)
		jitreg_template_destroy(built);
	*ret = cached ? cached : built;
	return 0;
}

void jitreg_template_hold(struct jitreg_template *template)
{
	jitreg_lock();
	template->ref_count++;
	jitreg_unlock();
}

void jitreg_template_release(struct jitreg_template *template)
{
	struct jitreg_template **link;
	size_t left;

	if (!template)
		return;
	jitreg_lock();
	left = --template->ref_count;
	if (!left) {
		for (link = &templates; *link != template; link = &(*link)->next)
			;
		*link = template->next;
	}
	jitreg_unlock();
	if (left)
		return;
	if (template->kind == JITREG_SYMFILE_PACK)
		jitreg_packs_keep(template);
	else
		jitreg_template_destroy(template);
}

bool jitreg_template_same_file(const struct jitreg_template *a, const struct jitreg_template *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->file_size == b->file_size &&
	       a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec &&
	       !strcmp(a->path, b->path);
}

size_t jitreg_template_count(void)
{
	size_t count = 0;

	jitreg_lock();
	for (struct jitreg_template *t = templates; t; t = t->next)
		count++;
	jitreg_unlock();
	return count;
}

static void apply_fixups(const struct jitreg_template *template, uint8_t *bytes, uint64_t bias)
{
	for (size_t i = 0; i < JITREG_FIXUP_COUNT; i++) {
		const struct jitreg_fixup *fixup = &template->fixups[i];
		uint8_t *at = bytes + fixup->off;

		for (uint64_t n = fixup->count; n; n--, at += fixup->stride) {
			uint64_t address;

			memcpy(&address, at, sizeof(address));
			address += bias;
			memcpy(at, &address, sizeof(address));
		}
	}
}

/*
 * Copy from the image, which may have holes or no read permission where the file on
 * disk, changed since it was mapped, says that there is data. Asking the kernel to
 * copy turns that fault into an error; where it may not be asked, trust the caller.
 */
static int read_image(uint64_t addr, void *buf, size_t size)
{
	struct iovec local = {buf, size}, remote = {(void *)(uintptr_t)addr, size};
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (n == (ssize_t)size)
		return 0;
	if (n >= 0 || (errno != ENOSYS && errno != EPERM))
		return -EINVAL;
	memcpy(buf, remote.iov_base, size);
	return 0;
}

/* .eh_frame with absolute pointers: right only where the loader has relocated it. */
static int copy_live_unwind_data(const struct jitreg_template *template,
				 const struct jitreg_image *image, uint8_t *bytes)
{
	uint64_t addr = image->bias + template->live_vaddr;

	if (!template->live_size)
		return 0;
	if (addr < image->start ||
	    !jitreg_range_ok(addr - image->start, template->live_size, image->end - image->start))
		return -EINVAL;
	return read_image(addr, bytes + template->live_off, template->live_size);
}

/* The common part is further away than in the template. */
static void move_contents(const struct jitreg_template *template, uint8_t *bytes, size_t distance)
{
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr;

	memcpy(&ehdr, bytes, sizeof(ehdr));
	for (size_t i = 1; i < ehdr.e_shnum; i++) {
		uint8_t *at = bytes + ehdr.e_shoff + i * sizeof(shdr);

		memcpy(&shdr, at, sizeof(shdr));
		if (shdr.sh_offset >= template->private_size)
			shdr.sh_offset += distance;
		memcpy(at, &shdr, sizeof(shdr));
	}
}

static int write_private_part(const struct jitreg_template *template,
			      const struct jitreg_image *image, struct jitreg_slot slot)
{
	uint8_t *bytes = jitreg_slot_bytes(template, slot);
	int r = jitreg_slot_unseal(template, slot), sealed;

	if (r)
		return r;
	memcpy(bytes, template->bytes, template->private_size);
	apply_fixups(template, bytes, image->bias);
	move_contents(template, bytes, jitreg_slot_distance(template, slot));
	r = copy_live_unwind_data(template, image, bytes);
	sealed = jitreg_slot_seal(template, slot);
	return r ? r : sealed;
}

int jitreg_symfile_create(struct jitreg_template *template, const struct jitreg_image *image,
			  struct jitreg_symfile *ret)
{
	struct jitreg_slot slot;
	int r;

	jitreg_lock();
	r = jitreg_slot_acquire(template, &slot);
	if (!r) {
		r = write_private_part(template, image, slot);
		if (r)
			jitreg_slot_release(template, slot);
	}
	jitreg_unlock();
	if (r)
		return r;
	*ret = (struct jitreg_symfile){
		.slot = slot,
		.bytes = jitreg_slot_bytes(template, slot),
		.size = template->size + jitreg_slot_distance(template, slot),
	};
	return 0;
}

void jitreg_symfile_destroy(struct jitreg_template *template, struct jitreg_symfile *symfile)
{
	jitreg_lock();
	jitreg_slot_release(template, symfile->slot);
	jitreg_unlock();
}
