// SPDX-License-Identifier: MIT
// Opening images: each file is read once, however many copies of it are loaded, and a while after
// the last of them.
//
// libelf maps the file read-only; the tables are used from that view. A thousand copies of a
// library thus share one symbol table in one place. No descriptor is kept: who maps a copy
// opens the file again and compares (file.c).
//
// An image that nobody has any more is kept with its place and its bindings: a host that replaces
// its only interpreter needs the same ones again at once. Kept are those that were used last, up to
// a number of bytes of their files (of address space, and of pages that the page cache has anyhow)
// and for a while; whoever opens or closes one drops what is more than that. Nobody reads a kept
// image before its file is seen to be the same, also by the time of the last status change, which
// every write sets. A file that was changed shortly before it was read could be changed again
// without a new time: such an image is not kept.
//
// An image also records the pages of data that an unloaded copy has left for the next copy
// (../load/kept.c). The cache frees these pages when they are more bytes than its limit, or older
// than unused images may become; it does so also while the image is in use.
//
// Not handled: a file that is truncated by somebody while it is in use. As with the system's
// linker that is a bus error.

#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "image.h"
#include "zones.h"
#include "plan.h"

#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct gorgon_image *cache;
static uint64_t last_number;
static uint64_t kept_limit = GORGON_KEEP_FILE_BYTES;
static uint64_t kept_ns = GORGON_KEEP_SECONDS * UINT64_C(1000000000);

#define bad(image, ...)                                                                            \
	gorgon_error_prefix(gorgon_error_create(GORGON_ERROR_FORMAT, __VA_ARGS__), (image)->path)

uint64_t gorgon_image_data_size(const struct gorgon_segment *segment)
{
	uint64_t page = (uint64_t)getpagesize();

	return (segment->vaddr % page + segment->file_size + page - 1) & -page;
}

static uint64_t data_bytes(const struct gorgon_image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image->segment_count; i++)
		if (image->segments[i].kept)
			bytes += gorgon_image_data_size(&image->segments[i]);
	return bytes;
}

static void drop_data(struct gorgon_image *image)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		struct gorgon_segment *segment = &image->segments[i];

		if (segment->kept)
			munmap((void *)(uintptr_t)segment->kept, gorgon_image_data_size(segment));
		segment->kept = 0;
	}
}

static void image_destroy(struct gorgon_image *image)
{
	if (!image)
		return;
	drop_data(image);
	if (image->elf)
		elf_end(image->elf);
	while (image->plans) {
		struct gorgon_plan *plan = image->plans;

		image->plans = plan->next;
		free(plan);
	}
	free(image->segments);
	free(image->written);
	free(image->versions);
	free(image->needed);
	free(image->path);
	free(image);
}

static struct gorgon_error *open_file(const char *path, struct gorgon_file *ret)
{
	int errnum = gorgon_file_open(path, ret);

	if (errnum)
		return gorgon_error_create_os(errnum, "%s", path);
	if (S_ISREG(ret->st.st_mode))
		return NULL;
	gorgon_file_close(ret);
	return gorgon_error_create(GORGON_ERROR_FORMAT, "%s: not a regular file", path);
}

static struct gorgon_error *lost_file(const char *path)
{
	return gorgon_error_create_os(EBADF, "%s: somebody closes all descriptors of the process",
				      path);
}

// libelf's view of the file, which needs no descriptor afterwards.
static void image_view(struct gorgon_image *image, const struct gorgon_file *file)
{
	elf_version(EV_CURRENT);
	// Not ELF_C_READ_MMAP_PRIVATE: the view is never written, so it
	// shares its pages with the page cache.
	image->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (image->elf && elf_cntl(image->elf, ELF_C_FDREAD)) {
		elf_end(image->elf);
		image->elf = NULL;
	}
}

