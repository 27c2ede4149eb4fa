/* SPDX-License-Identifier: MIT */
/*
 * A file as the loader sees it: read once, validated once, shared by all of its
 * private copies. See image.c.
 */
#ifndef GORGON_IMAGE_IMAGE_H
#define GORGON_IMAGE_IMAGE_H

#include "base/file.h"
#include "gorgon.h"

#include <elf.h>
#include <libelf.h>
#include <sys/stat.h>

/* One PT_LOAD. vaddr and off are as in the file, not rounded to pages. */
struct gorgon_segment {
	uint64_t vaddr, mem_size;
	uint64_t off, file_size;
	int prot;
	/* writable, and its pages are the file's until they are written to: see written.c */
	bool shared;
	uint64_t kept; /* where pages of a copy wait for the next one, or 0: see ../load/kept.c */
};

/* A symbol version: of a definition, or of a need. */
struct gorgon_version {
	const char *name; /* NULL for indices without a version of their own */
	const char *file; /* DT_NEEDED name that a need speaks of; NULL for definitions */
	uint32_t hash;    /* System V hash of name */
	bool weak;	  /* a need that may be unmet: VER_FLG_WEAK */
};

struct gorgon_hash_gnu {
	const uint64_t *bloom;
	const uint32_t *buckets, *chains;
	uint32_t bucket_count, symbol_offset, bloom_count, bloom_shift;
};

struct gorgon_hash_sysv {
	const uint32_t *buckets, *chains;
	uint32_t bucket_count, chain_count;
};

/*
 * Pointers named here lead into the read-only view of the file and live as long
 * as the image. Everything is checked: an index or name that comes from these
 * tables is in range.
 */
struct gorgon_image {
	struct gorgon_image *next; /* cache list */
	unsigned refs;		   /* 0: kept for the next one who opens the file */
	bool settled;		   /* the file had been left alone for a while when it was read */
	uint64_t kept_at, data_kept_at;
	char *path;
	struct stat st; /* identity: st_dev, st_ino, st_size, st_mtim */
	Elf *elf;
	const uint8_t *file;
	uint64_t file_size;

	const Elf64_Phdr *phdrs; /* libelf's copy */
	size_t phdr_count;
	struct gorgon_segment *segments;
	size_t segment_count;
	uint64_t vaddr_start, vaddr_end; /* page-rounded span */
	uint64_t align;                  /* of the span; at least a page */

	const char *strtab;
	uint64_t strtab_size;
	const Elf64_Sym *symbols;
	uint32_t symbol_count;
	const uint16_t *versym; /* NULL, or symbol_count entries */
	struct gorgon_version *versions;
	uint32_t version_count;
	bool has_verdef;
	struct gorgon_hash_gnu gnu;   /* bucket_count 0 when absent */
	struct gorgon_hash_sysv sysv; /* likewise */

	const char *soname, *rpath, *runpath; /* or NULL */
	const char *filtee; /* of DT_FILTER or DT_AUXILIARY, or NULL */
	const char **needed;
	size_t needed_count;

	const Elf64_Rela *rela, *jmprel;
	uint64_t rela_count, jmprel_count;
	const uint64_t *relr;
	uint64_t relr_count;
	bool *written; /* by page of the file: each copy writes to its own when it is loaded */

	uint64_t init, fini; /* vaddr, 0 when absent */
	uint64_t init_array, init_array_count;
	uint64_t fini_array, fini_array_count;

	struct {
		uint64_t vaddr, file_size, mem_size, align; /* mem_size 0: no TLS */
	} tls;
	uint64_t relro_vaddr, relro_size;
	uint64_t dynamic_vaddr;
	uint64_t eh_frame_hdr_vaddr; /* PT_GNU_EH_FRAME, 0 when absent or not as expected */
	uint64_t eh_frame_vaddr;     /* what it points to, 0 without a terminator */
	uint64_t eh_frame_size;      /* up to the end of its segment's part of the file */
	bool symbolic, nodelete;
	uint64_t place; /* of its first page, from the start of a zone; 0: none. See zones.c */
	struct gorgon_image *next_placed;
	uint64_t number; /* never that of another image */
	bool relocated_before;	   /* of these two: see ../load/plan.c */
	struct gorgon_plan *plans; /* freed with the image */
	bool jit_descriptor_known;     /* see jit_descriptor.c */
	uint64_t jit_descriptor_vaddr; /* 0: none */
};

/*
 * Open and validate, or find in the cache and count. The loader's lock is held.
 * Errors as of gorgon_object_open(); the message starts with @path.
 */
struct gorgon_error *gorgon_image_open(const char *path, struct gorgon_image **ret);

/* gorgon_image_open(), which also gives the open file to a caller that will map it. The descriptor
 * may be closed or another file's by then, see file.h. After an error the file is closed. */
struct gorgon_error *gorgon_image_open_file(const char *path, struct gorgon_image **ret,
					    struct gorgon_file *file);

/*
 * Do with the file behind @image what needs a descriptor. @file is open already, or not; @step is
 * repeated when its descriptor was not that of the file to the end, so what it does must be
 * possible twice. @path is for messages, and to open the file again.
 */
struct gorgon_error *gorgon_image_with_file(const struct gorgon_image *image, const char *path,
					    struct gorgon_file *file,
					    struct gorgon_error *(*step)(void *ctx, int fd),
					    void *ctx);

/* Give back one reference; NULL is ignored. With the last one the image is kept for a while. The
 * loader's lock is held. */
void gorgon_image_close(struct gorgon_image *image);

/* Whether two names are the same file at this moment. */
bool gorgon_image_is_file(const struct gorgon_image *image, const struct stat *st);

/* Bytes of the file behind [vaddr, vaddr+size), or NULL when they are not all in one segment. */
const void *gorgon_image_at(const struct gorgon_image *image, uint64_t vaddr, uint64_t size);

/* The segment whose memory contains [vaddr, vaddr+size), or NULL. */
const struct gorgon_segment *gorgon_image_segment(const struct gorgon_image *image, uint64_t vaddr,
						  uint64_t size);

/* Number of images that somebody has, for tests. */
size_t gorgon_image_count(void);

/* How much of what nobody has may be kept: bytes of files, and nanoseconds since it was used. What
 * is more goes at once. The lock is held. */
void gorgon_image_keep(uint64_t bytes, uint64_t ns);
/* Drop what is kept. The lock is held. */
void gorgon_image_trim(void);
/* Bytes of files that are kept, and of pages of data; and how many files. The lock is held. */
uint64_t gorgon_image_kept(uint64_t *count);

/* Bytes of the pages that have a segment's bytes of the file. */
uint64_t gorgon_image_data_size(const struct gorgon_segment *segment);
/* Keep a segment's pages, which are at @addr, if there is room for them: false if not. The lock is
 * held. */
bool gorgon_image_keep_data(struct gorgon_image *image, struct gorgon_segment *segment,
			    uint64_t addr);

/* Validation of a new image whose elf is open, in image_headers.c: the headers and all they lead
 * to. */
struct gorgon_error *gorgon_image_read(struct gorgon_image *image);

/* The part of it in image_dynamic.c: everything that PT_DYNAMIC leads to. */
struct gorgon_error *gorgon_image_read_dynamic(struct gorgon_image *image, uint64_t vaddr,
					       uint64_t size);

#endif
