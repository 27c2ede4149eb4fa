// SPDX-License-Identifier: MIT
/*
 * Groups: what debuggers have of a group's images, event by event; what is in a pack and in
 * its companion; and what becomes of both when there is no folder, no memory or no peace.
 *
 * Images are registered at addresses where nothing is mapped, at the same distances from
 * the start of each group. Calls in the Makefile's list are wrapped, so that the n-th of
 * them can be made to fail.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../jitreg/descriptor.h"
#include "../jitreg/group.h"
#include "../jitreg/pack.h"
#include "../jitreg/symfile.h"
#include "../jitreg/writer.h"
#include "jitreg_util.h"

#define BASE(n)    (UINT64_C(0x200000000000) + (uint64_t)(n) * (UINT64_C(1) << 32))
#define IMAGE_SIZE UINT64_C(0x8000)
#define LARGE_SIZE UINT64_C(0x200000)
#define THREADS    6
#define REPEATS    20

#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_TSAN() skip()
#else
#define SKIP_UNDER_TSAN() (void)0
#endif

/* --- calls that fail ------------------------------------------------------------------- */

static long call_count, fail_at;

static bool fails(void)
{
	return fail_at && ++call_count == fail_at;
}

#define WRAP(type, name, params, args, failure, error)                                             \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		if (fails()) {                                                                     \
			errno = error;                                                             \
			return failure;                                                            \
		}                                                                                  \
		return __real_##name args;                                                         \
	}

WRAP(void *, malloc, (size_t a), (a), NULL, ENOMEM)
WRAP(void *, calloc, (size_t a, size_t b), (a, b), NULL, ENOMEM)
WRAP(void *, realloc, (void *a, size_t b), (a, b), NULL, ENOMEM)
WRAP(void *, reallocarray, (void *a, size_t b, size_t c), (a, b, c), NULL, ENOMEM)
WRAP(char *, strdup, (const char *a), (a), NULL, ENOMEM)
WRAP(void *, mmap, (void *a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f),
     MAP_FAILED, ENOMEM)
WRAP(int, mprotect, (void *a, size_t b, int c), (a, b, c), -1, ENOMEM)
WRAP(int, memfd_create, (const char *a, unsigned b), (a, b), -1, EMFILE)
WRAP(ssize_t, pread, (int a, void *b, size_t c, off_t d), (a, b, c, d), -1, EIO)
WRAP(ssize_t, write, (int a, const void *b, size_t c), (a, b, c), -1, ENOSPC)
WRAP(int, mkostemps, (char *a, int b, int c), (a, b, c), -1, EROFS)
WRAP(FILE *, open_memstream, (char **a, size_t *b), (a, b), NULL, ENOMEM)

/* What another process does just before a file is locked, or gets its name, or just after
 * nothing was found by a name; once. */
static void (*before_lock)(void), (*before_link)(const char *path);
static void (*after_missing)(const char *path);

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	int fd = __real_open(path, flags); // jitreg makes files by another call
	void (*other)(const char *path) = after_missing;

	if (fd < 0 && errno == ENOENT && other) {
		after_missing = NULL;
		other(path);
		errno = ENOENT;
	}
	return fd;
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	void (*other)(void) = before_lock;

	if (other) { // not written to where threads are
		before_lock = NULL;
		other();
	}
	if (!fails())
		return __real_flock(fd, operation);
	errno = ENOLCK;
	return -1;
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to)
{
	void (*other)(const char *path) = before_link;

	if (other) {
		before_link = NULL;
		other(to);
	}
	if (!fails())
		return __real_link(from, to);
	errno = EMLINK;
	return -1;
}

/* --- what happens ---------------------------------------------------------------------- */

/* As text: "self.so:pack " an image has moved; "+self.so " and "-[self.so link.so] " debuggers
 * hear of its own symfile and of a pack, "+self.so:dwarf " of one with DWARF; "( ) " the two
 * that make them look at their breakpoints. */
static char events[4096];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t size = strlen(events);
	va_list args;

	va_start(args, format);
	vsnprintf(events + size, sizeof(events) - size, format, args);
	va_end(args);
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static void note_listing(const struct jitreg_listing *listing)
{
	const struct jitreg_template *t = listing->template;

	if (t->kind != JITREG_SYMFILE_PACK) {
		note("%s%s ", base_name(t->path), listing->whole.bytes ? ":dwarf" : "");
		return;
	}
	for (size_t i = 0; i < t->member_count; i++)
		note("%s%s", i ? " " : "[", base_name(t->members[i].template->path));
	note("] ");
}

static void on_stop(void)
{
	const struct jitreg_listing *listing =
		(const struct jitreg_listing *)__jit_debug_descriptor.relevant_entry;
	bool comes = __jit_debug_descriptor.action_flag == JIT_REGISTER_FN;

	assert_int_equal(jitreg_debug_root.sequence % 2, 0);
	assert_memory_equal(listing->debug.base.symfile_addr, "\177ELF", 4);
	if (listing->debug.base.symfile_size < 256) { // without content, in no list
		note(comes ? "( " : ") ");
		return;
	}
	note(comes ? "+" : "-");
	note_listing(listing);
}

/* An image and what its owner was told of it. */
struct image {
	const char *name;
	struct jitreg_entry *entry;
	struct jitreg_info info;
	unsigned moves;
};

static void on_moved(void *ctx, const struct jitreg_info *info)
{
	static const char *const kinds[] = {":full", ":lean", ":pack"};
	struct image *image = ctx;

	image->info = *info;
	image->moves++;
	note("%s%s ", image->name, info->symfile ? kinds[info->symfile_kind] : ":gone");
}

#define assert_events(text)                                                                        \
	do {                                                                                       \
		assert_string_equal(events, text);                                                 \
		events[0] = '\0';                                                                  \
	} while (0)

/* Register @name at @off from the start of a group. */
static int try_enter(struct jitreg_group *group, uint64_t base, uint64_t off, uint64_t size,
		     const char *name, uint32_t flags, struct image *ret)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = util_path(name),
		.fd = -1,
		.flags = flags,
		.bias = base + off,
		.start = base + off,
		.end = base + off + size,
		.group = group,
		.moved = on_moved,
		.ctx = ret,
	};

	*ret = (struct image){.name = name};
	return jitreg_register(&image, &ret->entry);
}

static void enter_at(struct jitreg_group *group, uint64_t base, uint64_t off, const char *name,
		     uint32_t flags, struct image *ret)
{
	assert_int_equal(try_enter(group, base, off, IMAGE_SIZE, name, flags, ret), 0);
	assert_int_equal(ret->moves, 1);
}

/* Two libraries side by side, and one away from them. */
#define SIDE_BY_SIDE 3
static const struct {
	const char *name;
	uint64_t off;
} layout[SIDE_BY_SIDE] = {{"self.so", 0x10000}, {"names.so", 0x19000}, {"link.so", 0x100000}};

struct world {
	struct jitreg_group *group;
	struct image images[SIDE_BY_SIDE];
};

/* None is described together with another. */
static void assert_apart(const struct image *images, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_non_null(images[i].info.symfile);
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(images[i].info.symfile, images[k].info.symfile);
	}
}

static void assert_together(const struct image *images, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(images[i].info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_non_null(images[i].info.symfile);
		assert_ptr_equal(images[i].info.symfile, images[0].info.symfile);
	}
}

/* Each has a pack of its own. */
static void world_enter(struct world *w, unsigned number)
{
	assert_int_equal(jitreg_group_create(BASE(number), &w->group), 0);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		enter_at(w->group, BASE(number), layout[i].off, layout[i].name, JITREG_LEAN, &w->images[i]);
		assert_int_equal(w->images[i].info.symfile_kind, JITREG_SYMFILE_PACK);
	}
	assert_apart(w->images, SIDE_BY_SIDE);
}

static void world_leave(struct world *w)
{
	jitreg_group_close(w->group);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++)
		jitreg_unregister(w->images[i].entry);
	jitreg_group_destroy(w->group);
}

static void world_join(struct world *w)
{
	assert_int_equal(jitreg_group_pack(w->group), 0);
	assert_together(w->images, SIDE_BY_SIDE);
}

/* Entered, and packed into one symfile that all images have. */
static void world_pack(struct world *w, unsigned number)
{
	world_enter(w, number);
	world_join(w);
}