// Finds the image of this very file with these contents, or NULL. A library that was overwritten
// since it was read has the same inode and another size or time, so it gets an image of its own.
static struct gorgon_image *find_cached(const struct stat *st)
{
	struct gorgon_image *image = cache;

	while (image && !(image->refs ? gorgon_file_is_same(&image->st, st)
				      : gorgon_file_is_untouched(&image->st, st)))
		image = image->next;
	return image;
}

static void cache_drop(struct gorgon_image *image)
{
	struct gorgon_image **link = &cache;

	while (*link != image)
		link = &(*link)->next;
	*link = image->next;
	gorgon_zone_drop_image(image);
	image_destroy(image);
}

// The one that nobody has had for longest, or NULL.
static struct gorgon_image *find_oldest(void)
{
	struct gorgon_image *oldest = NULL;

	for (struct gorgon_image *image = cache; image; image = image->next)
		if (!image->refs && (!oldest || image->kept_at < oldest->kept_at))
			oldest = image;
	return oldest;
}

static void drop_surplus(void)
{
	const uint64_t now = gorgon_now();
	struct gorgon_image *oldest;
	uint64_t count;

	for (struct gorgon_image *image = cache; image; image = image->next)
		if (now - image->data_kept_at >= kept_ns || !kept_limit)
			drop_data(image);
	while ((oldest = find_oldest()) && (now - oldest->kept_at >= kept_ns ||
					    gorgon_image_kept(&count) > kept_limit))
		cache_drop(oldest);
}

// A new image of @file, or none in @ret: what was read may be another one's.
static struct gorgon_error *image_create(const char *path, const struct gorgon_file *file,
					 struct gorgon_image **ret)
{
	struct gorgon_image *image = calloc(1, sizeof(*image));
	struct gorgon_error *err;

	*ret = NULL;
	if (!image)
		return &gorgon_error_nomem;
	image->st = file->st;
	image->settled = gorgon_file_is_settled(&image->st);
	image->number = ++last_number;
	image->refs = 1;
	image->path = strdup(path);
	if (!image->path) {
		image_destroy(image);
		return &gorgon_error_nomem;
	}
	if (image->st.st_size < EI_NIDENT) {
		err = bad(image, "not an ELF file (%lld bytes)", (long long)image->st.st_size);
		image_destroy(image);
		return err;
	}
	image_view(image, file);
	if (!gorgon_file_is_ours(file)) {
		image_destroy(image);
		return NULL;
	}
	if ((err = gorgon_image_read(image))) {
		image_destroy(image);
		return err;
	}
	image->next = cache;
	cache = image;
	*ret = image;
	return NULL;
}

// Once. Without an error and without an image @file was lost.
static struct gorgon_error *try_open(const char *path, struct gorgon_image **ret,
				     struct gorgon_file *file)
{
	struct gorgon_error *err = open_file(path, file);

	*ret = NULL;
	if (err)
		return err;
	drop_surplus();
	if ((*ret = find_cached(&file->st))) {
		(*ret)->refs++;
		return NULL;
	}
	err = image_create(path, file, ret);
	if (!*ret)
		gorgon_file_close(file);
	return err;
}

struct opening {
	const char *path;
	struct gorgon_image **ret;
	struct gorgon_error *err;
};

static void open_apart(void *ctx)
{
	struct opening *opening = ctx;
	struct gorgon_file file;

	opening->err = try_open(opening->path, opening->ret, &file);
	gorgon_file_close(&file);
}

struct gorgon_error *gorgon_image_open_file(const char *path, struct gorgon_image **ret,
					    struct gorgon_file *file)
{
	struct opening opening = {.path = path, .ret = ret};
	struct gorgon_error *err;

	for (unsigned i = 0; i < GORGON_FILE_TRIES; i++)
		if ((err = try_open(path, ret, file)) || *ret)
			return err;
	if (gorgon_file_apart(open_apart, &opening) || (!opening.err && !*ret))
		return lost_file(path);
	return opening.err;
}

