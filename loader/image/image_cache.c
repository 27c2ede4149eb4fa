// SPDX-License-Identifier: MIT
// Opening images: each file is read once, however many copies of it are loaded.
//
// libelf maps the file read-only; the tables are used from that view. A thousand copies of a
// library thus share one symbol table in one place. No descriptor is kept: who maps a copy
// opens the file again and compares (file.c).
//
// Not handled: a file that is truncated by somebody while it is in use. As with the system's
// linker that is a bus error.

#define _GNU_SOURCE
#include "base/error.h"
#include "image.h"
#include "place.h"

#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

static struct gorgon_image *cache;

#define bad(image, ...)                                                                            \
	gorgon_error_prefix(gorgon_error_create(GORGON_ERROR_FORMAT, __VA_ARGS__), (image)->path)

static void image_destroy(struct gorgon_image *image)
{
	if (!image)
		return;
	if (image->elf)
		elf_end(image->elf);
	free(image->segments);
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

// The image of this very file with these contents. A library that was overwritten since (its inode
// is what it was, its size or time is not) is another image.
static struct gorgon_image *find_cached(const struct stat *st)
{
	struct gorgon_image *image = cache;

	while (image && !gorgon_file_is_same(&image->st, st))
		image = image->next;
	return image;
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

static struct gorgon_error *reopen(const struct gorgon_image *image, const char *path,
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
	if (s->file->fd < 0 && (s->err = reopen(s->image, s->path, s->file))) {
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
	for (struct gorgon_image **p = &cache; *p; p = &(*p)->next) {
		if (*p == image) {
			*p = image->next;
			break;
		}
	}
	gorgon_place_drop_image(image);
	image_destroy(image);
}

size_t gorgon_image_count(void)
{
	size_t count = 0;

	for (struct gorgon_image *image = cache; image; image = image->next)
		count++;
	return count;
}