static void assert_nothing_left(void)
{
	assert_int_equal(jitreg_count(), 0);
	assert_null(__jit_debug_descriptor.first_entry);
	assert_int_equal(jitreg_template_count(), 0);
}

static const Elf64_Shdr *section(const struct jitreg_info *info, const char *name)
{
	return jitreg_file_section(info->symfile, name);
}

/* Name of the companion that a symfile refers to, or NULL. */
static const char *companion_of(const struct jitreg_info *info)
{
	const Elf64_Shdr *link = section(info, ".gnu_debuglink");

	return link ? (const char *)info->symfile + link->sh_offset : NULL;
}

/* For children, where no assertion can help: 1 packed with a companion, 0 without, or -errno. */
static int pack_in_child(unsigned number)
{
	struct jitreg_group *group;
	struct image images[SIDE_BY_SIDE];
	int r = jitreg_group_create(BASE(number), &group);

	for (size_t i = 0; !r && i < SIDE_BY_SIDE; i++)
		r = try_enter(group, BASE(number), layout[i].off, IMAGE_SIZE, layout[i].name,
			      JITREG_LEAN, &images[i]);
	if (!r)
		r = jitreg_group_pack(group);
	if (r || !companion_of(&images[0].info))
		return r;
	return access(companion_of(&images[0].info), R_OK) ? -errno : 1;
}

/* Value of a name in a finished file: section's address, if relative, and value. */
static bool find_name(const uint8_t *bytes, bool relative, const char *name, unsigned *binding,
		      uint64_t *address)
{
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ((const Elf64_Ehdr *)bytes)->e_shoff);
	const Elf64_Shdr *symtab = jitreg_file_section(bytes, ".symtab");
	const Elf64_Sym *syms = (const Elf64_Sym *)(bytes + symtab->sh_offset);
	const char *strtab = (const char *)bytes + shdrs[symtab->sh_link].sh_offset;

	for (size_t i = 1; i < symtab->sh_size / sizeof(*syms); i++) {
		if (strcmp(strtab + syms[i].st_name, name) != 0)
			continue;
		*binding = ELF64_ST_BIND(syms[i].st_info);
		*address = syms[i].st_value + (relative ? shdrs[syms[i].st_shndx].sh_addr : 0);
		return true;
	}
	return false;
}

/* Link-time address of a function in a fixture. */
static uint64_t vaddr_of(const char *library, const char *name)
{
	uint64_t address = 0;
	unsigned binding;
	size_t size;
	uint8_t *bytes = util_read(util_path(library), &size);

	assert_true(find_name(bytes, false, name, &binding, &address));
	free(bytes);
	return address;
}

/* Link-time addresses of a fixture's .text; none has other code. */
static struct jitreg_run text_of(const char *library)
{
	struct jitreg_run text;
	const Elf64_Shdr *shdr;
	size_t size;
	uint8_t *bytes = util_read(util_path(library), &size);

	shdr = jitreg_file_section(bytes, ".text");
	assert_non_null(shdr);
	text = (struct jitreg_run){shdr->sh_addr, shdr->sh_addr + shdr->sh_size};
	free(bytes);
	return text;
}

/* --- packing --------------------------------------------------------------------------- */

static void register_lean_image_is_a_pack_of_its_own(void **state)
{
	struct world w;

	(void)state;
	world_enter(&w, 0);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		const struct jitreg_info *info = &w.images[i].info;
		const Elf64_Ehdr *ehdr = info->symfile;
		const Elf64_Phdr *phdr = (const Elf64_Phdr *)((const uint8_t *)ehdr + ehdr->e_phoff);

		assert_int_equal(ehdr->e_phnum, 1);
		assert_int_equal(phdr->p_vaddr, BASE(0) + layout[i].off);
		assert_int_equal(phdr->p_memsz, IMAGE_SIZE);
		assert_null(section(info, ".text.1"));
		assert_non_null(companion_of(info));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(companion_of(info),
						companion_of(&w.images[k].info));
	}
	world_leave(&w);
	assert_nothing_left();
}

static void register_lean_image_of_no_group_is_no_pack(void **state)
{
	struct image image;

	(void)state;
	enter_at(NULL, BASE(0), 0x10000, "self.so", JITREG_LEAN, &image);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_LEAN);
	assert_null(companion_of(&image.info));
	jitreg_unregister(image.entry);
	assert_nothing_left();
}

static void pack_single_image_stays_as_it_is(void **state)
{
	struct jitreg_group *group;
	struct image image;

	(void)state;
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "self.so", JITREG_LEAN, &image);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(jitreg_group_pack_if_known(group), 0);
	assert_int_equal(image.moves, 1);
	jitreg_unregister(image.entry);

	enter_at(group, BASE(0), 0x10000, "self.so", 0, &image);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_FULL);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_PACK);
	assert_int_equal(jitreg_count(), 1);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

static void list_images_that_waited_have_one_symfile(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(jitreg_group_create(BASE(0), &w.group), 0);
	assert_int_equal(jitreg_group_list(w.group), 0); // there are none
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		struct jitreg_info info;

		assert_int_equal(try_enter(w.group, BASE(0), layout[i].off, IMAGE_SIZE, layout[i].name,
					   JITREG_LEAN | JITREG_LATER, &w.images[i]), 0);
		jitreg_entry_get_info(w.images[i].entry, &info);
		assert_int_equal(w.images[i].moves, 0);
		assert_null(info.symfile);
	}
	assert_int_equal(jitreg_count(), 0);
	assert_int_equal(jitreg_group_pack(w.group), 0); // not its business
	assert_int_equal(jitreg_count(), 0);
	jitreg_unregister(w.images[2].entry); // debuggers never hear of it
	assert_int_equal(jitreg_group_list(w.group), 0);
	assert_int_equal(jitreg_count(), 1);
	assert_int_equal(w.images[2].moves, 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(w.images[i].moves, 1);
	assert_together(w.images, 2);
	assert_int_equal(jitreg_group_list(w.group), 0); // not again
	assert_int_equal(jitreg_count(), 1);
	jitreg_unregister(w.images[0].entry);
	jitreg_unregister(w.images[1].entry);
	jitreg_group_destroy(w.group);
	assert_nothing_left();
}

static void pack_images_have_one_symfile(void **state)
{
	struct world w;

	(void)state;
	events[0] = '\0';
	world_enter(&w, 0);
	assert_int_equal(jitreg_count(), 3);
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_int_equal(jitreg_count(), 1);
	for (size_t i = 0; i < 3; i++) {
		struct jitreg_info info;

		jitreg_entry_get_info(w.images[i].entry, &info);
		assert_int_equal(w.images[i].moves, 2);
		assert_memory_equal(&info, &w.images[i].info, sizeof(info));
		assert_ptr_equal(info.symfile, __jit_debug_descriptor.first_entry->symfile_addr);
		assert_int_equal(info.start, BASE(0) + layout[i].off);
		assert_int_equal(info.end, info.start + IMAGE_SIZE);
	}
	// what is known of the image is still its own
	assert_int_equal(w.images[0].info.debug_kind, JITREG_DEBUG_SELF);
	assert_int_equal(w.images[1].info.debug_kind, JITREG_DEBUG_NAMES);
	assert_string_equal(base_name(w.images[2].info.debug_path), "self.debug");
	world_leave(&w);
	assert_nothing_left();
}