struct gorgon_error *gorgon_image_open(const char *path, struct gorgon_image **ret)
{
	struct gorgon_file file;
	struct gorgon_error *err = gorgon_image_open_file(path, ret, &file);

	gorgon_file_close(&file);
	return err;
}

struct stepping {
	const struct gorgon_image *image;
	const char *path;
	struct gorgon_file *file;
	struct gorgon_error *(*step)(void *ctx, int fd);
	void *ctx;
	struct gorgon_error *err;
	bool done;
};

static struct gorgon_error *cache_reopen(const struct gorgon_image *image, const char *path,
					 struct gorgon_file *file)
{
	struct gorgon_error *err = open_file(path, file);

	if (err || gorgon_file_is_same(&image->st, &file->st))
		return err;
	gorgon_file_close(file);
	return bad(image, "was replaced by another file while it was being loaded");
}

// One attempt; done unless the file was lost.
static void try_step(struct stepping *s)
{
	if (s->file->fd < 0 && (s->err = cache_reopen(s->image, s->path, s->file))) {
		s->done = true;
		return;
	}
	s->err = s->step(s->ctx, s->file->fd);
	s->done = gorgon_file_is_ours(s->file);
	if (s->done)
		return;
	gorgon_error_destroy(s->err);
	s->err = NULL;
	gorgon_file_close(s->file);
}

static void step_apart(void *ctx)
{
	struct stepping *s = ctx;
	struct gorgon_file file = {.fd = -1};

	s->file = &file;
	try_step(s);
	gorgon_file_close(&file);
}

struct gorgon_error *gorgon_image_with_file(const struct gorgon_image *image, const char *path,
					    struct gorgon_file *file,
					    struct gorgon_error *(*step)(void *ctx, int fd),
					    void *ctx)
{
	struct stepping s = {image, path, file, step, ctx, NULL, false};

	for (unsigned i = 0; i < GORGON_FILE_TRIES && !s.done; i++)
		try_step(&s);
	if (!s.done && (gorgon_file_apart(step_apart, &s) || !s.done))
		return lost_file(path);
	return s.err;
}

void gorgon_image_close(struct gorgon_image *image)
{
	if (!image || --image->refs)
		return;
	image->kept_at = gorgon_now();
	if (!image->settled)
		cache_drop(image);
	drop_surplus();
}

size_t gorgon_image_count(void)
{
	size_t count = 0;

	for (struct gorgon_image *image = cache; image; image = image->next)
		count += image->refs > 0;
	return count;
}

uint64_t gorgon_image_kept(uint64_t *count)
{
	uint64_t bytes = 0;

	*count = 0;
	for (struct gorgon_image *image = cache; image; image = image->next) {
		bytes += data_bytes(image);
		if (image->refs)
			continue;
		bytes += image->file_size;
		for (const struct gorgon_plan *plan = image->plans; plan; plan = plan->next)
			bytes += plan->key_count * sizeof(*plan->key) +
				 plan->item_count * sizeof(*plan->items);
		++*count;
	}
	return bytes;
}

void gorgon_image_keep(uint64_t bytes, uint64_t ns)
{
	kept_limit = bytes;
	kept_ns = ns;
	drop_surplus();
}

bool gorgon_image_keep_data(struct gorgon_image *image, struct gorgon_segment *segment,
			    uint64_t addr)
{
	uint64_t bytes = gorgon_image_data_size(segment);

	for (const struct gorgon_image *each = cache; each; each = each->next)
		bytes += data_bytes(each);
	if (segment->kept || !kept_ns || bytes > kept_limit || bytes > GORGON_KEEP_DATA_BYTES)
		return false;
	segment->kept = addr;
	image->data_kept_at = gorgon_now();
	return true;
}

void gorgon_image_trim(void)
{
	struct gorgon_image *image;

	for (image = cache; image; image = image->next)
		drop_data(image);
	while ((image = find_oldest()))
		cache_drop(image);
}