static void pack_events_come_new_before_old(void **state)
{
	struct image more;
	struct world w;

	(void)state;
	SKIP_UNDER_TSAN();
	util_watch(on_stop);
	events[0] = '\0';
	world_enter(&w, 0);
	assert_events("self.so:pack +[self.so] names.so:pack +[names.so] link.so:pack +[link.so] ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack +[self.so names.so link.so] "
		      "-[link.so] -[names.so] -[self.so] ( ) ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("");

	enter_at(w.group, BASE(0), 0x200000, "tls.so", 0, &more);
	assert_events("tls.so:full +tls.so ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack tls.so:pack "
		      "+[self.so names.so link.so tls.so] -tls.so -[self.so names.so link.so] ( ) ");
	assert_int_equal(jitreg_count(), 1);

	// the old one goes first: both begin at the same address
	jitreg_unregister(w.images[0].entry);
	assert_events("-[self.so names.so link.so tls.so] ( ) names.so:pack link.so:pack tls.so:pack "
		      "+[names.so link.so tls.so] ");
	w.images[0].entry = NULL;
	jitreg_group_close(w.group);
	assert_events("tls.so:gone link.so:gone names.so:gone -[names.so link.so tls.so] ( ) ");
	jitreg_unregister(more.entry);
	world_leave(&w);
	assert_events("( ) "); // closed again
	util_watch_end();
	assert_nothing_left();
}

static void unregister_last_of_pack_removes_it(void **state)
{
	struct world w;

	(void)state;
	world_pack(&w, 0);
	jitreg_unregister(w.images[1].entry);
	assert_int_equal(jitreg_count(), 1);
	assert_ptr_equal(w.images[0].info.symfile, w.images[2].info.symfile);
	jitreg_unregister(w.images[0].entry);
	assert_int_equal(jitreg_count(), 1);
	assert_int_equal(w.images[2].info.symfile_kind, JITREG_SYMFILE_PACK);
	assert_null(section(&w.images[2].info, ".text.1"));
	jitreg_unregister(w.images[2].entry);
	jitreg_group_destroy(w.group);
	assert_nothing_left();
}

static void close_entries_remain_without_symfile(void **state)
{
	struct world w;

	(void)state;
	world_pack(&w, 0);
	jitreg_group_close(w.group);
	assert_int_equal(jitreg_count(), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_null(w.images[i].info.symfile);
		assert_int_equal(w.images[i].info.symfile_size, 0);
		assert_int_equal(w.images[i].moves, 3);
		assert_int_equal(w.images[i].info.start, BASE(0) + layout[i].off);
	}
	assert_int_equal(jitreg_group_pack(w.group), 0); // nothing that could be packed
	assert_int_equal(jitreg_count(), 0);
	world_leave(&w);
	assert_nothing_left();
}

static void pack_if_known_packs_what_another_group_has(void **state)
{
	struct world first, second;

	(void)state;
	world_enter(&first, 0);
	assert_int_equal(jitreg_group_pack_if_known(first.group), 0);
	assert_int_equal(jitreg_count(), 3); // nobody has such a pack
	assert_apart(first.images, SIDE_BY_SIDE);
	assert_int_equal(jitreg_group_pack(first.group), 0);
	world_enter(&second, 1);
	assert_int_equal(jitreg_count(), 4);
	assert_int_equal(jitreg_group_pack_if_known(second.group), 0);
	assert_int_equal(jitreg_count(), 2);
	assert_together(second.images, SIDE_BY_SIDE);
	assert_string_equal(companion_of(&second.images[0].info), companion_of(&first.images[0].info));
	world_leave(&first);
	world_leave(&second);
	assert_nothing_left();
}

static void pack_same_files_at_other_distances_is_another_pack(void **state)
{
	struct world first;
	struct image image[2];
	struct jitreg_group *group;

	(void)state;
	world_pack(&first, 0);
	assert_int_equal(jitreg_group_create(BASE(1), &group), 0);
	enter_at(group, BASE(1), 0x10000, "self.so", JITREG_LEAN, &image[0]);
	enter_at(group, BASE(1), 0x1a000, "names.so", JITREG_LEAN, &image[1]);
	assert_int_equal(jitreg_group_pack_if_known(group), 0);
	assert_apart(image, 2);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_together(image, 2);
	assert_string_not_equal(companion_of(&image[0].info), companion_of(&first.images[0].info));
	jitreg_unregister(image[0].entry);
	jitreg_unregister(image[1].entry);
	jitreg_group_destroy(group);
	world_leave(&first);
	assert_nothing_left();
}

static void pack_image_too_far_away_keeps_its_own(void **state)
{
	static const uint64_t limit = UINT64_C(1) << 32;
	struct jitreg_group *group;
	struct image image[4];

	(void)state;
	assert_int_equal(jitreg_group_create(BASE(4), &group), 0);
	enter_at(group, BASE(4), limit - IMAGE_SIZE, "self.so", JITREG_LEAN, &image[0]);
	enter_at(group, BASE(4), limit - IMAGE_SIZE + 0x1000, "link.so", JITREG_LEAN, &image[1]);
	enter_at(group, BASE(4), -limit, "names.so", JITREG_LEAN, &image[2]);
	enter_at(group, BASE(4), 0x10000, "tls.so", JITREG_LEAN, &image[3]);
	for (int packed = 0; packed < 2; packed++) {
		assert_int_equal(jitreg_count(), packed ? 3 : 4);
		assert_int_equal(image[0].info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_int_equal(image[1].info.symfile_kind, JITREG_SYMFILE_LEAN);
		assert_int_equal(image[2].info.symfile_kind, JITREG_SYMFILE_LEAN);
		assert_int_equal(image[3].info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_int_equal(image[0].info.symfile == image[3].info.symfile, packed);
		assert_int_equal(jitreg_group_pack(group), 0);
	}
	for (size_t i = 0; i < 4; i++)
		jitreg_unregister(image[i].entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

static void pack_writable_unwind_data_keeps_its_own(void **state)
{
	// its unwind data is read from memory
	void *memory = mmap(NULL, IMAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t base = (uintptr_t)memory - 0x10000;
	struct jitreg_group *group;
	struct image image;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(jitreg_group_create(base, &group), 0);
	enter_at(group, base, 0x10000, "live.so", JITREG_LEAN, &image);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_LEAN);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_LEAN);
	assert_int_equal(image.moves, 1);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	munmap(memory, IMAGE_SIZE);
	assert_nothing_left();
}

/* One library that lies does not keep the others from being packed. */
static void pack_unwind_data_of_elsewhere_is_left_out(void **state)
{
	struct image images[2];
	struct jitreg_group *group;
	const Elf64_Shdr *frames;
	int32_t far = INT32_MIN;
	uint32_t cie_size;
	uint8_t *bytes;
	size_t size;

	(void)state;
	bytes = util_read(util_path("self.so"), &size);
	frames = jitreg_file_section(bytes, ".eh_frame");
	memcpy(&cie_size, bytes + frames->sh_offset, 4);
	memcpy(bytes + frames->sh_offset + 4 + cie_size + 8, &far, sizeof(far)); // of the first function
	util_write(util_path("lies.so"), bytes, size);
	free(bytes);
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "lies.so", JITREG_LEAN, &images[0]);
	enter_at(group, BASE(0), 0x20000, "names.so", JITREG_LEAN, &images[1]);
	assert_apart(images, 2);
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_together(images, 2);
	assert_non_null(companion_of(&images[1].info));
	jitreg_unregister(images[0].entry);
	jitreg_unregister(images[1].entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

/* --- one of a pack with its DWARF --------------------------------------------------------- */

static void set_dwarf(const struct image *image, bool whole)
{
	const char *reason = "none";
	int r = jitreg_entry_set_dwarf(image->entry, whole, &reason);

	if (r)
		fail_msg("%s: %s: %s", image->name, strerror(-r), reason);
}

static void set_dwarf_image_leaves_its_pack_and_comes_back(void **state)
{
	struct world w;

	(void)state;
	SKIP_UNDER_TSAN();
	world_pack(&w, 0);
	util_watch(on_stop);
	events[0] = '\0';
	set_dwarf(&w.images[0], false); // it has none
	assert_events("");
	set_dwarf(&w.images[0], true);
	assert_events("self.so:full -[self.so names.so link.so] ( ) "
		      "names.so:pack link.so:pack +[names.so link.so] +self.so:dwarf ");
	assert_together(w.images + 1, 2);
	assert_int_equal(section(&w.images[1].info, ".text")->sh_addr,
			 BASE(0) + layout[1].off + sizeof(Elf64_Ehdr));
	assert_in_range(section(&w.images[0].info, ".debug_info")->sh_size, 100, 100000);
	assert_int_equal(jitreg_count(), 2);

	set_dwarf(&w.images[0], true);
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_int_equal(jitreg_group_pack_if_known(w.group), 0);
	assert_events("");

	set_dwarf(&w.images[0], false);
	assert_events("self.so:pack -self.so:dwarf ( ) +[self.so] ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack +[self.so names.so link.so] "
		      "-[names.so link.so] -[self.so] ( ) ");
	util_watch_end();
	assert_together(w.images, SIDE_BY_SIDE);
	world_leave(&w);
	assert_nothing_left();
}

/* What comes later is packed around it. */
static void pack_image_with_dwarf_is_left_alone(void **state)
{
	struct image more[2];
	struct world w;

	(void)state;
	SKIP_UNDER_TSAN();
	world_enter(&w, 0);
	enter_at(w.group, BASE(0), 0x200000, "self.so", 0, &more[0]);
	enter_at(w.group, BASE(0), 0x300000, "tls.so", JITREG_LEAN, &more[1]);
	util_watch(on_stop);
	events[0] = '\0';
	set_dwarf(&w.images[2], true); // alone until now
	assert_events("link.so:full -[link.so] ( ) +link.so:dwarf ");
	set_dwarf(&more[0], true); // was described in full
	assert_events("self.so:full -self.so ( ) +self.so:dwarf ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack tls.so:pack +[self.so names.so tls.so] "
		      "-[tls.so] -[names.so] -[self.so] ( ) ");
	set_dwarf(&more[0], false);
	assert_events("self.so:full -self.so:dwarf ( ) +self.so ");
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_events("self.so:pack names.so:pack self.so:pack tls.so:pack "
		      "+[self.so names.so self.so tls.so] -[self.so names.so tls.so] -self.so ( ) ");

	// both ways out
	jitreg_unregister(w.images[2].entry);
	assert_events("-link.so:dwarf ( ) ");
	w.images[2].entry = NULL;
	set_dwarf(&more[1], true);
	assert_events("tls.so:full -[self.so names.so self.so tls.so] ( ) "
		      "self.so:pack names.so:pack self.so:pack +[self.so names.so self.so] "
		      "+tls.so:dwarf ");
	jitreg_group_close(w.group);
	assert_events("tls.so:gone self.so:gone names.so:gone self.so:gone -[self.so names.so self.so] "
		      "-tls.so:dwarf ( ) ");
	util_watch_end();
	jitreg_unregister(more[0].entry);
	jitreg_unregister(more[1].entry);
	world_leave(&w);
	assert_nothing_left();
}

static void set_dwarf_that_is_missing_leaves_the_pack(void **state)
{
	const char *reason = NULL;
	struct world w;

	(void)state;
	world_pack(&w, 0);
	assert_int_equal(jitreg_entry_set_dwarf(w.images[1].entry, true, &reason), -ENODATA);
	assert_non_null(reason);
	assert_int_equal(jitreg_count(), 1);
	assert_together(w.images, SIDE_BY_SIDE);
	assert_int_equal(w.images[1].moves, 2);

	jitreg_group_close(w.group);
	assert_int_equal(jitreg_entry_set_dwarf(w.images[0].entry, true, &reason), -ENODATA);
	assert_string_equal(reason, "debuggers know nothing of the object now");
	world_leave(&w);
	assert_nothing_left();
}

/* --- what is in it ---------------------------------------------------------------------- */

static void pack_symfile_has_stretches_names_and_a_reference(void **state)
{
	static const char *const names[] = {".text", ".text.1", ".text", ".text.1", ".text.2",
					    ".eh_frame", ".strtab", ".symtab", ".gnu_debuglink",
					    ".debug_info", ".shstrtab"};
	struct world w[2];

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		const uint64_t start = BASE(n) + 0x10000, next = BASE(n) + 0x100000;
		const uint64_t header = sizeof(Elf64_Ehdr); // not where packs of one begin
		const uint8_t *bytes;
		const Elf64_Ehdr *ehdr;
		const Elf64_Shdr *shdrs;
		const Elf64_Phdr *phdrs;
		uint64_t address;
		unsigned binding;

		world_pack(&w[n], n);
		bytes = w[n].images[0].info.symfile;
		ehdr = (const Elf64_Ehdr *)bytes;
		shdrs = (const Elf64_Shdr *)(bytes + ehdr->e_shoff);
		phdrs = (const Elf64_Phdr *)(bytes + ehdr->e_phoff);
		assert_int_equal(ehdr->e_type, ET_REL);
		assert_int_equal(ehdr->e_shnum, 12);
		for (size_t i = 0; i < 11; i++)
			assert_string_equal((const char *)bytes + shdrs[ehdr->e_shstrndx].sh_offset +
						    shdrs[i + 1].sh_name, names[i]);
		// what names count from, for lldb
		assert_int_equal(shdrs[1].sh_type, SHT_NULL);
		assert_int_equal(shdrs[1].sh_addr, start + header);
		assert_int_equal(shdrs[2].sh_type, SHT_NULL);
		assert_int_equal(shdrs[2].sh_addr, next + header);
		// the code of each library, for gdb
		for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
			struct jitreg_run text = text_of(layout[i].name);

			assert_int_equal(shdrs[3 + i].sh_type, SHT_NOBITS);
			assert_int_equal(shdrs[3 + i].sh_flags, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS);
			assert_int_equal(shdrs[3 + i].sh_addr, BASE(n) + layout[i].off + text.start);
			assert_int_equal(shdrs[3 + i].sh_size, text.end - text.start);
		}
		// all addresses, for lldb; self.so and names.so are side by side
		assert_int_equal(ehdr->e_phnum, 2);
		assert_int_equal(phdrs[0].p_vaddr, start + header);
		assert_int_equal(phdrs[0].p_memsz, 0x19000 - 0x10000 + IMAGE_SIZE - header);
		assert_int_equal(phdrs[1].p_vaddr, next + header);
		assert_int_equal(phdrs[1].p_memsz, IMAGE_SIZE - header);
		assert_int_equal(shdrs[6].sh_type, SHT_NULL);
		assert_int_equal(shdrs[6].sh_addr, next + IMAGE_SIZE);
		for (size_t i = 6; i <= 11; i++)
			assert_true(shdrs[i].sh_offset + shdrs[i].sh_size <=
				    w[n].images[0].info.symfile_size);
		assert_int_equal(shdrs[10].sh_size, 16);

		assert_true(find_name(bytes, true, "snake_leaf", &binding, &address));
		assert_int_equal(binding, STB_LOPROC);
		assert_int_equal(address, start + vaddr_of("self.so", "snake_leaf"));
		// not exported
		assert_false(find_name(bytes, true, "snake_static", &binding, &address));
	}
	// what is common is at different distances and the same
	assert_string_equal(companion_of(&w[0].images[0].info), companion_of(&w[1].images[0].info));
	world_leave(&w[0]);
	world_leave(&w[1]);
	assert_nothing_left();
}

static void pack_companion_has_functions_and_unwind_data(void **state)
{
	static const char *const texts[SIDE_BY_SIDE] = {".text", ".text.1", ".text.2"};
	const Elf64_Shdr *link, *symtab, *frames, *text;
	const Elf64_Sym *syms;
	uint64_t address;
	unsigned binding;
	uint32_t crc;
	struct world w;
	uint8_t *bytes;
	size_t size;
	struct stat st;

	(void)state;
	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_int_equal(stat(companion_of(&w.images[0].info), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	bytes = util_read(companion_of(&w.images[0].info), &size);
	link = section(&w.images[0].info, ".gnu_debuglink");
	memcpy(&crc, (const uint8_t *)w.images[0].info.symfile + link->sh_offset + link->sh_size - 4, 4);
	assert_int_equal(crc, util_crc32(bytes, size));

	assert_int_equal(((const Elf64_Ehdr *)bytes)->e_type, ET_DYN);
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		struct jitreg_run want = text_of(layout[i].name);

		text = jitreg_file_section(bytes, texts[i]);
		assert_non_null(text);
		assert_int_equal(text->sh_type, SHT_NOBITS);
		assert_int_equal(text->sh_flags, SHF_ALLOC | SHF_EXECINSTR);
		assert_int_equal(text->sh_addr, layout[i].off + want.start);
		assert_int_equal(text->sh_size, want.end - want.start);
	}
	frames = jitreg_file_section(bytes, ".debug_frame");
	assert_non_null(frames);
	assert_in_range(frames->sh_size, 100, 100000);
	symtab = jitreg_file_section(bytes, ".symtab");
	syms = (const Elf64_Sym *)(bytes + symtab->sh_offset);
	assert_in_range(symtab->sh_size / sizeof(*syms), 4, 1000);
	for (size_t i = 1; i < symtab->sh_size / sizeof(*syms); i++)
		assert_int_equal(syms[i].st_info, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	assert_true(find_name(bytes, false, "snake_leaf", &binding, &address));
	assert_int_equal(address, 0x10000 + vaddr_of("self.so", "snake_leaf"));
	free(bytes);
	world_leave(&w);
	assert_nothing_left();
}

/* gdb is to take .plt from another object file; code behind .text belongs to it. */
static void pack_code_is_from_text_on_without_plt(void **state)
{
	static const char source[] = "void elsewhere(void);\n"
				     "void calls_elsewhere(void);\n"
				     "void calls_elsewhere(void) { elsewhere(); }\n"
				     "__attribute__((section(\".text_behind\"))) void behind(void);\n"
				     "void behind(void) { elsewhere(); }\n";
	const Elf64_Shdr *plt, *text, *behind, *got;
	struct jitreg_group *group;
	struct image image;
	uint8_t *file, *companion;
	size_t size;

	(void)state;
	util_write(util_path("plt.c"), source, sizeof(source) - 1);
	assert_int_equal(util_run("gcc -fPIC -shared -nostdlib -Wl,-z,lazy plt.c -o plt.so"), 0);
	file = util_read(util_path("plt.so"), &size);
	plt = jitreg_file_section(file, ".plt");
	text = jitreg_file_section(file, ".text");
	behind = jitreg_file_section(file, ".text_behind");
	assert_non_null(plt);
	assert_true(plt->sh_addr < text->sh_addr);
	assert_true(text->sh_addr < behind->sh_addr);

	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_at(group, BASE(0), 0x10000, "plt.so", JITREG_LEAN, &image);
	got = (const Elf64_Shdr *)((const uint8_t *)image.info.symfile +
				   ((const Elf64_Ehdr *)image.info.symfile)->e_shoff) + 2;
	assert_int_equal(got->sh_flags, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS);
	assert_int_equal(got->sh_addr, BASE(0) + 0x10000 + text->sh_addr);
	assert_int_equal(got->sh_size, behind->sh_addr + behind->sh_size - text->sh_addr);
	companion = util_read(companion_of(&image.info), &size);
	got = jitreg_file_section(companion, ".text");
	assert_int_equal(got->sh_addr, 0x10000 + text->sh_addr);
	assert_int_equal(got->sh_size, behind->sh_addr + behind->sh_size - text->sh_addr);
	free(companion);
	free(file);
	jitreg_unregister(image.entry);
	jitreg_group_destroy(group);
	assert_nothing_left();
}

/* Functions f1, f2 ... that are exported, and one that is not. */
static void build_many_names(const char *name, unsigned count)
{
	assert_int_equal(util_run("{ echo 'static __attribute__((used)) void hidden(void) {}'; "
				  "for i in $(seq %u); do echo \"void f$i(void) {}\"; done; } > many.c && "
				  "gcc -fPIC -shared -nostdlib many.c -o %s", count, name), 0);
}

static void enter_large(struct jitreg_group *group, uint64_t off, const char *name,
			struct image *ret)
{
	assert_int_equal(try_enter(group, BASE(0), off, LARGE_SIZE, name, JITREG_LEAN, ret), 0);
	assert_int_equal(ret->info.symfile_kind, JITREG_SYMFILE_PACK);
}

static size_t name_count(const struct jitreg_info *info)
{
	return section(info, ".symtab")->sh_size / sizeof(Elf64_Sym) - 1;
}

static bool has_name(const uint8_t *bytes, const char *name)
{
	uint64_t address;
	unsigned binding;

	return find_name(bytes, false, name, &binding, &address);
}

/* 4,096 names of all libraries together, those with few first. */
static void pack_names_of_large_libraries_are_for_gdb_only(void **state)
{
	static const unsigned counts[] = {4096 - 3, 4096 - 2, 4096 + 1}; // self.so has three
	struct jitreg_group *group;
	struct image images[2];
	uint8_t *companion;
	char last[16];
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		unsigned count = counts[i];

		build_many_names("many.so", count);
		assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
		enter_large(group, 0x10000, "many.so", &images[0]);
		enter_large(group, 0x10000 + LARGE_SIZE, "self.so", &images[1]);
		assert_int_equal(name_count(&images[0].info), count); // alone it has all
		assert_int_equal(name_count(&images[1].info), 3);
		assert_int_equal(jitreg_group_pack(group), 0);
		assert_together(images, 2);
		assert_int_equal(name_count(&images[0].info), i ? 3 : 4096);
		assert_true(has_name(images[0].info.symfile, "snake_leaf"));

		snprintf(last, sizeof(last), "f%u", count);
		companion = util_read(companion_of(&images[0].info), &size);
		assert_true(has_name(companion, "snake_leaf"));
		assert_true(has_name(companion, "f1"));
		assert_true(has_name(companion, last));
		assert_true(has_name(companion, "hidden"));
		free(companion);
		jitreg_unregister(images[0].entry);
		jitreg_unregister(images[1].entry);
		jitreg_group_destroy(group);
		assert_nothing_left();
	}
}

/* --- the folder --------------------------------------------------------------------------- */

/* Of a world that is packed: of each image alone, and of all. */
#define WORLD_COMPANIONS (SIDE_BY_SIDE + 1)

static size_t count_companions(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

/* A cache of a case's own. Returns the folder for companions, which is not there. */
static const char *use_cache(const char *name)
{
	static char folder[300];

	assert_int_equal(util_run("rm -rf %s", name), 0);
	setenv("XDG_CACHE_HOME", util_path(name), 1);
	snprintf(folder, sizeof(folder), "%s/gorgon", util_path(name));
	return folder;
}

/* All by itself: what is else in the companion is there for both debuggers. */
static void check_without_companion(const struct world *w)
{
	const struct jitreg_info *info = &w->images[0].info;
	uint64_t address;
	unsigned binding;

	assert_null(companion_of(info));
	assert_null(section(info, ".debug_info"));
	assert_int_equal(((const Elf64_Ehdr *)info->symfile)->e_phnum, 0);
	assert_int_equal(((const Elf64_Ehdr *)info->symfile)->e_shnum, 7);
	assert_int_equal(section(info, ".text")->sh_type, SHT_NOBITS);
	assert_int_equal(section(info, ".text")->sh_flags, SHF_ALLOC | SHF_EXECINSTR);
	assert_int_equal(section(info, ".text")->sh_addr, BASE(0) + 0x10000 + sizeof(Elf64_Ehdr));
	assert_int_equal(section(info, ".eh_frame")->sh_type, SHT_PROGBITS);
	assert_int_equal(section(info, ".eh_frame")->sh_addr, BASE(0) + 0x100000 + IMAGE_SIZE);
	assert_true(find_name(info->symfile, true, "snake_leaf", &binding, &address));
	assert_int_equal(binding, STB_GLOBAL);
	assert_int_equal(address, BASE(0) + 0x10000 + vaddr_of("self.so", "snake_leaf"));
}

static void check_pack_without_companion(void)
{
	struct world w;

	world_pack(&w, 0);
	check_without_companion(&w);
	world_leave(&w);
	assert_nothing_left();
}

static void check_pack_with_companion(const char *folder)
{
	struct world w;

	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_memory_equal(companion_of(&w.images[0].info), folder, strlen(folder));
	world_leave(&w);
}

static void pack_no_cache_folder_does_without(void **state)
{
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	char folder[300];

	(void)state;
	strcpy(folder, util_path("home/.cache/gorgon"));
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	check_pack_without_companion();
	setenv("XDG_CACHE_HOME", "relative", 1);
	check_pack_without_companion();
	setenv("HOME", "home", 1);
	check_pack_without_companion();
	setenv("HOME", util_path("missing"), 1); // nobody makes homes
	check_pack_without_companion();
	assert_int_equal(util_run("mkdir -p home"), 0);
	setenv("HOME", util_path("home"), 1);
	check_pack_with_companion(folder);
	if (home)
		setenv("HOME", home, 1);
	free(home);
}

static void pack_folder_of_others_is_not_used(void **state)
{
	const char *folder = use_cache("suspect");

	(void)state;
	check_pack_with_companion(folder); // which makes both folders
	assert_int_equal(util_run("test \"$(echo $(stat -c %%a suspect suspect/gorgon))\" = '700 700'"), 0);
	assert_int_equal(chmod(folder, 0770), 0);
	check_pack_without_companion();
	assert_int_equal(chmod(folder, 0702), 0);
	check_pack_without_companion();
	assert_int_equal(chmod(folder, 0755), 0);
	check_pack_with_companion(folder);
	if (!geteuid()) {
		assert_int_equal(chown(folder, 1, 1), 0);
		check_pack_without_companion();
		assert_int_equal(chown(folder, 0, 0), 0);
	}
	assert_int_equal(util_run("mv suspect/gorgon suspect/other && ln -s other suspect/gorgon"), 0);
	check_pack_without_companion();
	assert_int_equal(util_run("rm suspect/gorgon && touch suspect/gorgon"), 0);
	check_pack_without_companion();
}

static void pack_limit_of_file_sizes_does_without(void **state)
{
	const char *folder = use_cache("limited");
	struct rlimit limit, low;
	struct world w;

	(void)state;
	world_enter(&w, 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = limit;
	low.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(jitreg_group_pack(w.group), -EFBIG); // and no signal
	assert_int_equal(jitreg_count(), 3);
	assert_apart(w.images, SIDE_BY_SIDE);
	assert_int_equal(count_companions(folder), SIDE_BY_SIDE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(jitreg_group_pack(w.group), 0);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	world_leave(&w);
	assert_nothing_left();
}

/* Run a case in a child, whose mounts are its own. */
static void run_with_mount(const char *options, unsigned long flags)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		static const char page[4096];
		const char *cache = getenv("XDG_CACHE_HOME");

		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", cache, "tmpfs", flags, options))
			_exit(77);
		if (!(flags & MS_RDONLY)) // all that there is room for
			util_write(util_path("mounted/full"), page, sizeof(page));
		_exit(-pack_in_child(0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void pack_read_only_or_full_file_system_does_without(void **state)
{
	(void)state;
	SKIP_UNDER_TSAN();
	if (geteuid())
		skip();
	use_cache("mounted");
	assert_int_equal(util_run("mkdir mounted"), 0);
	run_with_mount("", MS_RDONLY);
	run_with_mount("size=4k", 0);
}

static void pack_something_else_by_the_name_is_left_alone(void **state)
{
	static const char *const others[] = {
		": > %s", "echo text > %s", "mkdir %s", "mkfifo %s", "ln -s missing %s",
		"head -c 300 old > %s", "sed s/companion/companiom/ old > %s"};
	const char *folder = use_cache("foreign");
	char name[300];
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(name, companion_of(&w.images[0].info));
	world_leave(&w);
	assert_string_equal(name + strlen(name) - strlen("-0.debug"), "-0.debug");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		char command[400];

		assert_int_equal(util_run("mv %s old; rm -rf %s/*", name, folder), 0);
		snprintf(command, sizeof(command), others[i], name);
		assert_int_equal(util_run("%s", command), 0);
		world_pack(&w, 0);
		assert_string_equal(companion_of(&w.images[0].info) + strlen(name) - strlen("-0.debug"),
				    "-1.debug");
		assert_int_equal(count_companions(folder), WORLD_COMPANIONS + 1);
		world_leave(&w);
		assert_int_equal(util_run("rm -rf %s; mv old %s", name, name), 0);
	}
	// all names taken
	assert_int_equal(util_run("rm -f %s/*; for i in 0 1 2 3 4 5 6 7; do echo > %.*s$i.debug; done",
				  folder, (int)(strlen(name) - strlen("0.debug")), name), 0);
	check_pack_without_companion();
	assert_int_equal(count_companions(folder), 8 + SIDE_BY_SIDE);
}

static void pack_again_takes_the_file_that_is_there(void **state)
{
	const char *folder = use_cache("again");
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char name[300];
	struct stat before, after;
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(name, companion_of(&w.images[0].info));
	world_leave(&w);
	assert_int_equal(utimensat(AT_FDCWD, name, old, 0), 0);
	assert_int_equal(stat(name, &before), 0);
	world_pack(&w, 3);
	assert_string_equal(companion_of(&w.images[0].info), name);
	assert_int_equal(stat(name, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_true(after.st_mtim.tv_sec > before.st_mtim.tv_sec); // not the oldest any more
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	world_leave(&w);
}

static char removed[300];

static void remove_file(void)
{
	unlink(removed);
}

static void pack_file_removed_before_it_is_locked_is_made_again(void **state)
{
	const char *folder = use_cache("removed");
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(removed, companion_of(&w.images[0].info));
	world_leave(&w);
	world_enter(&w, 0);
	before_lock = remove_file;
	world_join(&w);
	assert_null(before_lock);
	assert_string_equal(companion_of(&w.images[0].info), removed);
	assert_int_equal(access(removed, R_OK), 0);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	world_leave(&w);
}

static ino_t others_inode;

/* The same contents; there is one other file in the folder, the temporary one. */
static void write_same(const char *path)
{
	struct stat st;

	assert_int_equal(util_run("cp $XDG_CACHE_HOME/gorgon/new-*.debug %s", path), 0);
	assert_int_equal(stat(path, &st), 0);
	others_inode = st.st_ino;
}

static void move_back(const char *path)
{
	assert_int_equal(util_run("mv same %s", path), 0);
}

static void pack_file_that_comes_while_it_is_looked_for_is_taken(void **state)
{
	const char *folder = use_cache("comes");
	char name[300];
	struct world w;

	(void)state;
	world_pack(&w, 0);
	strcpy(name, companion_of(&w.images[0].info));
	world_leave(&w);
	assert_int_equal(util_run("mv %s same", name), 0);
	world_enter(&w, 0);
	after_missing = move_back;
	world_join(&w);
	assert_null(after_missing);
	assert_string_equal(companion_of(&w.images[0].info), name);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	world_leave(&w);
	assert_nothing_left();
}

static void write_other(const char *path)
{
	util_write(path, "other", 5);
}

static void pack_file_written_by_another_meanwhile_stays(void **state)
{
	const char *folder = use_cache("meanwhile");
	struct stat st;
	struct world w;

	(void)state;
	world_enter(&w, 0);
	before_link = write_same;
	world_join(&w);
	assert_int_equal(stat(companion_of(&w.images[0].info), &st), 0);
	assert_int_equal(st.st_ino, others_inode);
	assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
	world_leave(&w);
	world_enter(&w, 0);
	assert_int_equal(util_run("rm %s/*", folder), 0);
	before_link = write_other;
	world_join(&w);
	check_without_companion(&w);
	assert_int_equal(count_companions(folder), 1); // the other's
	world_leave(&w);
	assert_nothing_left();
}

static void pack_changed_library_has_another_companion(void **state)
{
	const char *folder = use_cache("changed");
	struct jitreg_group *group;
	struct image image;
	char name[300];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(util_run("cp %s changing.so.new && mv changing.so.new changing.so",
					  i ? "tls.so" : "self.so"), 0);
		assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
		enter_at(group, BASE(0), 0x10000, "changing.so", JITREG_LEAN, &image);
		assert_non_null(companion_of(&image.info));
		if (i)
			assert_string_not_equal(companion_of(&image.info), name);
		strcpy(name, companion_of(&image.info));
		jitreg_unregister(image.entry);
		jitreg_group_destroy(group);
	}
	assert_int_equal(count_companions(folder), 2);
}

static void pack_processes_at_once_make_one_file(void **state)
{
	const char *folder = use_cache("race");
	pid_t pids[8];
	int start[2], status;

	(void)state;
	SKIP_UNDER_TSAN();
	for (int round = 0; round < 5; round++) {
		assert_int_equal(pipe(start), 0);
		for (size_t i = 0; i < 8; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				char byte;

				close(start[1]);
				_exit(read(start[0], &byte, 1) != 0 || pack_in_child((unsigned)i) != 1);
			}
		}
		close(start[1]); // go
		for (size_t i = 0; i < 8; i++) {
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}
		close(start[0]);
		assert_int_equal(count_companions(folder), WORLD_COMPANIONS);
		assert_int_equal(util_run("rm -f %s/*", folder), 0);
	}
}

static void pack_many_companions_removes_the_oldest_unused(void **state)
{
	const char *folder = use_cache("many");
	char name[400];
	struct world w;
	int locked;

	(void)state;
	assert_int_equal(util_run("mkdir -p %s && cd %s && echo > notes && for i in $(seq 100 361); do "
				  "echo > $i.debug && touch -d @$i $i.debug; done", folder, folder), 0);
	snprintf(name, sizeof(name), "%s/100.debug", folder);
	locked = open(name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(locked, LOCK_SH), 0);
	world_pack(&w, 0);
	assert_non_null(companion_of(&w.images[0].info));
	assert_int_equal(count_companions(folder), 256 + 1);
	assert_int_equal(util_run("cd %s && test -f notes && test -f 100.debug && ! test -e 101.debug "
				  "&& ! test -e 110.debug && test -f 111.debug && test -f 361.debug",
				  folder), 0);
	world_leave(&w);

	// one in use is as good as locked
	world_pack(&w, 0);
	assert_int_equal(util_run("touch -d @1 %s", companion_of(&w.images[0].info)), 0);
	{
		struct jitreg_group *group;
		struct image image;

		assert_int_equal(jitreg_group_create(BASE(1), &group), 0);
		enter_at(group, BASE(1), 0x10000, "tls.so", JITREG_LEAN, &image);
		assert_non_null(companion_of(&image.info));
		jitreg_unregister(image.entry);
		jitreg_group_destroy(group);
	}
	assert_int_equal(access(companion_of(&w.images[0].info), R_OK), 0);
	assert_int_equal(count_companions(folder), 256 + 1);
	close(locked);
	world_leave(&w);
	assert_nothing_left();
}

/* --- a debugger is attached ------------------------------------------------------------------ */

/* A child that traces this process until it is killed, and lets all signals through. */
static pid_t start_tracer(void)
{
	pid_t parent = getpid(), pid;
	int ready[2], status;
	char byte = 0;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		byte = !ptrace(PTRACE_SEIZE, parent, NULL, NULL);
		if (write(ready[1], &byte, 1) != 1 || !byte)
			_exit(1);
		while (waitpid(parent, &status, __WALL) == parent && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, parent, NULL, WSTOPSIG(status));
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		byte = 0;
	close(ready[0]);
	if (!byte)
		waitpid(pid, &status, 0);
	return byte ? pid : 0;
}

static void stop_tracer(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* What debuggers have work with is done seldom. */
#define TRACED_MIN 8

static void enter_eight(struct jitreg_group *group, uint64_t base, uint64_t off, struct image *ret)
{
	static const char *const names[TRACED_MIN] = {"self.so", "names.so", "link.so", "tls.so",
						      "tls.so", "link.so", "names.so", "self.so"};

	for (size_t i = 0; i < TRACED_MIN; i++)
		enter_at(group, base, off + i * 0x10000, names[i], JITREG_LEAN, &ret[i]);
}

static void leave_all(struct jitreg_group *group, struct image *images, size_t count)
{
	jitreg_group_close(group);
	for (size_t i = 0; i < count; i++)
		jitreg_unregister(images[i].entry);
	jitreg_group_destroy(group);
}

static void pack_traced_keeps_the_packs_that_are_there(void **state)
{
	struct jitreg_group *group, *other;
	struct image images[2 * TRACED_MIN], others[TRACED_MIN], last;
	pid_t tracer;

	(void)state;
	SKIP_UNDER_TSAN();
	assert_int_equal(jitreg_group_create(BASE(1), &other), 0);
	enter_eight(other, BASE(1), 0x10000, others);
	assert_int_equal(jitreg_group_pack(other), 0);
	assert_together(others, TRACED_MIN);
	assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
	enter_eight(group, BASE(0), 0x10000, images);
	tracer = start_tracer();
	if (!tracer) {
		leave_all(group, images, TRACED_MIN);
		leave_all(other, others, TRACED_MIN);
		print_message("ptrace is not permitted here\n");
		skip();
	}
	util_watch(on_stop);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack_if_known(group), 0);
	assert_events(""); // it is known, but debuggers would have work with it
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack tls.so:pack "
		      "tls.so:pack link.so:pack names.so:pack self.so:pack "
		      "+[self.so names.so link.so tls.so tls.so link.so names.so self.so] "
		      "-[self.so] -[names.so] -[link.so] -[tls.so] "
		      "-[tls.so] -[link.so] -[names.so] -[self.so] ( ) ");
	enter_eight(group, BASE(0), 0x200000, images + TRACED_MIN);
	jitreg_unregister(images[2 * TRACED_MIN - 1].entry);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events(""); // seven
	enter_at(group, BASE(0), 0x400000, "self.so", 0, &images[2 * TRACED_MIN - 1]);
	assert_events("self.so:full +self.so ");
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("self.so:pack names.so:pack link.so:pack tls.so:pack "
		      "tls.so:pack link.so:pack names.so:pack self.so:pack "
		      "+[self.so names.so link.so tls.so tls.so link.so names.so self.so] "
		      "-self.so -[names.so] -[link.so] -[tls.so] "
		      "-[tls.so] -[link.so] -[names.so] -[self.so] ( ) ");
	assert_together(images, TRACED_MIN);
	assert_together(images + TRACED_MIN, TRACED_MIN);
	enter_at(group, BASE(0), 0x500000, "tls.so", JITREG_LEAN, &last);
	events[0] = '\0';
	assert_int_equal(jitreg_group_pack(group), 0);
	assert_events("");
	util_watch_end();
	assert_int_equal(jitreg_count(), 4);

	stop_tracer(tracer);
	assert_int_equal(jitreg_group_pack(group), 0); // nobody is disturbed by one for all
	assert_together(images, 2 * TRACED_MIN);
	assert_ptr_equal(last.info.symfile, images[0].info.symfile);
	assert_int_equal(jitreg_count(), 2);
	jitreg_unregister(last.entry);
	leave_all(group, images, 2 * TRACED_MIN);
	leave_all(other, others, TRACED_MIN);
	assert_nothing_left();
}

/* --- no memory ------------------------------------------------------------------------------- */

/* Packed or as before, never in between. */
static void check_consistent(const struct world *w, int r)
{
	for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
		struct jitreg_info info;

		jitreg_entry_get_info(w->images[i].entry, &info);
		assert_memory_equal(&info, &w->images[i].info, sizeof(info));
		assert_int_equal(info.symfile_kind, JITREG_SYMFILE_PACK);
		assert_int_equal(w->images[i].moves, r ? 1 : 2);
	}
	if (r)
		assert_apart(w->images, SIDE_BY_SIDE);
	else
		assert_together(w->images, SIDE_BY_SIDE);
	assert_int_equal(jitreg_count(), r ? 3 : 1);
}

/* Refused; or described by itself, if not as a pack with a companion. */
static void register_lean_any_call_failing_does_with_less(void **state)
{
	const char *folder = use_cache("nomem0");
	long at, refused = 0, lean = 0, without = 0;
	struct jitreg_group *group;

	(void)state;
	check_pack_with_companion(folder); // what stays: libdwarf
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count(), bytes = util_symfile_bytes();
		struct image image;
		int r;

		assert_int_equal(util_run("rm -f %s/*", folder), 0);
		assert_int_equal(jitreg_group_create(BASE(0), &group), 0);
		call_count = 0;
		fail_at = at;
		r = try_enter(group, BASE(0), 0x10000, IMAGE_SIZE, "self.so", JITREG_LEAN, &image);
		fail_at = 0;
		assert_int_equal(image.moves, !r);
		assert_int_equal(jitreg_count(), !r);
		refused += r != 0;
		if (!r && image.info.symfile_kind == JITREG_SYMFILE_LEAN)
			lean++;
		else if (!r) {
			assert_int_equal(image.info.symfile_kind, JITREG_SYMFILE_PACK);
			without += !companion_of(&image.info);
		}
		if (!r)
			jitreg_unregister(image.entry);
		jitreg_group_destroy(group);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		assert_int_equal(util_symfile_bytes(), bytes);
		if (call_count < at)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(refused, 10, 1000);
	assert_in_range(lean, 10, 1000);
	assert_in_range(without, 10, 1000);
}

static void pack_any_call_failing_leaves_all_as_before(void **state)
{
	const char *folder = use_cache("nomem");
	long at, refused = 0, without = 0;

	(void)state;
	check_pack_with_companion(folder); // what stays: libdwarf
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count(), bytes = util_symfile_bytes();
		struct world w;
		int r;

		assert_int_equal(util_run("rm -f %s/*", folder), 0);
		world_enter(&w, 0);
		call_count = 0;
		fail_at = at;
		r = jitreg_group_pack(w.group);
		fail_at = 0;
		check_consistent(&w, r);
		refused += r != 0;
		without += !r && !companion_of(&w.images[0].info);
		assert_in_range(count_companions(folder), SIDE_BY_SIDE, WORLD_COMPANIONS);
		world_leave(&w);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		assert_int_equal(util_symfile_bytes(), bytes);
		if (call_count < at)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(refused, 10, 1000);
	assert_in_range(without, 10, 1000);
}

static void unregister_any_call_failing_forgets_the_rest_at_most(void **state)
{
	long at, forgotten = 0;

	(void)state;
	use_cache("nomem2");
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count();
		struct world w;

		world_pack(&w, 0);
		call_count = 0;
		fail_at = at;
		jitreg_unregister(w.images[1].entry);
		fail_at = 0;
		w.images[1].entry = NULL;
		assert_ptr_equal(w.images[0].info.symfile, w.images[2].info.symfile);
		assert_int_equal(jitreg_count(), w.images[0].info.symfile ? 1 : 0);
		forgotten += !w.images[0].info.symfile;
		world_leave(&w);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		if (call_count < at)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(forgotten, 5, 1000);
}

/* The image has its DWARF or is where it was; the others are together, or forgotten. */
static void set_dwarf_any_call_failing_forgets_the_others_at_most(void **state)
{
	long at, refused = 0, forgotten = 0;
	struct world w;

	(void)state;
	use_cache("nomem3");
	for (at = 1; at < 4000; at++) {
		size_t fds = util_fd_count();
		const char *reason = NULL;
		int r;

		world_pack(&w, 0);
		call_count = 0;
		fail_at = at;
		r = jitreg_entry_set_dwarf(w.images[0].entry, true, &reason);
		fail_at = 0;
		if (r) {
			assert_non_null(reason);
			assert_together(w.images, SIDE_BY_SIDE);
			assert_int_equal(w.images[0].moves, 2);
			assert_int_equal(jitreg_count(), 1);
			refused++;
		} else {
			assert_int_equal(w.images[0].info.symfile_kind, JITREG_SYMFILE_FULL);
			assert_ptr_equal(w.images[1].info.symfile, w.images[2].info.symfile);
			assert_int_equal(jitreg_count(), w.images[1].info.symfile ? 2 : 1);
			forgotten += !w.images[1].info.symfile;
		}
		world_leave(&w);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		if (call_count < at)
			break;
	}
	assert_true(at < 4000);
	assert_in_range(refused, 10, 4000);
	assert_in_range(forgotten, 5, 1000);
}

/* And back: without memory for a pack of its own it is lean, until it is packed with others. */
static void set_dwarf_away_any_call_failing_describes_it_still(void **state)
{
	long at, lean = 0;
	struct world w;

	(void)state;
	use_cache("nomem4");
	for (at = 1; at < 2000; at++) {
		size_t fds = util_fd_count();
		const char *reason = NULL;
		int r;

		world_pack(&w, 0);
		set_dwarf(&w.images[0], true);
		call_count = 0;
		fail_at = at;
		r = jitreg_entry_set_dwarf(w.images[0].entry, false, &reason);
		fail_at = 0;
		assert_int_equal(r, 0);
		assert_non_null(w.images[0].info.symfile);
		assert_int_equal(w.images[0].moves, 4);
		assert_int_not_equal(w.images[0].info.symfile_kind, JITREG_SYMFILE_FULL);
		lean += w.images[0].info.symfile_kind == JITREG_SYMFILE_LEAN;
		assert_together(w.images + 1, 2);
		assert_int_equal(jitreg_count(), 2);
		world_join(&w);
		world_leave(&w);
		assert_nothing_left();
		assert_int_equal(util_fd_count(), fds);
		if (call_count < at)
			break;
	}
	assert_true(at < 2000);
	assert_in_range(lean, 5, 1000);
}

/* --- threads --------------------------------------------------------------------------------- */

static void *pack_repeatedly(void *arg)
{
	unsigned number = *(const unsigned *)arg;

	for (int i = 0; i < REPEATS; i++) {
		struct jitreg_group *group;
		struct jitreg_entry *entries[2];
		static const char *const names[] = {"self.so", "names.so"};

		if (jitreg_group_create(BASE(number), &group))
			return "no group";
		for (unsigned k = 0; k < 2; k++) {
			char path[256];
			struct jitreg_image image = {
				.size = sizeof(image),
				.path = path,
				.fd = -1,
				.flags = JITREG_LEAN,
				.bias = BASE(number) + k * 0x10000,
				.start = BASE(number) + k * 0x10000,
				.end = BASE(number) + k * 0x10000 + IMAGE_SIZE,
				.group = group,
			};

			snprintf(path, sizeof(path), "%s/%s", getenv("FIXTURES"), names[k]);
			if (jitreg_register(&image, &entries[k]))
				return "no entry";
		}
		if (i % 2 ? jitreg_group_pack_if_known(group) : jitreg_group_pack(group))
			return "no pack";
		if (i % 3 == 0)
			jitreg_group_close(group);
		jitreg_unregister(entries[0]);
		jitreg_unregister(entries[1]);
		jitreg_group_destroy(group);
	}
	return NULL;
}

static void pack_many_threads_leave_nothing(void **state)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];
	void *failure;

	(void)state;
	use_cache("threads");
	setenv("FIXTURES", util_path(""), 1);
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, pack_repeatedly, &numbers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failure), 0);
		if (failure)
			fail_msg("%s", (const char *)failure);
	}
	assert_nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_lean_image_is_a_pack_of_its_own),
		cmocka_unit_test(register_lean_image_of_no_group_is_no_pack),
		cmocka_unit_test(pack_single_image_stays_as_it_is),
		cmocka_unit_test(list_images_that_waited_have_one_symfile),
		cmocka_unit_test(pack_images_have_one_symfile),
		cmocka_unit_test(pack_events_come_new_before_old),
		cmocka_unit_test(unregister_last_of_pack_removes_it),
		cmocka_unit_test(close_entries_remain_without_symfile),
		cmocka_unit_test(pack_if_known_packs_what_another_group_has),
		cmocka_unit_test(pack_same_files_at_other_distances_is_another_pack),
		cmocka_unit_test(pack_image_too_far_away_keeps_its_own),
		cmocka_unit_test(pack_writable_unwind_data_keeps_its_own),
		cmocka_unit_test(pack_unwind_data_of_elsewhere_is_left_out),
		cmocka_unit_test(set_dwarf_image_leaves_its_pack_and_comes_back),
		cmocka_unit_test(pack_image_with_dwarf_is_left_alone),
		cmocka_unit_test(set_dwarf_that_is_missing_leaves_the_pack),
		cmocka_unit_test(pack_symfile_has_stretches_names_and_a_reference),
		cmocka_unit_test(pack_companion_has_functions_and_unwind_data),
		cmocka_unit_test(pack_code_is_from_text_on_without_plt),
		cmocka_unit_test(pack_names_of_large_libraries_are_for_gdb_only),
		cmocka_unit_test(pack_no_cache_folder_does_without),
		cmocka_unit_test(pack_folder_of_others_is_not_used),
		cmocka_unit_test(pack_limit_of_file_sizes_does_without),
		cmocka_unit_test(pack_read_only_or_full_file_system_does_without),
		cmocka_unit_test(pack_something_else_by_the_name_is_left_alone),
		cmocka_unit_test(pack_again_takes_the_file_that_is_there),
		cmocka_unit_test(pack_file_removed_before_it_is_locked_is_made_again),
		cmocka_unit_test(pack_file_that_comes_while_it_is_looked_for_is_taken),
		cmocka_unit_test(pack_file_written_by_another_meanwhile_stays),
		cmocka_unit_test(pack_changed_library_has_another_companion),
		cmocka_unit_test(pack_processes_at_once_make_one_file),
		cmocka_unit_test(pack_many_companions_removes_the_oldest_unused),
		cmocka_unit_test(pack_traced_keeps_the_packs_that_are_there),
		cmocka_unit_test(register_lean_any_call_failing_does_with_less),
		cmocka_unit_test(pack_any_call_failing_leaves_all_as_before),
		cmocka_unit_test(unregister_any_call_failing_forgets_the_rest_at_most),
		cmocka_unit_test(set_dwarf_any_call_failing_forgets_the_others_at_most),
		cmocka_unit_test(set_dwarf_away_any_call_failing_describes_it_still),
		cmocka_unit_test(pack_many_threads_leave_nothing),
	};

	return cmocka_run_group_tests_name("jitreg/group", tests, util_setup, NULL);
}
